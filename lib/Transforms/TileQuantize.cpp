//===- TileQuantize.cpp - Quantization of rows ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of quantization. TileLinear.cpp scales the sums of codes.
//
//   quantize   m = the largest magnitude of a row; codes 128 + rint(x * (127 / m)), scales m / 127
//              a cache's rows have the same codes without the 128, signed
//   linear     (f32(sum - 128 * sum of the weight's codes) * row's scale) * column's scale
//
//   of f16     codes f16(x * 2^-e), scales 2^e, e the exponent of m;  sum * row's scale
//
//   of groups  of 32 or 16 features: codes and scale e as for a row, s = e * sum of codes; e and s of a
//              group are adjacent, and enter the sums (kernel.contract_groups)
//
// The instruction that multiplies four bytes and adds has one unsigned operand. Codes of whole rows
// are therefore stored as bytes of 128 + code; the sum that the 128 adds is known for each row of a
// weight. Codes of groups are signed, because their weights are stored unsigned. Devices need not support
// infinities and NaN in arithmetic: magnitudes are compared as integers, and a magnitude of 2^127
// or more counts as 2^127.
//
// Matrix units multiply rows of f32 that are rounded to f16 in the same way, except that each scale is
// a power of two.
//
// For f16, rows below a limit count as zeros. The limit is chosen so that f32 denormals, which not
// all devices keep, round to zero in the rows above it. Powers of two are built from their bits.

#include "RowWalk.h"

#include "heddle/Dialect/ElementFormats.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

static constexpr double smallest = 0x1p-118, smallestHalf = 0x1p-101, beyond = 0x1p+127;
static constexpr int32_t magnitudeBits = 0x7fffffff, exponentBits = 0x7f800000,
                         beyondBits = 0x7f000000, nanBits = 0x7fc00000;
static constexpr int64_t mostCode = 127, laneColumns = 16;

static Value bitcast(TileBuilder &t, Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  return arith::BitcastOp::create(t.b, t.loc, type.clone(element), x);
}

/// Maximum of lanes and the magnitudes of a tile, as bits.
static Value maxMagnitude(TileBuilder &t, Value lanes, Value x) {
  Value bits = bitcast(t, x, t.b.getI32Type());
  bits = arith::AndIOp::create(t.b, t.loc, bits, t.constantI(magnitudeBits, bits));
  return lanes ? t.max(lanes, bits) : bits;
}

/// Largest magnitude of each row of lanes. 2^127 replaces larger magnitudes and NaN, which are the
/// largest integers.
static Value largestOf(TileBuilder &t, Value bits) {
  Value x = bitcast(t, bits, t.b.getF32Type());
  Value usual = t.less(bits, t.constantI(beyondBits, bits));
  return t.reduce(kernel::ReduceKind::Max, t.select(usual, x, t.constant(beyond, x)));
}

/// Largest magnitude of each whole row.
static Value largestOf(TileBuilder &t, RowWalk &walk, int64_t rows) {
  if (walk.isOneStep()) {
    Value c = t.index(0), x = walk.load(c);
    return largestOf(t, maxMagnitude(t, Value(), walk.inside(c, x, t.constant(0, x))));
  }
  RankedTensorType type = t.type(rows, 16, t.b.getI32Type());
  Value start = arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, int32_t{0}));
  scf::ForOp loop = walk.overColumns(start, [&](Value lanes, Value c) {
    Value x = walk.load(c);
    return maxMagnitude(t, lanes, walk.inside(c, x, t.constant(0, x)));
  });
  return largestOf(t, loop.getResult(0));
}

/// Returns `scale` of rows, 0 if the largest magnitude is below `least`, or NaN if it is too large.
static Value scalesOf(TileBuilder &t, Value largest, double least, Value scale) {
  Value none = t.less(largest, t.constant(least, largest));
  scale = t.select(none, t.constant(0, largest), scale);
  Value usual = t.less(largest, t.constant(beyond, largest));
  Value bits = bitcast(t, scale, t.b.getI32Type());
  bits = t.select(usual, bits, t.constantI(nanBits, bits));
  return bitcast(t, bits, t.b.getF32Type());
}

/// Factor of a row: 127 over its largest magnitude, or 0.
static Value factorsOf(TileBuilder &t, Value largest) {
  Value divisor = t.max(largest, t.constant(smallest, largest));
  Value factor = t.div(t.constant(mostCode, divisor), divisor);
  Value none = t.less(largest, t.constant(smallest, largest));
  return t.select(none, t.constant(0, factor), factor);
}

/// A float of this size has no fraction bits. A sum with it is rounded to an integer, ties to even,
/// whose low bits are the code.
static constexpr double noFraction = 0x1.8p23;

static Value sumWithUnit(TileBuilder &t, Value x, Value factors, int64_t base) {
  Value product = t.mul(x, factors);
  return t.add(product, t.constant(noFraction + static_cast<double>(base), product));
}

/// Codes of a tile.
static Value codesOf(TileBuilder &t, Value sum) {
  auto type = cast<RankedTensorType>(sum.getType());
  return arith::TruncIOp::create(t.b, t.loc, type.clone(t.b.getI8Type()),
                                 bitcast(t, sum, t.b.getI32Type()));
}

namespace {
/// Conversion of rows to codes of a type, given their largest magnitudes.
struct Coder {
  Value scales;
  std::function<Value(Value)> codesOf; ///< codes of a tile of columns
};
} // namespace

static Coder bytes(TileBuilder &t, Value largest, int64_t base) {
  Value scale = t.div(largest, t.constant(mostCode, largest));
  Value factors = factorsOf(t, largest);
  return {scalesOf(t, largest, smallest, scale),
          [&t, factors, base](Value x) { return codesOf(t, sumWithUnit(t, x, factors, base)); }};
}

/// The scale keeps the exponent bits of the row's largest magnitude; the inverse has the exponent
/// bits that add up to 254 with them. A row with values that are too large or NaN has codes 0.
static Coder halves(TileBuilder &t, Value largest) {
  Value bits = bitcast(t, largest, t.b.getI32Type());
  bits = arith::AndIOp::create(t.b, t.loc, bits, t.constantI(exponentBits, bits));
  Value scale = bitcast(t, bits, t.b.getF32Type());
  Value inverse = bitcast(t, t.sub(t.constantI(beyondBits, bits), bits), t.b.getF32Type());
  Value none = t.less(largest, t.constant(smallestHalf, largest));
  Value factors = t.select(none, t.constant(0, inverse), inverse);
  return {scalesOf(t, largest, smallestHalf, scale), [&t, largest, factors](Value x) {
            auto type = cast<RankedTensorType>(x.getType());
            Value usual = t.less(t.broadcast(largest, type), t.constant(beyond, x));
            x = t.select(usual, x, t.constant(0, x));
            return t.narrow(t.mul(x, factors), t.b.getF16Type());
          }};
}

/// Number of existing rows, starting at the tile's first; stores write no others.
static Value rowsLeft(KernelBuilder &f) {
  return f.t.sub(f.sizeValue(f.func.getGridSize(0)), f.func.getGridIndex(0));
}

/// Quantizes whole rows: one walk finds the largest magnitudes, and one stores codes.
static void quantizeRows(KernelBuilder &f, QuantizeOp op, RowWalk &walk, int64_t rows,
                         ValueRange results) {
  TileBuilder &t = f.t;
  Value i = f.func.getGridIndex(0), left = rowsLeft(f);
  Value largest = largestOf(t, walk, rows);
  bool asHalves = formatOf(op.getCodes().getType()).isFloat();
  Coder coder = asHalves ? halves(t, largest) : bytes(t, largest, codeBase);
  for (auto [number, result] : llvm::enumerate(results)) {
    Value view = f.view(f.firstResult() + number);
    auto store = [&](Value tile, Value c) {
      kernel::StoreOp::create(t.b, t.loc, tile, view, ValueRange{i, c}, left);
    };
    auto storeCodes = [&](Value, Value c) {
      Value x = walk.load(c);
      // A product with an odd number of features reads one more. Bytes there are multiplied by
      // zeros of the weight, but a NaN would propagate.
      store(coder.codesOf(asHalves ? walk.inside(c, x, t.constant(0, x)) : x), c);
      return Value();
    };
    if (result == op.getScales())
      store(coder.scales, t.index(0));
    else if (walk.isOneStep())
      storeCodes(Value(), t.index(0));
    else
      walk.overColumns(Value(), storeCodes);
  }
}

/// Quantizes groups of features independently: the group of the grid point if groups are a grid
/// axis, else all groups. Columns after a short group count as zeros.
static void quantizeGroups(KernelBuilder &f, QuantizeOp op, RowWalk &walk, ValueRange results) {
  const int64_t group = op.getScaleGroup();
  TileBuilder &t = f.t;
  Value i = f.func.getGridIndex(0), left = rowsLeft(f);
  auto storeAs = [&](Value which, Value tile, Value c) {
    for (auto [number, result] : llvm::enumerate(results))
      if (result == which)
        kernel::StoreOp::create(t.b, t.loc, tile, f.view(f.firstResult() + number),
                                ValueRange{i, c}, left);
  };
  auto quantize = [&](Value number, int64_t features) {
    Value first = t.mul(number, t.index(group)), place = t.mul(number, t.index(2));
    SmallVector<Value> columns, tiles;
    Value lanes, sum;
    for (int64_t c = 0; c < features; c += 16) {
      columns.push_back(t.add(first, t.index(c)));
      Value x = walk.load(columns.back());
      tiles.push_back(walk.inside(columns.back(), x, t.constant(0, x)));
      lanes = maxMagnitude(t, lanes, tiles.back());
    }
    Value largest = largestOf(t, lanes), factors = factorsOf(t, largest);
    for (auto [c, x] : llvm::zip_equal(columns, tiles)) {
      Value withUnit = sumWithUnit(t, x, factors, 0);
      storeAs(op.getCodes(), codesOf(t, withUnit), c);
      Value code = t.sub(withUnit, t.constant(noFraction, withUnit));
      sum = sum ? t.add(sum, code) : code;
    }
    sum = t.reduce(kernel::ReduceKind::Add, sum); // exact in any order
    Value scale = t.div(largest, t.constant(mostCode, largest));
    storeAs(op.getScales(), scalesOf(t, largest, smallest, scale), place);
    storeAs(op.getScales(), scalesOf(t, largest, smallest, t.mul(scale, sum)),
            t.add(place, t.index(1)));
  };
  int64_t features = cast<RankedTensorType>(op.getInput().getType()).getShape().back(),
          whole = features / group;
  if (f.func.getGridSizes().size() > 1)
    return quantize(f.func.getGridIndex(1), group);
  if (whole) {
    auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), t.index(whole), t.index(1));
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    quantize(loop.getInductionVar(), group);
  }
  if (features % group)
    quantize(t.index(whole), features % group);
}

LogicalResult heddle::tileQuantize(KernelBuilder &f) {
  TileBuilder &t = f.t;
  Operation *yield = f.def.getBody().front().getTerminator();
  auto op = yield->getOperand(0).getDefiningOp<QuantizeOp>();
  if (!op)
    return f.def.emitOpError("expected a quantize that is yielded");
  kernel::ViewType in = f.viewType(f.viewOf(op.getInput()));
  const bool inGroups = cast<RankedTensorType>(op.getScales().getType()).getShape().back() > 1;
  const int64_t group = op.getScaleGroup(), features = in.getDims().back().extent.value,
                rows = f.plan.getRows(), planned = f.plan.getColumns()[0];
  SmallVector<kernel::Size> grid{in.getDim(0).extent};
  SmallVector<int64_t> tiles{rows};
  if (inGroups && planned == group && group > laneColumns) { // a group is a grid point
    grid.push_back(kernel::Size(features / group));
    tiles.push_back(1);
  }
  const int64_t columns = inGroups ? laneColumns : planned;
  f.createFunc(grid, tiles);
  RowWalk walk(t, f.view(f.viewOf(op.getInput())), f.func.getGridIndex(0), t.type(rows, columns),
               features);
  if (inGroups)
    quantizeGroups(f, op, walk, yield->getOperands());
  else
    quantizeRows(f, op, walk, rows, yield->getOperands());
  return success();
}

//===- Rows that matrix units multiply ------------------------------------===//

/// Bounds of the scale of a rounded row, as bits, within which the inverse is a normal number too.
/// Rows of smaller numbers need less precision. Rows with infinities or NaN have no finite sums
/// anyway. The bits of an inverse are inverseBits minus the bits of its power of two.
/// GpuMatrixStaging.cpp has the same arithmetic, for forms that round their rows themselves.
static constexpr int32_t leastScaleBits = 0x0d000000, mostScaleBits = 0x7e800000,
                         inverseBits = 0x7f000000;

/// Rounds rows to f16, each multiplied by the power of two that brings its largest magnitude to
/// between 1 and 2.
LogicalResult heddle::tileRounding(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto linear = *f.def.getBody().front().getOps<LinearOp>().begin();
  const unsigned input = f.viewOf(linear.getInput());
  kernel::ViewType in = f.viewType(input);
  const int64_t rows = f.plan.getRows(), leading = in.getRank() - 2;
  SmallVector<kernel::Size> grid;
  for (int64_t axis = 0; axis <= leading; ++axis)
    grid.push_back(in.getDim(axis).extent);
  SmallVector<int64_t> tiles(leading, 1);
  tiles.push_back(rows);
  f.createFunc(grid, tiles);
  SmallVector<Value> points;
  for (int64_t axis = 0; axis < leading; ++axis)
    points.push_back(f.func.getGridIndex(axis));
  Value i = f.func.getGridIndex(leading), left = t.sub(f.sizeValue(grid.back()), i);
  RowWalk walk(t, f.slice(f.view(input), points), i, t.type(rows, f.plan.getColumns()[0]),
               in.getDims().back().extent.value);
  Value bits = bitcast(t, largestOf(t, walk, rows), t.b.getI32Type());
  bits = t.max(bits, t.constantI(leastScaleBits, bits));
  bits = arith::AndIOp::create(t.b, t.loc, bits, t.constantI(exponentBits, bits));
  bits = t.min(bits, t.constantI(mostScaleBits, bits));
  Value factors = bitcast(t, t.sub(t.constantI(inverseBits, bits), bits), t.b.getF32Type());
  auto store = [&](Value tile, Value view, Value c) {
    SmallVector<Value> indices(points);
    indices.append({i, c});
    kernel::StoreOp::create(t.b, t.loc, tile, view, indices, left);
  };
  store(bitcast(t, bits, t.b.getF32Type()), f.roundedScales(), t.index(0));
  auto storeRows = [&](Value, Value c) {
    Value x = walk.load(c);
    x = walk.inside(c, x, t.constant(0, x));
    store(t.narrow(t.mul(x, factors), t.b.getF16Type()), f.roundedRows(), c);
    return Value();
  };
  if (walk.isOneStep())
    storeRows(Value(), t.index(0));
  else
    walk.overColumns(Value(), storeRows);
  return success();
}

/// Quantizes rows of heads, into temporaries or caches; codes are signed.
LogicalResult heddle::tileCacheQuantize(KernelBuilder &f) {
  TileBuilder &t = f.t;
  Operation *yield = f.def.getBody().front().getTerminator();
  auto op = yield->getOperand(0).getDefiningOp<CacheQuantizeOp>();
  if (!op)
    return f.def.emitOpError("expected a cache.quantize that is yielded");
  kernel::ViewType in = f.viewType(f.viewOf(op.getRows()));
  const int64_t rows = f.plan.getRows(), features = in.getDims().back().extent.value;
  f.createFunc({in.getDim(0).extent, in.getDim(1).extent, in.getDim(2).extent}, {1, 1, rows});
  Value b = f.func.getGridIndex(0), h = f.func.getGridIndex(1), i = f.func.getGridIndex(2);
  RowWalk walk(t, f.slice(f.view(f.viewOf(op.getRows())), {b, h}), i, t.type(rows, 16), features);
  Coder coder = bytes(t, largestOf(t, walk, rows), /*base=*/0);
  for (auto [number, result] : llvm::enumerate(yield->getOperands())) {
    Value view = f.view(f.firstResult() + number);
    Value left = t.sub(f.sizeValue(in.getDim(2).extent), i);
    Value row = f.placeOf(number, b, i, left);
    IntegerAttr ring = f.ringOf(number);
    if (result == op.getScales()) {
      kernel::StoreVectorOp::create(t.b, t.loc, coder.scales, f.slice(view, {b, h}), row, left,
                                    ring);
      continue;
    }
    walk.overColumns(Value(), [&](Value, Value c) {
      kernel::StoreOp::create(t.b, t.loc, coder.codesOf(walk.load(c)), view,
                              ValueRange{b, h, row, c}, left, ring);
      return Value();
    });
  }
  return success();
}
