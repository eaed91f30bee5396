//===- TileLinear.cpp - The bodies of linear layers -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of linears:
//
//   contract -> + bias -> activation -> + residual -> store as rows, heads or panels of keys,
//   rounded, or both
//
// Rotary positions take two tiles, of both halves of a head's rotated features, and rotate them
// with each other before they are stored.
//
// Several linears over the same rows are parts of one kernel. Ops that follow a linear are computed
// one by one on its tiles (TileableOpInterface). Kernels that store heads have a grid over
// sequences and their rows, other kernels over all rows. In a decoding step, where all results are
// heads and each sequence has one row, a tile has rows of many sequences, so a weight is read once
// for all of them.

#include "TileRotary.h"
#include "Tilers.h"

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/MergedHeads.h"
#include "heddle/Planning/LinearColumns.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::LoadOp;
using kernel::Root;
using kernel::Size;

namespace {

class LinearTiler {
public:
  explicit LinearTiler(KernelBuilder &f) : f(f), t(f.t), rowsOfTile(f.plan.getRows()) {}
  LogicalResult run();

private:
  void takeRowsOfSequences();
  void enterRows();
  LogicalResult body(const ColumnLoop &loop, Value at);
  LogicalResult rotate(const ColumnLoop &loop, Value j, Value column);
  Halves tableOf(RotaryOp rotary, const ColumnLoop &loop, Value column);
  FailureOr<Value> tileAt(Value value, const ColumnLoop &loop, Value j);
  void store(const LinearPart &part, Value tile, Value j);

  KernelBuilder &f;
  TileBuilder &t;
  const int64_t rowsOfTile;
  SmallVector<LinearPart> parts;
  SmallVector<Value> points; ///< leading grid indices
  Value i;
  Value end;   ///< row after the last one of the tile's group; null: there are no groups
  Value group; ///< number of the group whose matrix the tile multiplies; null: the only matrix
  bool acrossSequences = false; ///< rows of a tile are sequences
};

} // namespace

/// Describes [B, 1, N] as [B, N] if all results are heads and each sequence has one row.
void LinearTiler::takeRowsOfSequences() {
  SmallVector<unsigned> views = rowsOfSequences(f);
  for (unsigned view : views)
    f.setDims(view, {f.viewType(view).getDim(0), f.viewType(view).getDims().back()});
  acrossSequences = !views.empty();
}

/// Finds the rows of the tile. A tile that is numbered through all groups is moved to the rows of
/// its group; a spare tile stores nothing.
void LinearTiler::enterRows() {
  LinearOp linear = parts[0].linear;
  kernel::ViewType input = f.viewType(f.viewOf(linear.getInput()));
  const int64_t rowAxis = input.getRank() - 2;
  i = f.func.getGridIndex(rowAxis);
  if (!linear.getStarts())
    return;
  end = f.sizeValue(input.getDim(rowAxis).extent);
  ValueTiles tiles(f, rowsOfTile, 1, points, i, Value());
  end = enterDocument(tiles, f.view(f.viewOf(linear.getStarts())), end);
  i = tiles.i;
  group = f.entryOf(f.viewOf(linear.getNumbers()), tiles.document);
}

LogicalResult LinearTiler::run() {
  FailureOr<SmallVector<LinearPart>> found = linearParts(f);
  if (failed(found))
    return failure();
  parts = *std::move(found);
  takeRowsOfSequences();
  FailureOr<SmallVector<ColumnLoop>> loops = columnLoops(f, parts, f.plan.getColumns());
  if (failed(loops))
    return failure();
  LinearOp linear = parts[0].linear;
  Value starts = linear.getStarts();
  kernel::ViewType input = f.viewType(f.viewOf(linear.getInput()));
  SmallVector<Size> sizes;
  SmallVector<int64_t> tiles;
  for (int64_t d = 0; d + 1 < input.getRank(); ++d) {
    sizes.push_back(starts ? f.slots(starts) : input.getDim(d).extent);
    tiles.push_back(d + 2 < input.getRank() ? 1 : rowsOfTile);
  }
  const ColumnLoop *single = loops->size() == 1 ? &loops->front() : nullptr;
  if (single) {
    sizes.push_back(single->columns);
    tiles.push_back(single->tile);
  }
  f.createFunc(sizes, tiles);
  int64_t rowAxis = input.getRank() - 2;
  for (int64_t axis = 0; axis < rowAxis; ++axis)
    points.push_back(f.func.getGridIndex(axis));
  if (single)
    return body(*single, f.func.getGridIndex(rowAxis + 1));
  for (const ColumnLoop &loop : *loops) {
    auto op = kernel::PartOp::create(t.b, t.loc, Size(loop.columns), loop.tile);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&op.getBody().front());
    if (failed(body(loop, op.getIndex())))
      return failure();
  }
  return success();
}

FailureOr<Value> LinearTiler::tileAt(Value value, const ColumnLoop &loop, Value j) {
  ValueTiles tiles(f, rowsOfTile, loop.tile, points, i, j);
  tiles.group = group;
  return tiles.of(value);
}

/// Computes the tile at column `at` of the loop.
LogicalResult LinearTiler::body(const ColumnLoop &loop, Value at) {
  enterRows();
  Value j = loop.inHead || !loop.first ? at : t.add(at, t.index(loop.first)), column;
  if (loop.inHead) { // counted in tiles, so that bounds are exact
    Value number = t.div(at, t.index(loop.tile)), inHead = t.index(loop.inHead / loop.tile);
    Value head = t.mul(t.div(number, inHead), t.index(headColumns(f, *loop.part)));
    column = t.mul(arith::RemUIOp::create(t.b, t.loc, number, inHead), t.index(loop.tile));
    j = t.add(head, t.add(column, t.index(loop.first)));
  }
  if (loop.rotates)
    return rotate(loop, j, column);
  RotaryOp rotary = loop.part->rotary;
  FailureOr<Value> tile = tileAt(rotary ? rotary.getInput() : loop.part->yielded, loop, j);
  if (succeeded(tile))
    store(*loop.part, *tile, j);
  return tile;
}

/// Cosines and sines of a tile's rows.
Halves LinearTiler::tableOf(RotaryOp rotary, const ColumnLoop &loop, Value column) {
  RankedTensorType type = t.type(rowsOfTile, loop.tile);
  Value table = f.tableOf(rotary), offset = rotary.getOffset();
  if (!acrossSequences)
    return loadHalves(t, type, table, firstPosition(f, offset, points[0], i), column, loop.inHead);
  if (!offset || !isa<ShapedType>(offset.getType())) { // all sequences start at the table's first
                                                       // row
    Halves row = loadHalves(t, t.type(1, loop.tile), table, t.index(0), column, loop.inHead);
    return {t.broadcast(row.front, type), t.broadcast(row.back, type)};
  }
  Value positions = f.entriesOf(f.viewOf(offset), i, rowsOfTile);
  auto gather = [&](Value at) -> Value {
    return kernel::GatherOp::create(t.b, t.loc, type, table, positions, at);
  };
  return {gather(column), gather(t.add(column, t.index(loop.inHead)))};
}

LogicalResult LinearTiler::rotate(const ColumnLoop &loop, Value j, Value column) {
  RotaryOp rotary = loop.part->rotary;
  Value behind = t.add(j, t.index(loop.inHead));
  FailureOr<Value> front = tileAt(rotary.getInput(), loop, j),
                   back = failed(front) ? front : tileAt(rotary.getInput(), loop, behind);
  if (failed(back))
    return failure();
  Halves table = tableOf(rotary, loop, column);
  Halves y = rotated(t, {*front, *back}, table.front, table.back, rotary.getInverse());
  store(*loop.part, y.front, j);
  store(*loop.part, y.back, behind);
  return success();
}

void LinearTiler::store(const LinearPart &part, Value tile, Value j) {
  LinearOp linear = part.linear;
  kernel::ViewType input = f.viewType(f.viewOf(linear.getInput()));
  Value left = t.sub(end ? end : f.sizeValue(input.getDim(input.getRank() - 2).extent), i);
  for (unsigned number : part.results) {
    unsigned result = f.firstResult() + number;
    SmallVector<Value> indices(points);
    Value rows = left, places;
    if (!part.heads) {
      indices.append({i, j});
    } else {
      // Column j of heads is column j mod D of head j / D, unless the tile continues from head to
      // head.
      Value size = t.index(padded(f.viewType(result).getDims().back().extent.value));
      Value head = part.overHeads ? t.index(0) : t.div(j, size);
      Value inHead = part.overHeads ? j : arith::RemUIOp::create(t.b, t.loc, j, size).getResult();
      if (acrossSequences) {
        indices.append({i, head, t.index(0), inHead});
        places = f.placesOf(number, i, rowsOfTile);
      } else {
        indices.append({head, f.placeOf(number, points[0], i, rows), inHead});
      }
    }
    Value stored = t.narrow(tile, f.viewType(result).getElementType());
    Value view = f.view(result);
    if (places)
      kernel::ScatterOp::create(t.b, t.loc, stored, view, indices, places, rows, part.overHeads);
    else if (part.overHeads)
      kernel::StoreHeadsOp::create(t.b, t.loc, stored, view, indices, rows, f.ringOf(number));
    else
      kernel::StoreOp::create(t.b, t.loc, stored, view, indices, rows, f.ringOf(number));
  }
}

LogicalResult heddle::tileLinear(KernelBuilder &frame) { return LinearTiler(frame).run(); }

//===- Products ----------------------------------------------------------===//

/// The row of a linear's weight that yields the first column of the tile.
static Value columnOfWeight(ValueTiles &tiles, LinearOp linear) {
  if (!tiles.group)
    return tiles.j;
  const int64_t rows = linear.getWeight().getType().getDimSize(0) / linear.getGroups();
  return tiles.t.add(tiles.j, tiles.t.mul(tiles.group, tiles.t.index(rows)));
}

/// Whether a mapping multiplies signed bytes: matrix units and packed dot products.
static bool multipliesSigned(kernel::Mapping mapping) {
  return mapping == kernel::Mapping::Staged || mapping == kernel::Mapping::Matrix ||
         mapping == kernel::Mapping::MatrixFewRows;
}

/// The sums of a product of codes. Bytes of rows hold 128 + code. A product of bytes also sums 128
/// times each weight, which is subtracted. `loadSums` loads the sums of the weights.
static Value sumsOfCodes(ValueTiles &tiles, kernel::ContractOp product,
                         function_ref<Value()> loadSums) {
  TileBuilder &t = tiles.t;
  if (multipliesSigned(tiles.f.plan.getMapping())) {
    product.setCentered(true);
    return product;
  }
  Value codes = loadSums();
  auto type = cast<RankedTensorType>(codes.getType());
  Value base = arith::FPToSIOp::create(t.b, t.loc, type.clone(t.b.getI32Type()), codes);
  base = t.mul(base, t.constantI(codeBase, base));
  return t.sub(product, base);
}

/// The tile of a linear's product, multiplied and scaled as its format requires.
static Value tileProduct(ValueTiles &tiles, LinearOp linear) {
  TileBuilder &t = tiles.t;
  Value column = columnOfWeight(tiles, linear);
  RankedTensorType tile = t.type(tiles.rows, tiles.columns);
  int64_t rows = tile.getDimSize(0), columns = tile.getDimSize(1);
  const NumberFormat &format = linear.getFormat();
  Type type = tile.clone(mlirTypeOf(format.sums, t.b.getContext()));
  Value weight = tiles.f.view(tiles.f.viewOf(linear.getWeight()));
  if (format.sumsGroups()) {
    Value scales = tiles.matrix(linear.getInputScales()), input = tiles.matrix(linear.getInput());
    return kernel::ContractGroupsOp::create(t.b, t.loc, type, input, tiles.i, weight, column,
                                            scales);
  }
  const bool isRounded = tiles.f.plan.getRounded();
  auto rowsAndScales = [&](Value view) { return tiles.f.slice(view, tiles.points); };
  Value input = isRounded ? rowsAndScales(tiles.f.roundedRows()) : tiles.matrix(linear.getInput());
  auto sums = kernel::ContractOp::create(t.b, t.loc, type, input, tiles.i, weight, column);
  if (isRounded)
    return t.mul(sums,
                 LoadOp::create(t.b, t.loc, t.type(rows, 1), rowsAndScales(tiles.f.roundedScales()),
                                ValueRange{tiles.i, t.index(0)}, UnitAttr()));
  if (format.scales == 0)
    return sums;
  auto ofRow = [&]() -> Value {
    return LoadOp::create(t.b, t.loc, t.type(rows, 1), tiles.matrix(linear.getInputScales()),
                          ValueRange{tiles.i, t.index(0)}, UnitAttr());
  };
  if (format.scales == 1)
    return t.mul(sums, ofRow());
  Value known = tiles.f.view(tiles.f.viewOf(linear.getWeightScales()));
  auto ofWeight = [&](int64_t row) -> Value {
    return LoadOp::create(t.b, t.loc, t.type(1, columns), known, ValueRange{t.index(row), column},
                          UnitAttr());
  };
  Value sum = sumsOfCodes(tiles, sums, [&] { return ofWeight(1); });
  sum = arith::SIToFPOp::create(t.b, t.loc, tile, sum);
  sum = t.mul(sum, ofRow());
  return t.mul(sum, ofWeight(0));
}

//===- Models ------------------------------------------------------------===//

namespace {
struct LinearModel : Tiler<LinearModel, LinearOp, Root::Linear, tileLinear> {
  FailureOr<Value> tileOf(Operation *op, ValueTiles &tiles) const {
    auto linear = cast<LinearOp>(op);
    TileBuilder &t = tiles.t;
    Value tile = tileProduct(tiles, linear);
    if (Value bias = linear.getBias())
      tile = t.add(tile,
                   kernel::LoadOp::create(t.b, t.loc, t.type(1, tiles.columns),
                                          tiles.f.view(tiles.f.viewOf(bias)),
                                          ValueRange{columnOfWeight(tiles, linear)}, UnitAttr()));
    return t.activation(linear.getActivation(), tile,
                        TileBuilder::accuracyBeside(linear.getFormat().rows));
  }
  /// Numbers of groups are not checked when a kernel runs, so they must be computed.
  LogicalResult checkSupported(Operation *op) const {
    Value starts = cast<LinearOp>(op).getStarts(), numbers = cast<LinearOp>(op).getNumbers();
    auto made = starts ? starts.getDefiningOp<ExpertStartsOp>() : ExpertStartsOp();
    if (!starts || (made && starts == made.getStarts() && numbers == made.getNumbers()))
      return success();
    return op->emitOpError("expected groups that are the results of one "
                           "transformer.experts.starts, found other values");
  }
  StringRef getNameWord(Operation *op) const {
    Activation activation = cast<LinearOp>(op).getActivation();
    return activation == Activation::None ? "" : stringifyActivation(activation);
  }
};

/// Splits of a product's columns into heads.
struct SplitHeadsModel : Tiler<SplitHeadsModel, SplitHeadsOp, Root::Relayout, tileRelayout> {
  /// Padded heads leave gaps between the product's columns, and an addend has no gaps, so it cannot
  /// be fused. The exception, an addend from the same kernel, is not implemented.
  bool canFollow(Operation *op, Root root, ArrayRef<Operation *> before) const {
    auto linear = dyn_cast<LinearOp>(before.front());
    if (linear && linear.getStarts())
      return false; // rows of a group belong to several sequences
    if (root == Root::Linear && hasUnpaddedHeads(op) &&
        paddedHeadsOfProduct(before.front()->getResult(0)))
      return false;
    auto readsOthers = [](Operation *op) { return op->getNumOperands() > 1; };
    return root == Root::Linear && (llvm::none_of(before.drop_front(), readsOthers) ||
                                    !paddedHeadsOfProduct(before.front()->getResult(0)));
  }
  FailureOr<Value> tileOf(Operation *op, ValueTiles &tiles) const {
    return tiles.of(op->getOperand(0));
  }
  StringRef getNameWord(Operation *) const { return "heads"; }
};
} // namespace

void heddle::attachLinearTilers(MLIRContext *context) {
  LinearOp::attachInterface<LinearModel>(*context);
  SplitHeadsOp::attachInterface<SplitHeadsModel>(*context);
  attachRotaryTilers(context);
}
