//===- Tiles.cpp - Block sparsity of an attention's mask ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classification of the tiles of an attention. Finds the attention of --layer, its sizes and its
// mask, makes data for the mask's inputs, and classifies the tiles with TileClasses.

#include "heddle/Report/Tiles.h"

#include "Layers.h"
#include "MaskText.h"
#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Analysis/TileClasses.h"
#include "heddle/Compiler/Models.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Planning/Limits.h"
#include "heddle/Support/Dims.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <bit>
#include <set>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

int64_t TilePicture::count(TileKind kind) const { return llvm::count(tiles, kind); }

namespace {

/// Default sizes without `--dim`: tokens of the only sequence, and packed documents.
constexpr int64_t usualLength = 512, usualDocuments = 4;

//===- Choice of the attention -------------------------------------------===//

struct Candidate {
  std::string layer;
  AttentionOp attention;
  func::FuncOp function;
};

/// All attentions, each once. If several functions have a layer, it is taken from the first one,
/// which works on whole sequences.
std::vector<Candidate> attentionsOf(ModuleOp module) {
  std::vector<Candidate> all;
  std::set<std::string> seen;
  for (auto function : module.getOps<func::FuncOp>()) {
    std::set<std::string> earlier = seen;
    int64_t index = 0;
    function.walk([&](AttentionOp attention) {
      StringRef part = partOf(attention);
      part.consume_back(".attention"); // "decoder.3.cross" keeps its suffix
      std::string layer = part.str();
      if (layer.empty() || (seen.count(layer) && !earlier.count(layer)))
        layer = function.getName().str() + "." + std::to_string(index);
      ++index;
      if (seen.insert(layer).second)
        all.push_back({layer, attention, function});
    });
  }
  return all;
}

Expected<Candidate> choose(const std::vector<Candidate> &all, const std::string &layer) {
  for (const Candidate &candidate : all)
    if (candidate.layer == layer || (layer.empty() && all.size() == 1))
      return candidate;
  return usageError("--layer: expected one of " +
                    listText(all, [](const Candidate &candidate) { return candidate.layer; }) +
                    ", found " + (layer.empty() ? "none" : quotedText(layer)));
}

//===- Sizes and data ----------------------------------------------------===//

/// Dimensions of broadcast inputs, which callers may give as 1.
std::set<std::string> sharedDims(func::FuncOp function) {
  std::set<std::string> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::dimsAttr);
    auto broadcast = function.getArgAttrOfType<ArrayAttr>(i, TransformerDialect::broadcastAttr);
    if (dims && broadcast)
      for (auto [dim, full] : llvm::zip_equal(dims, broadcast))
        if (auto name = dyn_cast<StringAttr>(dim); name && dim != full)
          names.insert(name.str());
  }
  return names;
}

/// Rejects sizes of 2^30 and more, so that sums and differences of two positions fit into i32.
Status checkSize(const std::string &name, int64_t value) {
  constexpr int64_t end = int64_t(1) << 30;
  if (value >= 1 && value < end)
    return {};
  return usageError("--dim: expected " + name + " of at least 1 and below " + std::to_string(end) +
                    ", found " + std::to_string(value));
}

/// Given sizes, and defaults for the others. `starts` is the dimension of the starts of packed
/// documents, or empty; in a described model it is the number of documents N plus 1.
Expected<Dimensions> completed(const ShapeExpressions &shapes, const std::set<std::string> &shared,
                               const std::string &starts, const Dimensions &given) {
  Dimensions dims;
  for (const std::string &name : shapes.dims())
    dims[name] = name == "B" || shared.contains(name) ? 1 : usualLength;
  if (!starts.empty())
    dims[starts] = usualDocuments + 1;
  bool described = starts == "documents.starts";
  if (described)
    dims["N"] = usualDocuments;
  HEDDLE_TRY(checkNames(given, llvm::make_first_range(dims)));
  for (const auto &[name, value] : given) {
    HEDDLE_TRY(checkSize(name, value));
    dims[name] = value;
  }
  if (described && given.contains(starts))
    dims["N"] = dims[starts] - 1;
  else if (described)
    dims[starts] = dims["N"] + 1;
  return dims;
}

/// Dimension of the starts of packed documents; empty if it has no name.
std::string dimOfStarts(const ShapeExpressions &shapes, Value mask) {
  MaskDocumentsOp documents = packedDocumentsOf(mask);
  return documents ? shapes.of(documents.getQueries())[0].dimName() : "";
}

/// Whether a mask differs between sequences, or between heads.
struct Dependence {
  bool sequence = false, head = false;
};

/// Adds the dependence of one op, without its operand masks. A dimension of 1 is broadcast.
void addDependence(Operation *op, Dependence &on) {
  for (Value operand : op->getOperands())
    if (auto table = dyn_cast<RankedTensorType>(operand.getType())) {
      bool packed = isa<MaskDocumentsOp>(op) && cast<MaskDocumentsOp>(op).getStarts();
      on.sequence |= !packed && table.getDimSize(0) != 1;
      on.head |= table.getRank() == 4 && table.getDimSize(1) != 1;
    }
  if (auto where = dyn_cast<MaskWhereOp>(op)) {
    on.sequence |= !where.getBody().getArgument(0).use_empty();
    on.head |= !where.getBody().getArgument(1).use_empty();
  }
}

/// Makes simple data for a mask's inputs: full lengths, documents of equal length, zeros.
class DataMaker {
public:
  DataMaker(const ShapeExpressions &shapes, const Dimensions &dims, MaskPlace place)
      : shapes(shapes), dims(dims), place(place) {}

  Status makeFor(Value mask);
  MaskInputs inputs;
  std::vector<std::string> assumptions;
  Dependence dependence;

private:
  Status make(Value value, Operation *user);
  Expected<SmallVector<int64_t>> shapeOf(Value value) const;
  static Expected<int64_t> elements(ArrayRef<int64_t> shape);

  const ShapeExpressions &shapes;
  const Dimensions &dims;
  MaskPlace place;
  llvm::SmallPtrSet<Operation *, 16> seen;
};

Expected<int64_t> DataMaker::elements(ArrayRef<int64_t> shape) {
  constexpr int64_t most = int64_t(1) << 26;
  int64_t count = 1;
  for (int64_t size : shape)
    if ((count *= size) > most) // no overflow: count is at most 2^26, size below 2^31
      return usageError("--dim: expected tables of masks with at most " + std::to_string(most) +
                        " elements, found more");
  return count;
}

Expected<SmallVector<int64_t>> DataMaker::shapeOf(Value value) const {
  SmallVector<int64_t> shape;
  if (!isa<RankedTensorType>(value.getType()))
    return shape;
  for (const SizeExpr &size : shapes.of(value))
    shape.push_back(HEDDLE_TRY(size.evaluate(dims)));
  return shape;
}

/// Assumed elements of an input, and their description.
struct Assumption {
  std::function<int64_t(int64_t)> element; ///< by index in the last dimension
  std::string text;
};

Assumption constant(int64_t value) {
  return {[value](int64_t) { return value; }, std::to_string(value)};
}

/// Assumed data, depending on the op that reads the input: full lengths, a quarter as prefix, four
/// documents of equal length, tables of true; otherwise zeros.
Assumption assume(Value value, Operation *user, ArrayRef<int64_t> shape, const MaskPlace &place) {
  constexpr int64_t documents = usualDocuments;
  int64_t last = shape.empty() ? 1 : shape.back();
  if (isa<MaskLengthsOp>(user))
    return constant(place.keys);
  if (isa<MaskPrefixOp>(user))
    return constant(place.keys / 4);
  if (auto op = dyn_cast<MaskDocumentsOp>(user)) {
    if (op.getStarts()) {
      int64_t rows = op.getQueries() == op.getKeys() ? std::min(place.queries, place.keys)
                     : value == op.getQueries()      ? place.queries
                                                     : place.keys;
      return {[=](int64_t n) { return last > 1 ? n * rows / (last - 1) : 0; },
              std::to_string(last - 1) + (last == 2 ? " document" : " documents of equal length")};
    }
    return {[=](int64_t n) { return n * documents / last; },
            std::to_string(documents) + " documents of equal length"};
  }
  if (isa<MaskDenseOp, MaskBlocksOp>(user))
    return {[](int64_t) { return 1; }, "all true"};
  return constant(0);
}

Status DataMaker::make(Value value, Operation *user) {
  if (inputs.contains(value))
    return {};
  SmallVector<int64_t> shape = HEDDLE_TRY(shapeOf(value));
  // A constant outside the group: the evaluator sees only the group's argument.
  if (APInt number; matchPattern(behindGroups(value), m_ConstantInt(&number))) {
    inputs[value] = {shape, {static_cast<uint32_t>(number.getZExtValue())}};
    return {};
  }
  int64_t count = HEDDLE_TRY(elements(shape));
  Assumption assumption = assume(value, user, shape, place);
  MaskData data{shape, {}};
  int64_t last = shape.empty() ? 1 : std::max<int64_t>(shape.back(), 1);
  bool floating = getElementTypeOrSelf(value.getType()).isF32();
  for (int64_t n = 0; n < count; ++n) {
    auto number = static_cast<int32_t>(assumption.element(n % last));
    data.values.push_back(floating ? std::bit_cast<uint32_t>(static_cast<float>(number))
                                   : static_cast<uint32_t>(number));
  }
  inputs[value] = std::move(data);
  assumptions.push_back(inputName(behindGroups(value)) + ": " + assumption.text);
  return {};
}

/// Makes data for the leaves of the mask, and for values that regions of formulas capture.
Status DataMaker::makeFor(Value mask) {
  Operation *op = mask.getDefiningOp();
  if (!seen.insert(op).second)
    return {};
  addDependence(op, dependence);
  SmallVector<Value> leaves;
  for (Value operand : op->getOperands()) {
    if (!isa<MaskType>(operand.getType()))
      leaves.push_back(operand);
    else
      HEDDLE_TRY(makeFor(operand));
  }
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!region.isAncestor(operand.getParentRegion()))
          leaves.push_back(operand);
    });
  for (Value leaf : leaves)
    HEDDLE_TRY(make(leaf, op));
  return {};
}

//===- The answer --------------------------------------------------------===//

Expected<int64_t> sizeAt(const ShapeExpressions &shapes, Value tensor, const Dimensions &dims) {
  int64_t size = HEDDLE_TRY(shapes.of(tensor)[2].evaluate(dims));
  HEDDLE_TRY(checkSize(shapes.of(tensor)[2].str(), size));
  return size;
}

std::vector<std::string> notesOn(AttentionOp attention, Dependence on) {
  std::vector<std::string> notes;
  if (!attention.getMask())
    return notes;
  on.sequence &= !packedDocumentsOf(attention.getMask()); // all documents are in the picture
  if (on.head || on.sequence)
    notes.push_back(std::string("shown for ") + (on.head ? "head 0" : "") +
                    (on.head && on.sequence ? " of " : "") + (on.sequence ? "sequence 0" : ""));
  if (FloatAttr score = attention.getHiddenScoreAttr()) {
    llvm::SmallString<16> number;
    score.getValue().toString(number);
    notes.push_back("masked pairs have the score " + number.str().str() +
                    ", so kernels visit every tile");
  }
  return notes;
}

Expected<TilePicture> pictureOf(Candidate found, const Dimensions &given) {
  ShapeExpressions shapes(found.function);
  Value mask = found.attention.getMask();
  auto dims =
      HEDDLE_TRY(completed(shapes, sharedDims(found.function), dimOfStarts(shapes, mask), given));
  int64_t queries = HEDDLE_TRY(sizeAt(shapes, found.attention.getQuery(), dims)),
          keys = HEDDLE_TRY(sizeAt(shapes, found.attention.getKey(), dims));
  MaskPlace place{0, 0, queries, keys};
  DataMaker data(shapes, dims, place);
  if (mask)
    HEDDLE_TRY(data.makeFor(mask));
  auto map = computeTileMap(found.attention, place, data.inputs, cpuQueries,
                            visitTileColumns(mask, cpuChunk));
  if (!map)
    return usageError("--dim: " + llvm::toString(map.takeError()));
  TilePicture picture;
  picture.layer = found.layer;
  picture.function = found.function.getName().str();
  picture.mask = maskText(mask);
  picture.queries = queries;
  picture.keys = keys;
  picture.tileRows = map->tileRows;
  picture.tileColumns = map->tileColumns;
  picture.rows = map->rows;
  picture.columns = map->columns;
  for (TileClass which : map->classes)
    picture.tiles.push_back(static_cast<TileKind>(which));
  picture.saved = 1 - map->visited(queries, keys);
  picture.rowStarts = std::move(map->rowStarts);
  picture.columnStarts = std::move(map->columnStarts);
  picture.notes = notesOn(found.attention, data.dependence);
  picture.assumptions = std::move(data.assumptions);
  return picture;
}

} // namespace

Expected<TilePicture> explainTiles(const std::string &model, const TileQuestion &question,
                                   const CompileOptions &options) {
  OpenedModel opened = HEDDLE_TRY(OpenedModel::read(model, options));
  Candidate found = HEDDLE_TRY(choose(attentionsOf(opened.module()), question.layer));
  return pictureOf(found, question.dims);
}

} // namespace heddle
