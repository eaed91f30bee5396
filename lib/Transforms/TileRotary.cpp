//===- TileRotary.cpp - Rotary positions ----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of rotary positions. After a projection, two tiles of its kernel are rotated with each
// other (TileLinear.cpp). A separate kernel rotates heads from other sources, heads of packed
// documents, whose positions restart at each document, and heads whose halves are not a multiple of
// 16. For the latter, each element looks up the other element of its pair.

#include "TileRotary.h"

#include "Tilers.h"

#include "heddle/Planning/LinearColumns.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Root;

Halves heddle::rotated(TileBuilder &t, Halves x, Value cos, Value sin, bool isInverse) {
  if (isInverse)
    return {t.add(t.mul(x.front, cos), t.mul(x.back, sin)),
            t.sub(t.mul(x.back, cos), t.mul(x.front, sin))};
  return {t.sub(t.mul(x.front, cos), t.mul(x.back, sin)),
          t.add(t.mul(x.back, cos), t.mul(x.front, sin))};
}

Halves heddle::loadHalves(TileBuilder &t, RankedTensorType tile, Value view, Value row,
                          Value column, int64_t half) {
  auto load = [&](Value at) -> Value {
    return kernel::LoadOp::create(t.b, t.loc, tile, view, ValueRange{row, at}, UnitAttr());
  };
  return {load(column), load(t.add(column, t.index(half)))};
}

//===- Separate rotary kernel ---------------------------------------------===//

namespace {
/// Tiles of rows of one head.
class RotaryTiler {
public:
  RotaryTiler(KernelBuilder &f, RotaryOp op)
      : f(f), t(f.t), op(op), rows(f.plan.getRows()), size(op.getRotatedSize()),
        stored(padded(op.getType().getDimSize(3))) {}
  void run();

private:
  void byTiles(const ValueTiles &tiles, Value head);
  void byElements(const ValueTiles &tiles, Value head);
  void store(const ValueTiles &tiles, Value tile, int64_t column);

  KernelBuilder &f;
  TileBuilder &t;
  RotaryOp op;
  const int64_t rows, size, stored; ///< size of the rotated features
  Value end;                        ///< end of the rows that a tile may store
};
} // namespace

void RotaryTiler::run() {
  kernel::ViewType in = f.viewType(f.viewOf(op.getInput()));
  kernel::Size extent = in.getDim(2).extent;
  Value starts = op.getDocuments();
  f.createFunc({in.getDim(0).extent, in.getDim(1).extent, starts ? f.slots(starts) : extent},
               {1, 1, rows});
  SmallVector<Value> points{f.func.getGridIndex(0), f.func.getGridIndex(1)};
  ValueTiles tiles(f, rows, stored, points, f.func.getGridIndex(2), t.index(0));
  end = f.sizeValue(extent);
  if (starts)
    end = enterDocument(tiles, f.view(f.viewOf(starts)), end);
  Value head = tiles.matrix(op.getInput());
  rotatesTiles(op) ? byTiles(tiles, head) : byElements(tiles, head);
}

void RotaryTiler::byTiles(const ValueTiles &tiles, Value head) {
  int64_t half = size / 2;
  RankedTensorType type = t.type(rows, half);
  Value zero = t.index(0);
  Value first = firstPosition(f, op.getOffset(), tiles.points[0], tiles.position);
  Halves table = loadHalves(t, type, f.tableOf(op), first, zero, half);
  Halves y = rotated(t, loadHalves(t, type, head, tiles.i, zero, half), table.front, table.back,
                     op.getInverse());
  store(tiles, y.front, 0);
  store(tiles, y.back, half);
  if (size == stored)
    return;
  Value rest = kernel::LoadOp::create(t.b, t.loc, t.type(rows, stored - size), head,
                                      ValueRange{tiles.i, t.index(size)}, UnitAttr());
  store(tiles, rest, size);
}

void RotaryTiler::byElements(const ValueTiles &tiles, Value head) {
  RankedTensorType type = t.type(rows, stored), indices = t.type(rows, stored, t.b.getI32Type());
  auto rowsFrom = [&](Value row) { return t.iota(/*rows=*/true, row, indices); };
  auto lookUp = [&](Value view, Value row, Value column) -> Value {
    return kernel::LookupOp::create(t.b, t.loc, type, view, ValueRange{row, column});
  };
  Value row = rowsFrom(tiles.i),
        position = rowsFrom(firstPosition(f, op.getOffset(), tiles.points[0], tiles.position)),
        column = t.iota(/*rows=*/false, t.index(0), indices), half = t.constantI(size / 2, column);
  Value isFront = t.less(column, half), behind = t.sub(column, half);
  Value pair = t.select(isFront, column, behind);
  Value x =
      kernel::LoadOp::create(t.b, t.loc, type, head, ValueRange{tiles.i, t.index(0)}, UnitAttr());
  Value other = lookUp(head, row, t.select(isFront, t.add(column, half), behind));
  Value table = f.tableOf(op);
  Value kept = t.mul(x, lookUp(table, position, pair)),
        added = t.mul(other, lookUp(table, position, t.add(pair, half)));
  Value difference = t.sub(kept, added), sum = t.add(kept, added);
  Value y =
      op.getInverse() ? t.select(isFront, sum, difference) : t.select(isFront, difference, sum);
  store(tiles, t.select(t.less(column, t.constantI(size, column)), y, x), 0);
}

/// Stores a tile as each of the results, rounded if the result is narrower.
void RotaryTiler::store(const ValueTiles &tiles, Value tile, int64_t column) {
  for (unsigned result = 0; result < f.def.getNumResults(); ++result) {
    unsigned view = f.firstResult() + result;
    Value left = t.sub(end, tiles.i), row = f.placeOf(result, tiles.points[0], tiles.i, left);
    SmallVector<Value> indices(tiles.points);
    indices.append({row, t.index(column)});
    kernel::StoreOp::create(t.b, t.loc, t.narrow(tile, f.viewType(view).getElementType()),
                            f.view(view), indices, left, f.ringOf(result));
  }
}

static LogicalResult tileRotary(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<RotaryOp>();
  if (!op)
    return f.def.emitOpError("expected a rotary that is yielded");
  RotaryTiler(f, op).run();
  return success();
}

//===- The model ---------------------------------------------------------===//

namespace {
struct RotaryModel : Tiler<RotaryModel, RotaryOp, Root::Relayout, tileRotary> {
  bool canFollow(Operation *op, Root root, ArrayRef<Operation *> before) const {
    auto rotary = cast<RotaryOp>(op);
    return root == Root::Linear && isa<SplitHeadsOp>(before.back()) && !rotary.getDocuments() &&
           rotatesTiles(rotary);
  }
  StringRef getNameWord(Operation *) const { return "rotary"; }
};
} // namespace

void heddle::attachRotaryTilers(MLIRContext *context) {
  RotaryOp::attachInterface<RotaryModel>(*context);
}
