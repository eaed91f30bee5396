//===- TilePatches.cpp - Rows of patches and of neighbors ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of patches of an image as rows, and of rows next to their neighbors. Each element of a
// tile is looked up in the input.

#include "Tiling.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {
/// The tile of a kernel whose rows are looked up: a grid over (b, rows, 16 elements).
struct LookupTile {
  static constexpr int64_t columns = 16;

  explicit LookupTile(KernelBuilder &f) : f(f), rows(f.plan.getRows()) {
    const kernel::ViewType out = f.viewType(f.firstResult());
    count = out.getDim(1).extent;
    f.createFunc({out.getDim(0).extent, count, padded(out.getDim(2).extent.value)},
                 {1, rows, columns});
    b = f.func.getGridIndex(0), i = f.func.getGridIndex(1), j = f.func.getGridIndex(2);
  }

  RankedTensorType type() const { return f.t.type(rows, columns); }
  RankedTensorType indices() const { return f.t.type(rows, columns, f.t.b.getI32Type()); }
  void store(Value tile) const { storeResults(f, tile, {b, i, j}, f.t.sub(f.sizeValue(count), i)); }

  KernelBuilder &f;
  int64_t rows;
  kernel::Size count;
  Value b, i, j;
};

/// Coordinates, within a channel, of the pixels in a tile of patches.
class PatchPixels {
public:
  /// Patches start at `row`, and elements at `column`; a patch is `side` by `side` pixels.
  PatchPixels(TileBuilder &t, Value row, Value column, RankedTensorType type, int64_t side,
              int64_t across)
      : t(t), element(t.iota(/*rows=*/false, column, type)), side(side) {
    Value patch = t.iota(/*rows=*/true, row, type);
    down = t.div(patch, number(across));
    right = t.sub(patch, t.mul(down, number(across)));
  }

  /// Indices of the elements of channel `channel`; elements of other channels are out of bounds.
  SmallVector<Value> of(Value channel) {
    int64_t pixels = side * side;
    Value first = t.mul(t.i32(channel), arith::ConstantIntOp::create(t.b, t.loc, pixels, 32));
    Value inside = t.sub(element, t.broadcast(first, cast<RankedTensorType>(element.getType())));
    Value dy = t.div(inside, number(side)), dx = t.sub(inside, t.mul(dy, number(side)));
    Value belongs = arith::AndIOp::create(t.b, t.loc, t.less(number(-1), inside),
                                          t.less(inside, number(pixels)));
    Value y = t.add(t.mul(down, number(side)), dy), x = t.add(t.mul(right, number(side)), dx);
    return {t.select(belongs, y, number(-1)), x};
  }

private:
  Value number(int64_t value) { return t.constantI(value, element); }

  TileBuilder &t;
  Value element, down, right;
  int64_t side;
};
} // namespace

/// The elements of a tile may belong to several channels. Each lookup returns 0 for elements of
/// other channels, so the tile is the sum of the lookups.
LogicalResult heddle::tilePatches(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<PatchesOp>();
  if (!op)
    return f.def.emitOpError("expected patches that are yielded");
  int64_t side = op.getSize(), pixels = side * side;
  unsigned image = f.viewOf(op.getImage());
  kernel::ViewType in = f.viewType(image);
  int64_t channels = in.getDim(1).extent.value, across = in.getDim(3).extent.value / side;
  const LookupTile at(f);
  PatchPixels found(t, at.i, at.j, at.indices(), side, across);
  Value one = t.index(1), first = t.div(at.j, t.index(pixels)),
        last = t.div(t.add(at.j, t.index(at.columns - 1)), t.index(pixels)),
        end = t.min(t.add(last, one), t.index(channels));
  at.store(t.sum(first, end, at.type(), [&](Value channel) -> Value {
    return kernel::LookupOp::create(t.b, t.loc, at.type(), f.slice(f.view(image), {at.b, channel}),
                                    found.of(channel));
  }));
  return success();
}

/// Rows before the first and after the last, and channels after the last, are out of bounds; their
/// lookup returns 0.
LogicalResult heddle::tileUnfold(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<UnfoldOp>();
  if (!op)
    return f.def.emitOpError("expected unfolded rows that are yielded");
  const LookupTile at(f);
  Value row = t.iota(/*rows=*/true, at.i, at.indices()),
        element = t.iota(/*rows=*/false, at.j, at.indices());
  auto number = [&](int64_t value) { return t.constantI(value, element); };
  Value size = number(static_cast<int64_t>(op.getSize())), channel = t.div(element, size);
  Value neighbor = t.sub(t.sub(element, t.mul(channel, size)), number(op.getPadding()));
  Value from = t.add(t.mul(row, number(static_cast<int64_t>(op.getStride()))), neighbor);
  SmallVector<Value> place{from, channel};
  if (op.getChannelsFirst())
    std::swap(place[0], place[1]);
  at.store(kernel::LookupOp::create(t.b, t.loc, at.type(),
                                    f.slice(f.view(f.viewOf(op.getInput())), {at.b}), place));
  return success();
}
