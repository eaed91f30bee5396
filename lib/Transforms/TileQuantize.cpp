//===- TileQuantize.cpp - Rows with scales, and their sums as numbers -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   quantize   m = the largest magnitude of a row; codes 128 + rint(x * (127 / m)), scales m / 127
//   linear     (f32(sum - 128 * sum of the weight's codes) * row's scale) * column's scale
//
//   of f16     codes f16(x * 2^-e), scales 2^e, e the exponent of m;  sum * row's scale
//
// Codes of i8 are stored as bytes of 128 + code, because the instruction that
// multiplies four bytes and adds wants one side without signs; the sum of what
// the 128 add is known of each row of a weight. Devices need not know infinities
// and NaN in arithmetic: magnitudes are compared as integers, and a row that has
// one of 2^127 or more counts as if it were that.
//
// Of f16 the limit below which a row counts as zeros is such that denormals of
// f32, which not all devices keep, round to zero in the rows above it; powers of
// two are made of their bits.

#include "RowWalk.h"

#include "heddle/Dialect/ElementFormats.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::LoadOp;

static constexpr double smallest = 0x1p-118, smallestHalf = 0x1p-101, beyond = 0x1p+127;
static constexpr int32_t magnitudeBits = 0x7fffffff, exponentBits = 0x7f800000,
                         beyondBits = 0x7f000000, nanBits = 0x7fc00000;
static constexpr int64_t codeBase = 128, mostCode = 127;

static Value bitcast(TileBuilder &t, Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  return arith::BitcastOp::create(t.b, t.loc, type.clone(element), x);
}

/// The largest magnitude of each row, 2^127 in place of larger ones and of what is no number: those
/// are the largest integers.
static Value largestOf(TileBuilder &t, RowWalk &walk, int64_t rows) {
  RankedTensorType type = t.type(rows, 16, t.b.getI32Type());
  Value start = arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, int32_t{0}));
  scf::ForOp loop = walk.overColumns(start, [&](Value lanes, Value c) {
    Value x = walk.load(c);
    Value bits = bitcast(t, walk.inside(c, x, t.constant(0, x)), t.b.getI32Type());
    return t.max(lanes, arith::AndIOp::create(t.b, t.loc, bits, t.constantI(magnitudeBits, bits)));
  });
  Value bits = loop.getResult(0), x = bitcast(t, bits, t.b.getF32Type());
  Value usual = t.less(bits, t.constantI(beyondBits, bits));
  return t.reduce(kernel::ReduceKind::Max, t.select(usual, x, t.constant(beyond, x)));
}

/// `scale` of rows: 0 where nothing is as large as `least`, NaN where something is too large.
static Value scalesOf(TileBuilder &t, Value largest, double least, Value scale) {
  Value none = t.less(largest, t.constant(least, largest));
  scale = t.select(none, t.constant(0, largest), scale);
  Value usual = t.less(largest, t.constant(beyond, largest));
  Value bits = bitcast(t, scale, t.b.getI32Type());
  bits = t.select(usual, bits, t.constantI(nanBits, bits));
  return bitcast(t, bits, t.b.getF32Type());
}

/// What a row is multiplied by: 127 over its largest magnitude, or 0.
static Value factorsOf(TileBuilder &t, Value largest) {
  Value divisor = t.max(largest, t.constant(smallest, largest));
  Value factor = t.div(t.constant(mostCode, divisor), divisor);
  Value none = t.less(largest, t.constant(smallest, largest));
  return t.select(none, t.constant(0, factor), factor);
}

/// The codes of a tile. A float of this size has no bits for a fraction: the sum is rounded to an
/// integer, ties to even, whose low bits are the code.
static Value codesOf(TileBuilder &t, Value x, Value factors) {
  constexpr double unit = 0x1.8p23 + codeBase;
  Value product = t.mul(x, factors);
  Value sum = bitcast(t, t.add(product, t.constant(unit, product)), t.b.getI32Type());
  auto type = cast<RankedTensorType>(x.getType());
  return arith::TruncIOp::create(t.b, t.loc, type.clone(t.b.getI8Type()), sum);
}

namespace {
/// How rows become codes of a type, once their largest magnitudes are known.
struct Coder {
  Value scales;
  std::function<Value(Value)> codesOf; ///< of a tile of columns
};
} // namespace

static Coder bytes(TileBuilder &t, Value largest) {
  Value scale = t.div(largest, t.constant(mostCode, largest));
  Value factors = factorsOf(t, largest);
  return {scalesOf(t, largest, smallest, scale),
          [&t, factors](Value x) { return codesOf(t, x, factors); }};
}

/// The power of two of a row's largest magnitude has its bits of the exponent, the inverse those
/// that make up 254 with them. A row of no usual number has codes 0.
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

LogicalResult heddle::tileQuantize(KernelBuilder &f) {
  TileBuilder &t = f.t;
  Operation *yield = f.def.getBody().front().getTerminator();
  auto op = yield->getOperand(0).getDefiningOp<QuantizeOp>();
  if (!op)
    return f.def.emitOpError("expected a quantize that is yielded");
  kernel::ViewType in = f.viewType(f.viewOf(op.getInput()));
  int64_t rows = f.sizes.softmaxRows;
  kernel::Size extent = in.getDim(0).extent;
  f.createFunc({extent}, {rows});
  Value i = f.func.getGridIndex(0), left = t.sub(f.sizeValue(extent), i);
  RowWalk walk(t, f.view(f.viewOf(op.getInput())), i, t.type(rows, 16),
               in.getDims().back().extent.value);
  Value largest = largestOf(t, walk, rows);
  bool asHalves = formatOf(op.getCodes().getType()).isFloat();
  Coder coder = asHalves ? halves(t, largest) : bytes(t, largest);
  for (auto [number, result] : llvm::enumerate(yield->getOperands())) {
    Value view = f.view(f.firstResult() + number);
    auto store = [&](Value tile, Value c) {
      kernel::StoreOp::create(t.b, t.loc, tile, view, ValueRange{i, c}, left);
    };
    if (result == op.getScales())
      store(coder.scales, t.index(0));
    else
      walk.overColumns(Value(), [&](Value, Value c) {
        Value x = walk.load(c);
        // A product reads one feature behind an odd number of them: bytes there meet zeros in the
        // weight, but a NaN would count.
        store(coder.codesOf(asHalves ? walk.inside(c, x, t.constant(0, x)) : x), c);
        return Value();
      });
  }
  return success();
}

Value heddle::tileProduct(ValueTiles &tiles, LinearOp linear) {
  TileBuilder &t = tiles.t;
  RankedTensorType tile = t.type(tiles.rows, tiles.columns);
  int64_t rows = tile.getDimSize(0), columns = tile.getDimSize(1);
  const NumberFormat &format = linear.getFormat();
  Value sums =
      kernel::ContractOp::create(t.b, t.loc, tile.clone(mlirTypeOf(format.sums, t.b.getContext())),
                                 tiles.matrix(linear.getInput()), tiles.i,
                                 tiles.f.view(tiles.f.viewOf(linear.getWeight())), tiles.j);
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
    return LoadOp::create(t.b, t.loc, t.type(1, columns), known, ValueRange{t.index(row), tiles.j},
                          UnitAttr());
  };
  Value codes = ofWeight(1);
  Value base = arith::FPToSIOp::create(t.b, t.loc, t.type(1, columns, t.b.getI32Type()), codes);
  base = t.mul(base, t.constantI(codeBase, base));
  Value sum = t.sub(sums, base);
  sum = arith::SIToFPOp::create(t.b, t.loc, tile, sum);
  sum = t.mul(sum, ofRow());
  return t.mul(sum, ofWeight(0));
}
