//===- TileLinear.cpp - The bodies of linear layers -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   contract -> + bias -> activation -> + residual -> store as rows, heads or panels of keys,
//   rounded, or both
//
// Rotary positions take two such tiles, of both halves of a head's rotated features,
// and rotate them with each other before they are stored.
//
// Several linears over the same rows are parts of one kernel. What follows a
// linear is computed op by op on its tiles (TileableOpInterface). Kernels that
// store heads have a grid over sequences and their rows, others over all rows. Where
// all results are heads and each sequence has one row, in a step of a decoder, a tile
// has rows of many sequences, so that a weight is read once for all of them.

#include "TileRotary.h"
#include "Tilers.h"

#include "heddle/Analysis/ShapeExpressions.h"
#include "heddle/Dialect/ElementFormats.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Root;
using kernel::Size;

namespace {

/// One value of the definition, made around a linear.
struct Part {
  Value yielded; ///< before it is rounded
  LinearOp linear;
  SmallVector<unsigned> results; ///< where it is stored
  bool heads = false;
  /// Whether tiles of columns go over heads, whose padding is then not computed; else each lies in one.
  bool overHeads = false;
  RotaryOp rotary; ///< what rotates the heads, or null
};

/// Columns of a part that one loop goes through in tiles: all of them, or some of each head.
struct ColumnLoop {
  const Part *part;
  int64_t tile, columns; ///< of all heads
  int64_t inHead = 0;    ///< of each head; 0: heads do not matter
  int64_t first = 0;     ///< column of a head, or of all
  bool rotates = false;  ///< with the `inHead` columns behind them
};

class LinearTiler {
public:
  explicit LinearTiler(KernelBuilder &f) : f(f), t(f.t) {}
  LogicalResult run();

private:
  LogicalResult collect(unsigned result, Value value);
  void takeRowsOfSequences();
  LogicalResult body(const ColumnLoop &loop, Value at);
  LogicalResult rotate(const ColumnLoop &loop, Value j, Value column);
  Halves tableOf(RotaryOp rotary, const ColumnLoop &loop, Value column);
  FailureOr<Value> tileAt(Value value, const ColumnLoop &loop, Value j);
  void store(const Part &part, Value tile, Value j);
  int64_t tileColumns();
  int64_t headColumns(const Part &part);
  int64_t unitOf(const Part &part);
  SmallVector<ColumnLoop> columnLoops();
  void addLoops(const Part &part, int64_t tile, SmallVectorImpl<ColumnLoop> &loops);

  KernelBuilder &f;
  TileBuilder &t;
  SmallVector<Part> parts;
  SmallVector<Value> points; ///< leading grid indices
  Value i;
  bool acrossSequences = false; ///< rows of a tile are sequences
};

} // namespace

/// The linear that a value is made around; of several the first.
static LinearOp linearBehind(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<LinearOp>(op))
    return dyn_cast_or_null<LinearOp>(op);
  for (Value operand : op->getOperands())
    if (LinearOp linear = linearBehind(operand))
      return linear;
  return {};
}

LogicalResult LinearTiler::collect(unsigned result, Value value) {
  auto known = llvm::find_if(parts, [&](const Part &part) { return part.yielded == value; });
  if (known != parts.end()) {
    known->results.push_back(result);
    return success();
  }
  bool heads = cast<ShapedType>(value.getType()).getRank() == 4;
  LinearOp linear = linearBehind(value);
  if (!linear)
    return f.def.emitOpError() << "expected a linear behind result " << result;
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  const bool overHeads =
      heads && shape[1] > 1 && shape[3] % 16 != 0 && !paddedHeadsOfProduct(linear.getResult());
  parts.push_back({value, linear, {result}, heads, overHeads, value.getDefiningOp<RotaryOp>()});
  return success();
}

/// Columns of the weight as stored: a multiple of 16.
static int64_t storedColumns(KernelBuilder &f, LinearOp linear) {
  return padded(f.viewType(f.viewOf(linear.getWeight())).getDim(0).extent.value);
}

/// Columns of a head as stored.
int64_t LinearTiler::headColumns(const Part &part) {
  return padded(f.viewType(f.firstResult() + part.results[0]).getDims().back().extent.value);
}

/// Columns that tiles divide: of a head where each tile lies in one, else all.
int64_t LinearTiler::unitOf(const Part &part) {
  return part.heads && !part.overHeads ? headColumns(part) : storedColumns(f, part.linear);
}

/// The widest tile that divides the columns, and heads, of every part but those that are rotated. On a GPU
/// tiles are half as wide where columns, thus workgroups, are few, so that more of its processors take part,
/// and where matrices take the two products of a gated layer at once, as many sums as those of one wide tile;
/// those of int4, which they take one by one, have no registers for two wide ones.
int64_t LinearTiler::tileColumns() {
  int64_t products = 0;
  f.def.getBody().walk([&](LinearOp) { ++products; });
  const bool isGated = products == 2 && parts.size() == 1,
             isFew = products == 1 && storedColumns(f, parts[0].linear) <= fewColumns,
             isNarrow = f.sizes.stagedSteps && (isFew || (isGated && f.sizes.multipliesMatrices));
  for (int64_t tile : f.sizes.linearColumns)
    if (!(isNarrow && tile > narrowColumns) && llvm::all_of(parts, [&](const Part &part) {
          return part.rotary || unitOf(part) % tile == 0;
        }))
      return tile;
  return 16;
}

/// The tile of most columns, where `tile` divides all. Narrow tiles load each number of the rows for few
/// multiplications, and rows of bf16 may have to be widened for each tile; but the rest costs code of its own,
/// so that of few columns only those which nothing but the narrowest tile divides are cut. Formats that scale
/// their rows have other register tiles.
static int64_t tileOfMost(const TileSizes &sizes, LinearOp linear, int64_t tile, int64_t columns) {
  const int64_t widest = sizes.linearColumns.front(), many = 8 * widest;
  const NumberFormat &format = linear.getFormat();
  if (!sizes.cutsColumns)
    return tile;
  if (!format.scaleGroup && columns >= many)
    return format.rows == DType::BF16 && columns >= 4 * many ? 2 * widest : widest;
  return tile == sizes.linearColumns.back() ? widest : tile;
}

/// The loops over all columns of a part that is not rotated: those of most columns, and the rest.
void LinearTiler::addLoops(const Part &part, int64_t tile, SmallVectorImpl<ColumnLoop> &loops) {
  const int64_t all = storedColumns(f, part.linear), unit = unitOf(part);
  tile = tileOfMost(f.sizes, part.linear, tile, unit);
  const int64_t wide = unit / tile * tile, rest = unit - wide;
  auto add = [&](int64_t first, int64_t columns, int64_t of) {
    if (columns == unit)
      loops.push_back({&part, of, all});
    else if (columns)
      loops.push_back({&part, of, all / unit * columns, unit < all ? columns : 0, first});
  };
  add(0, wide, tile);
  add(wide, rest, firstDividing(f.sizes.linearColumns, rest));
}

/// Of heads that are rotated the first half of the rotated features, then those that are not.
SmallVector<ColumnLoop> LinearTiler::columnLoops() {
  SmallVector<ColumnLoop> result;
  for (const Part &part : parts) {
    int64_t all = storedColumns(f, part.linear);
    RotaryOp rotary = part.rotary;
    if (!rotary) {
      addLoops(part, tileColumns(), result);
      continue;
    }
    int64_t head = headColumns(part), rotated = rotary.getRotatedSize();
    auto add = [&](int64_t first, int64_t columns, bool rotates) {
      result.push_back({&part, firstDividing(f.sizes.linearColumns, columns), all / head * columns,
                        columns, first, rotates});
    };
    add(0, rotated / 2, true);
    if (rotated < head)
      add(rotated, head - rotated, false);
  }
  return result;
}

/// The views of all rows that a kernel reads, where its results are heads and each sequence has one
/// row: [B, 1, N]; none where results or rows are others.
static SmallVector<unsigned> rowsOfSequences(KernelBuilder &f) {
  for (Value result : yieldedValues(f))
    if (cast<ShapedType>(result.getType()).getRank() != 4)
      return {};
  SmallVector<unsigned> views;
  for (Value argument : f.def.getBody().getArguments()) {
    const int64_t number = f.viewOf(argument);
    if (number < 0 || f.viewType(number).getRank() < 3)
      continue;
    kernel::ViewType view = f.viewType(number);
    if (view.getRank() != 3 || view.getDim(1).extent != Size(1) || view.getDim(1).pitch != Size(1))
      return {};
    views.push_back(number);
  }
  return views;
}

/// Describes [B, 1, N] as [B, N] where all results are heads and each sequence has one row.
void LinearTiler::takeRowsOfSequences() {
  SmallVector<unsigned> views = rowsOfSequences(f);
  for (unsigned view : views)
    f.setDims(view, {f.viewType(view).getDim(0), f.viewType(view).getDims().back()});
  acrossSequences = !views.empty();
}

LogicalResult LinearTiler::run() {
  for (auto [index, value] : llvm::enumerate(yieldedValues(f)))
    if (failed(collect(index, value)))
      return failure();
  takeRowsOfSequences();
  kernel::ViewType input = f.viewType(f.viewOf(parts[0].linear.getInput()));
  SmallVector<Size> sizes;
  SmallVector<int64_t> tiles;
  for (int64_t d = 0; d + 1 < input.getRank(); ++d) {
    sizes.push_back(input.getDim(d).extent);
    tiles.push_back(d + 2 < input.getRank() ? 1 : f.sizes.linearRows);
  }
  SmallVector<ColumnLoop> loops = columnLoops();
  bool single = loops.size() == 1;
  if (single) {
    sizes.push_back(loops[0].columns);
    tiles.push_back(loops[0].tile);
  }
  f.createFunc(sizes, tiles);
  int64_t rowAxis = input.getRank() - 2;
  for (int64_t axis = 0; axis < rowAxis; ++axis)
    points.push_back(f.func.getGridIndex(axis));
  i = f.func.getGridIndex(rowAxis);
  if (single)
    return body(loops[0], f.func.getGridIndex(rowAxis + 1));
  for (const ColumnLoop &loop : loops) {
    auto op = kernel::PartOp::create(t.b, t.loc, Size(loop.columns), loop.tile);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&op.getBody().front());
    if (failed(body(loop, op.getIndex())))
      return failure();
  }
  return success();
}

FailureOr<Value> LinearTiler::tileAt(Value value, const ColumnLoop &loop, Value j) {
  return ValueTiles(f, f.sizes.linearRows, loop.tile, points, i, j).of(value);
}

/// The tile of column `at` of the loop.
LogicalResult LinearTiler::body(const ColumnLoop &loop, Value at) {
  Value j = loop.inHead || !loop.first ? at : t.add(at, t.index(loop.first)), column;
  if (loop.inHead) { // counted in tiles, so that bounds are exact
    Value number = t.div(at, t.index(loop.tile)), inHead = t.index(loop.inHead / loop.tile);
    Value head = t.mul(t.div(number, inHead), t.index(headColumns(*loop.part)));
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
  RankedTensorType type = t.type(f.sizes.linearRows, loop.tile);
  Value table = f.tableOf(rotary), offset = rotary.getOffset();
  if (!acrossSequences)
    return loadHalves(t, type, table, firstPosition(f, offset, points[0], i), column, loop.inHead);
  if (!offset || !isa<ShapedType>(offset.getType())) { // all sequences are at the table's first row
    Halves row = loadHalves(t, t.type(1, loop.tile), table, t.index(0), column, loop.inHead);
    return {t.broadcast(row.front, type), t.broadcast(row.back, type)};
  }
  Value positions = f.entriesOf(f.viewOf(offset), i, f.sizes.linearRows);
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
  Halves y = rotated(t, {*front, *back}, table.front, table.back);
  store(*loop.part, y.front, j);
  store(*loop.part, y.back, behind);
  return success();
}

void LinearTiler::store(const Part &part, Value tile, Value j) {
  LinearOp linear = part.linear;
  kernel::ViewType input = f.viewType(f.viewOf(linear.getInput()));
  Value left = t.sub(f.sizeValue(input.getDim(input.getRank() - 2).extent), i);
  for (unsigned number : part.results) {
    unsigned result = f.firstResult() + number;
    SmallVector<Value> indices(points);
    Value rows = left, places;
    if (!part.heads) {
      indices.append({i, j});
    } else {
      // Columns of heads: head j / D, column j mod D, unless the tile goes on from head to head.
      Value size = t.index(padded(f.viewType(result).getDims().back().extent.value));
      Value head = part.overHeads ? t.index(0) : t.div(j, size);
      Value inHead = part.overHeads ? j : arith::RemUIOp::create(t.b, t.loc, j, size).getResult();
      if (acrossSequences) {
        indices.append({i, head, t.index(0), inHead});
        places = f.placesOf(number, i, f.sizes.linearRows);
      } else {
        indices.append({head, f.placeOf(number, points[0], i, rows), inHead});
      }
    }
    Value stored = t.narrow(tile, f.viewType(result).getElementType());
    kernel::StoreOp op =
        places ? kernel::StoreOp::create(t.b, t.loc, stored, f.view(result), indices, places, rows)
               : kernel::StoreOp::create(t.b, t.loc, stored, f.view(result), indices, rows,
                                         f.ringOf(number));
    op.setOverHeads(part.overHeads);
  }
}

Size heddle::rowsOfLinear(KernelBuilder &frame) {
  LinearOp linear = *frame.def.getBody().front().getOps<LinearOp>().begin();
  kernel::ViewType input = frame.viewType(frame.viewOf(linear.getInput()));
  return input.getDim(rowsOfSequences(frame).empty() ? input.getRank() - 2 : 0).extent;
}

bool heddle::stagesProducts(KernelBuilder &frame, const GpuTarget &target) {
  return llvm::all_of(frame.def.getBody().front().getOps<LinearOp>(), [&](LinearOp linear) {
    Type weight = frame.viewType(frame.viewOf(linear.getWeight())).getElementType();
    return !isa<IntegerType>(weight) || target.packedDots;
  });
}

bool heddle::multipliesMatrices(KernelBuilder &frame, const GpuTarget &target) {
  auto elementOf = [&](Value operand) {
    return dtypeOf(frame.viewType(frame.viewOf(operand)).getElementType());
  };
  return llvm::all_of(frame.def.getBody().front().getOps<LinearOp>(), [&](LinearOp linear) {
    return target.matrixOf(elementOf(linear.getInput()), elementOf(linear.getWeight())) != nullptr;
  });
}

LogicalResult heddle::tileLinear(KernelBuilder &frame) { return LinearTiler(frame).run(); }

//===- Models ------------------------------------------------------------===//

namespace {
struct LinearModel : Tiler<LinearModel, LinearOp, Root::Linear, tileLinear> {
  FailureOr<Value> tileOf(Operation *op, ValueTiles &tiles) const {
    auto linear = cast<LinearOp>(op);
    TileBuilder &t = tiles.t;
    Value tile = tileProduct(tiles, linear);
    if (Value bias = linear.getBias())
      tile = t.add(tile, kernel::LoadOp::create(t.b, t.loc, t.type(1, tiles.columns),
                                                tiles.f.view(tiles.f.viewOf(bias)),
                                                ValueRange{tiles.j}, UnitAttr()));
    return t.activation(linear.getActivation(), tile,
                        TileBuilder::accuracyBeside(linear.getFormat().rows));
  }
  StringRef getNameWord(Operation *op) const {
    Activation activation = cast<LinearOp>(op).getActivation();
    return activation == Activation::None ? "" : stringifyActivation(activation);
  }
};

/// Heads are columns of the product.
struct SplitHeadsModel : Tiler<SplitHeadsModel, SplitHeadsOp, Root::Relayout, tileRelayout> {
  /// Where heads are padded, the product's columns have gaps, which what is added to it has not, unless
  /// that is another product of the same kernel, which nobody asks for.
  bool canFollow(Operation *, Root root, ArrayRef<Operation *> before) const {
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
