//===- TileMaps.cpp - Bodies over feature maps ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of windows of a map, their maximums, rows of a map, and positions of its places. A tile
// has places next to each other in one line of the map, so only their column varies in the tile.

#include "Tilers.h"

#include <limits>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::Root;
using kernel::Size;

namespace {
constexpr int64_t tileColumns = 16; ///< the plan of Root::Patches

/// The tile of a kernel over the places of a map: a grid over (y, x, features), and a loop over the
/// images of a batch, which are usually one.
struct PlaceTile {
  PlaceTile(KernelBuilder &f, Size batch, Size height, Size width, int64_t features)
      : f(f), t(f.t), rows(f.plan.getRows()), batch(batch), width(width) {
    f.createFunc({height, width, padded(features)}, {1, rows, tileColumns});
    y = f.func.getGridIndex(0), x = f.func.getGridIndex(1), j = f.func.getGridIndex(2);
  }
  /// Calls `body` for each image, b.
  void forEachImage(llvm::function_ref<void()> body) {
    auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), f.sizeValue(batch), t.index(1));
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    b = loop.getInductionVar();
    body();
  }
  RankedTensorType type() const { return t.type(rows, tileColumns); }
  RankedTensorType indices() const { return t.type(rows, tileColumns, t.b.getI32Type()); }
  RankedTensorType places() const { return t.type(rows, 1, t.b.getI32Type()); }
  /// Columns of the tile's places.
  Value columns() const { return t.iota(/*rows=*/true, x, places()); }
  /// Stores a tile at its places in a map.
  void storeInMap(Value tile) const { storeResults(f, tile, {b, y, x, j}, left()); }
  /// Stores a tile as rows, one for each place.
  void storeAsRows(Value tile) const {
    Value row = t.add(t.mul(y, f.sizeValue(width)), x);
    storeResults(f, tile, {b, row, j}, left());
  }
  Value left() const { return t.sub(f.sizeValue(width), x); }

  KernelBuilder &f;
  TileBuilder &t;
  int64_t rows;
  Size batch, width;
  Value b, y, x, j;
};

/// A grid over the places of a map that is an argument.
PlaceTile placesOf(KernelBuilder &f, Value map, int64_t features) {
  kernel::ViewType in = f.viewTypeOf(map);
  return {f, in.getDim(0).extent, in.getDim(1).extent, in.getDim(2).extent, features};
}

/// A grid over the places of the map that is stored.
PlaceTile placesOfResult(KernelBuilder &f) {
  kernel::ViewType out = f.viewType(f.firstResult());
  return {f, out.getDim(0).extent, out.getDim(1).extent, out.getDim(2).extent,
          out.getDim(3).extent.value};
}

/// The windows of a map around the places of a tile.
class WindowTile {
public:
  template <typename Op>
  WindowTile(PlaceTile &at, Op op, bool channelsFirst = false)
      : at(at), t(at.t), in(at.f.viewTypeOf(op.getMap())),
        view(at.f.view(at.f.viewOf(op.getMap()))), size(op.getSize()), stride(op.getStride()),
        padding(op.getPadding()), first(channelsFirst ? 2 : 1) {}

  /// Features from `column` on of the places at (dy, dx) in the windows, or `outside`.
  Value places(Value dy, Value dx, Value column, float outside);
  /// The tile of windows of a map whose features fill whole tiles.
  Value wholeFeatures(int64_t features);
  /// The tile of windows of any map, element by element.
  Value byLines(int64_t features);
  Value byChannels(int64_t channels);

private:
  Value height() { return at.f.sizeValue(in.getDim(first).extent); }
  Value index(int64_t value) { return t.index(value); }
  Value both(Value x, Value y) { return arith::AndIOp::create(t.b, t.loc, x, y); }
  Value rest(Value x, int64_t divisor) {
    return arith::RemUIOp::create(t.b, t.loc, x, index(divisor));
  }
  /// Line of the map for line `dy` of the windows; negative before the first.
  Value line(Value dy) { return t.sub(t.add(t.mul(at.y, index(stride)), dy), index(padding)); }
  /// Columns of the map for columns `dx` of the windows.
  Value column(Value dx) {
    Value x = t.mul(t.broadcast(at.columns(), cast<RankedTensorType>(dx.getType())),
                    t.constantI(stride, dx));
    return t.sub(t.add(x, dx), t.constantI(padding, dx));
  }

  PlaceTile &at;
  TileBuilder &t;
  kernel::ViewType in;
  Value view;
  int64_t size, stride, padding, first;
};
} // namespace

Value WindowTile::places(Value dy, Value dx, Value column, float outside) {
  Value row = line(dy), zero = index(0), end = height();
  Value isLine = both(t.less(index(-1), row), t.less(row, end));
  Value known = t.max(t.min(row, t.sub(end, index(1))), zero);
  Value x = this->column(t.broadcast(t.i32(dx), at.places()));
  Value width = t.broadcast(t.i32(at.f.sizeValue(in.getDim(first + 1).extent)), at.places());
  Value inside = both(t.less(t.constantI(-1, x), x), t.less(x, width));
  inside = both(inside, t.broadcast(isLine, at.places().clone(t.b.getI1Type())));
  Value found = kernel::GatherOp::create(t.b, t.loc, at.type(), at.f.slice(view, {at.b, known}),
                                         t.max(x, t.constantI(0, x)), column);
  return t.select(t.broadcast(inside, at.type().clone(t.b.getI1Type())), found,
                  t.constant(outside, found));
}

Value WindowTile::wholeFeatures(int64_t features) {
  Value place = t.div(at.j, index(features));
  return places(t.div(place, index(size)), rest(place, size), rest(at.j, features), 0);
}

/// The elements of a tile may belong to several lines of the windows. Each lookup returns 0 for
/// elements of other lines, so the tile is the sum of the lookups.
Value WindowTile::byLines(int64_t features) {
  Value element = t.iota(/*rows=*/false, at.j, at.indices());
  auto number = [&](int64_t value) { return t.constantI(value, element); };
  Value place = t.div(element, number(features)), dy = t.div(place, number(size)),
        dx = t.sub(place, t.mul(dy, number(size))),
        feature = t.sub(element, t.mul(place, number(features))), x = column(dx);
  Value lineLength = index(size * features), from = t.div(at.j, lineLength),
        last = t.div(t.add(at.j, index(tileColumns - 1)), lineLength),
        end = t.min(t.add(last, index(1)), index(size));
  return t.sum(from, end, at.type(), [&](Value lineOfWindow) -> Value {
    Value row = line(lineOfWindow), lines = height();
    Value exists = both(t.less(index(-1), row), t.less(row, lines));
    Value known = t.max(t.min(row, t.sub(lines, index(1))), index(0));
    Value same = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, dy,
                                       t.broadcast(t.i32(lineOfWindow), at.indices()));
    Value belongs = both(same, t.broadcast(exists, at.indices().clone(t.b.getI1Type())));
    return kernel::LookupOp::create(t.b, t.loc, at.type(), at.f.slice(view, {at.b, known}),
                                    ValueRange{t.select(belongs, x, number(-1)), feature});
  });
}

/// Like byLines, with the channels of an image in place of lines.
Value WindowTile::byChannels(int64_t channels) {
  const int64_t square = size * size;
  Value element = t.iota(/*rows=*/false, at.j, at.indices());
  auto number = [&](int64_t value) { return t.constantI(value, element); };
  Value channel = t.div(element, number(square)),
        inside = t.sub(element, t.mul(channel, number(square))), dy = t.div(inside, number(size)),
        dx = t.sub(inside, t.mul(dy, number(size))), x = column(dx);
  Value y = t.add(dy, t.broadcast(t.i32(line(index(0))), at.indices()));
  Value from = t.div(at.j, index(square)),
        last = t.div(t.add(at.j, index(tileColumns - 1)), index(square)),
        end = t.min(t.add(last, index(1)), index(channels));
  return t.sum(from, end, at.type(), [&](Value one) -> Value {
    Value same = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, channel,
                                       t.broadcast(t.i32(one), at.indices()));
    return kernel::LookupOp::create(t.b, t.loc, at.type(), at.f.slice(view, {at.b, one}),
                                    ValueRange{t.select(same, y, number(-1)), x});
  });
}

static LogicalResult tileWindows(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<WindowsOp>();
  if (!op)
    return f.def.emitOpError("expected windows that are yielded");
  const bool channelsFirst = op.getChannelsFirst();
  const int64_t features = op.getMap().getType().getDimSize(channelsFirst ? 1 : 3);
  PlaceTile at = placesOfResult(f);
  WindowTile windows(at, op, channelsFirst);
  at.forEachImage([&] {
    at.storeInMap(channelsFirst                 ? windows.byChannels(features)
                  : features % tileColumns == 0 ? windows.wholeFeatures(features)
                                                : windows.byLines(features));
  });
  return success();
}

static LogicalResult tileMaxPool(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<MaxPoolOp>();
  if (!op)
    return f.def.emitOpError("expected a max_pool that is yielded");
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  PlaceTile at = placesOfResult(f);
  WindowTile windows(at, op);
  auto size = static_cast<int64_t>(op.getSize());
  auto largest = [&](Value x, Value y) { return t.max(x, y); };
  auto next = [&](Value place) {
    Value dy = t.div(place, t.index(size));
    return windows.places(dy, t.sub(place, t.mul(dy, t.index(size))), at.j, lowest);
  };
  at.forEachImage([&] {
    Value none = arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(at.type(), lowest));
    at.storeInMap(t.fold(t.index(0), t.index(size * size), none, largest, next));
  });
  return success();
}

//===- Rows --------------------------------------------------------------===//

static LogicalResult tileMapRows(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<MapRowsOp>();
  if (!op)
    return f.def.emitOpError("expected rows of a map that are yielded");
  PlaceTile at = placesOf(f, op.getMap(), op.getMap().getType().getDimSize(3));
  at.forEachImage([&] {
    Value line = f.slice(f.view(f.viewOf(op.getMap())), {at.b, at.y});
    at.storeAsRows(kernel::LoadOp::create(at.t.b, at.t.loc, at.type(), line, ValueRange{at.x, at.j},
                                          UnitAttr()));
  });
  return success();
}

/// Stores rows from `first` on of `matrix`, which a function selects for the grid's sequence.
static LogicalResult copyRows(KernelBuilder &f, int64_t first,
                              llvm::function_ref<Value(Value)> matrix) {
  TileBuilder &t = f.t;
  kernel::ViewType out = f.viewType(f.firstResult());
  const int64_t rows = f.plan.getRows();
  const Size count = out.getDim(1).extent;
  f.createFunc({out.getDim(0).extent, count, padded(out.getDim(2).extent.value)},
               {1, rows, tileColumns});
  Value b = f.func.getGridIndex(0), i = f.func.getGridIndex(1), j = f.func.getGridIndex(2);
  Value numbers =
      t.iota(/*rows=*/true, t.add(i, t.index(first)), t.type(rows, 1, t.b.getI32Type()));
  // Rows after the last are clamped to the matrix and not stored.
  Value tile =
      kernel::GatherOp::create(t.b, t.loc, t.type(rows, tileColumns), matrix(b), numbers, j);
  storeResults(f, tile, {b, i, j}, t.sub(f.sizeValue(count), i));
  return success();
}

static LogicalResult tileSliceRows(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<SliceRowsOp>();
  if (!op)
    return f.def.emitOpError("expected a slice of rows that is yielded");
  return copyRows(f, static_cast<int64_t>(op.getFirst()), [&](Value sequence) {
    return f.slice(f.view(f.viewOf(op.getRows())), {sequence});
  });
}

static LogicalResult tileRepeatRows(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<RepeatRowsOp>();
  if (!op)
    return f.def.emitOpError("expected repeated rows that are yielded");
  return copyRows(f, 0, [&](Value) { return f.view(f.viewOf(op.getTable())); });
}

//===- Positions ---------------------------------------------------------===//

/// sin(2 pi v) for v in [0, 2): an odd polynomial over a quarter of a turn.
static Value sineOfTurns(TileBuilder &t, Value v) {
  Value turn = t.sub(v, t.round(v)), half = t.constant(0.5, v), zero = t.constant(0, v);
  Value negative = t.less(turn, zero), size = t.max(turn, t.sub(zero, turn));
  Value quarter = t.min(size, t.sub(half, size));
  Value x = t.mul(quarter, 2 * std::numbers::pi), square = t.mul(x, x);
  Value p = t.constant(-1.0 / 39916800, x);
  for (double c : {1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0})
    p = t.fma(p, square, t.constant(c, x));
  Value sine = t.mul(p, x);
  return t.select(negative, t.sub(zero, sine), sine);
}

static Value asFloats(TileBuilder &t, Value numbers) {
  Type type = t.b.getF32Type();
  if (auto tile = dyn_cast<RankedTensorType>(numbers.getType()))
    type = tile.clone(type);
  return arith::SIToFPOp::create(t.b, t.loc, type, numbers);
}

static LogicalResult tilePositionPlane(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<PositionPlaneOp>();
  if (!op)
    return f.def.emitOpError("expected positions of a plane that are yielded");
  const auto features = static_cast<int64_t>(op.getFeatures()), half = features / 2;
  kernel::ViewType in = f.viewTypeOf(op.getMap());
  PlaceTile at = placesOf(f, op.getMap(), features);
  Value feature = t.iota(/*rows=*/false, at.j, at.indices());
  auto number = [&](int64_t value) { return t.constantI(value, feature); };
  Value isHeight = t.less(feature, number(half));
  Value inHalf = t.sub(feature, t.select(isHeight, number(0), number(half)));
  Value pair = t.div(inHalf, number(2)), odd = t.sub(inHalf, t.mul(pair, number(2)));
  double step = -2 * std::log2(op.getTemperature().convertToDouble()) / static_cast<double>(half);
  Value frequency = t.exp2(t.mul(asFloats(t, pair), step));
  /// Place `at` of `extent` places, as a part of them.
  auto part = [&](Value places, Size extent) {
    Value all = asFloats(t, t.broadcast(t.i32(f.sizeValue(extent)), at.places()));
    Value one = asFloats(t, t.add(places, t.constantI(1, places)));
    return t.broadcast(t.div(one, t.add(all, t.constant(1e-6, all))), at.type());
  };
  Value y = part(t.broadcast(t.i32(at.y), at.places()), in.getDim(1).extent),
        x = part(at.columns(), in.getDim(2).extent);
  Value turns = t.mul(t.select(isHeight, y, x), frequency);
  Value sines = sineOfTurns(t, t.add(turns, t.mul(asFloats(t, odd), 0.25)));
  at.forEachImage([&] { at.storeAsRows(sines); });
  return success();
}

namespace {
/// The four places of a line that a cubic convolution sums, and their weights.
struct CubicTaps {
  Value places[4], weights[4];
};
} // namespace

/// Keys' kernel with a = -3/4 at `distance` below 1, and from 1 to 2.
static Value nearWeight(TileBuilder &t, Value distance) {
  Value x = t.sub(t.mul(distance, 1.25), t.constant(2.25, distance));
  return t.add(t.mul(t.mul(x, distance), distance), t.constant(1, distance));
}
static Value farWeight(TileBuilder &t, Value distance) {
  Value x = t.add(t.mul(distance, -0.75), t.constant(3.75, distance));
  x = t.sub(t.mul(x, distance), t.constant(6, distance));
  return t.add(t.mul(x, distance), t.constant(3, distance));
}

/// Taps for `place` of `extent` places in a line of `known` places. The place in the line is
/// ((2 place + 1) * known - extent) / (2 extent), computed in integers.
static CubicTaps tapsOf(TileBuilder &t, Value place, Value extent, int64_t known) {
  auto number = [&](int64_t value) { return t.constantI(value, place); };
  Value twice = t.mul(extent, number(2));
  Value moved = t.add(t.mul(t.add(t.mul(place, number(2)), number(1)), number(known)), extent);
  // One line of extents is added, so that the quotient of a negative place is rounded down.
  Value next = t.div(moved, twice), before = t.sub(next, number(1));
  Value rest = t.div(asFloats(t, t.sub(moved, t.mul(next, twice))), asFloats(t, twice));
  Value one = t.constant(1, rest), back = t.sub(one, rest);
  CubicTaps taps{{},
                 {farWeight(t, t.add(rest, one)), nearWeight(t, rest), nearWeight(t, back),
                  farWeight(t, t.add(back, one))}};
  for (int64_t i = 0; i < 4; ++i)
    taps.places[i] = t.max(t.min(t.add(before, number(i - 1)), number(known - 1)), number(0));
  return taps;
}

static LogicalResult tilePositionResized(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<PositionResizedOp>();
  if (!op)
    return f.def.emitOpError("expected resized positions that are yielded");
  const RankedTensorType table = op.getTable().getType();
  const auto columns = static_cast<int64_t>(op.getColumns());
  kernel::ViewType in = f.viewTypeOf(op.getMap());
  PlaceTile at = placesOf(f, op.getMap(), table.getDimSize(1));
  auto tile = [&](Value index) { return t.broadcast(t.i32(index), at.places()); };
  const CubicTaps y = tapsOf(t, tile(at.y), tile(f.sizeValue(in.getDim(1).extent)),
                             table.getDimSize(0) / columns),
                  x = tapsOf(t, at.columns(), tile(f.sizeValue(in.getDim(2).extent)), columns);
  Value sum;
  for (int i = 0; i < 4; ++i) {
    Value line, first = t.mul(y.places[i], t.constantI(columns, y.places[i]));
    for (int k = 0; k < 4; ++k) {
      Value found = kernel::GatherOp::create(t.b, t.loc, at.type(), f.view(f.viewOf(op.getTable())),
                                             t.add(first, x.places[k]), at.j);
      Value weighted = t.mul(found, x.weights[k]);
      line = line ? t.add(line, weighted) : weighted;
    }
    Value weighted = t.mul(line, y.weights[i]);
    sum = sum ? t.add(sum, weighted) : weighted;
  }
  at.forEachImage([&] { at.storeAsRows(sum); });
  return success();
}

void heddle::attachMapTilers(MLIRContext *context) {
  attach<WindowsOp, Root::Patches, tileWindows>(context);
  attach<MaxPoolOp, Root::Patches, tileMaxPool>(context);
  attach<MapRowsOp, Root::Patches, tileMapRows>(context);
  attach<SliceRowsOp, Root::Patches, tileSliceRows>(context);
  attach<RepeatRowsOp, Root::Patches, tileRepeatRows>(context);
  attach<PositionPlaneOp, Root::Patches, tilePositionPlane>(context);
  attach<PositionResizedOp, Root::Patches, tilePositionResized>(context);
}
