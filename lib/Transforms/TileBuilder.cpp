//===- TileBuilder.cpp - Arithmetic on tiles ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise ops, and functions that every device computes by the same operations: powers of two,
// error function, activations, logarithm.

#include "Tiling.h"

#include "heddle/Support/PowersOfTwo.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace heddle;
using kernel::BroadcastOp;

RankedTensorType TileBuilder::type(int64_t rows, int64_t cols, Type element) {
  return RankedTensorType::get({rows, cols}, element ? element : Type(b.getF32Type()));
}

Value TileBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
Value TileBuilder::i32(Value index) {
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), index);
}
Value TileBuilder::toIndex(Value i32) {
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), i32);
}

static TypedAttr splat(Type type, Attribute value) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return DenseElementsAttr::get(shaped, value);
  return cast<TypedAttr>(value);
}

Value TileBuilder::constant(double value, Value like) {
  Attribute attr = b.getF32FloatAttr(static_cast<float>(value));
  return arith::ConstantOp::create(b, loc, splat(like.getType(), attr));
}

Value TileBuilder::constantI(int64_t value, Value like) {
  Attribute attr = b.getIntegerAttr(getElementTypeOrSelf(like.getType()), value);
  return arith::ConstantOp::create(b, loc, splat(like.getType(), attr));
}

Value TileBuilder::broadcast(Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return BroadcastOp::create(b, loc, type, value);
}

/// Broadcasts two tiles to their common shape.
static std::pair<Value, Value> align(TileBuilder &t, Value x, Value y) {
  auto tx = dyn_cast<RankedTensorType>(x.getType()), ty = dyn_cast<RankedTensorType>(y.getType());
  if (!tx || !ty || tx.getShape() == ty.getShape())
    return {x, y};
  int64_t rows = std::max(tx.getDimSize(0), ty.getDimSize(0)),
          cols = std::max(tx.getDimSize(1), ty.getDimSize(1));
  return {t.broadcast(x, t.type(rows, cols, tx.getElementType())),
          t.broadcast(y, t.type(rows, cols, ty.getElementType()))};
}

static bool isInteger(Value x) { return getElementTypeOrSelf(x.getType()).isIntOrIndex(); }

template <typename Float, typename Int>
static Value binary(TileBuilder &t, Value x, Value y) {
  auto [l, r] = align(t, x, y);
  if (isInteger(l))
    return Int::create(t.b, t.loc, l, r);
  return Float::create(t.b, t.loc, l, r);
}

Value TileBuilder::add(Value x, Value y) {
  return binary<arith::AddFOp, arith::AddIOp>(*this, x, y);
}
Value TileBuilder::sub(Value x, Value y) {
  return binary<arith::SubFOp, arith::SubIOp>(*this, x, y);
}
Value TileBuilder::mul(Value x, Value y) {
  return binary<arith::MulFOp, arith::MulIOp>(*this, x, y);
}
Value TileBuilder::div(Value x, Value y) {
  return binary<arith::DivFOp, arith::DivUIOp>(*this, x, y);
}
Value TileBuilder::max(Value x, Value y) {
  return binary<arith::MaxNumFOp, arith::MaxSIOp>(*this, x, y);
}
Value TileBuilder::min(Value x, Value y) {
  return binary<arith::MinNumFOp, arith::MinSIOp>(*this, x, y);
}

Value TileBuilder::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
Value TileBuilder::round(Value x) { return math::RoundEvenOp::create(b, loc, x); }

Value TileBuilder::narrow(Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  if (element == type.getElementType())
    return x;
  return arith::TruncFOp::create(b, loc, type.clone(element), x);
}

Value TileBuilder::less(Value x, Value y) {
  auto [l, r] = align(*this, x, y);
  if (isInteger(l))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, l, r);
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, l, r);
}

Value TileBuilder::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}

Value TileBuilder::reduce(kernel::ReduceKind kind, Value x) {
  auto in = cast<RankedTensorType>(x.getType());
  return kernel::ReduceOp::create(b, loc, type(in.getDimSize(0), 1, in.getElementType()), kind, x);
}

Value TileBuilder::iota(bool rows, Value from, RankedTensorType type) {
  return kernel::IotaOp::create(b, loc, type, rows ? b.getUnitAttr() : UnitAttr(), from);
}

Value TileBuilder::fold(Value first, Value end, Value initial, Combine combine, Next next,
                        int64_t step) {
  auto loop = scf::ForOp::create(b, loc, first, end, index(step), ValueRange{initial});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value so = loop.getRegionIterArg(0);
  scf::YieldOp::create(b, loc, combine(so, next(loop.getInductionVar())));
  return loop.getResult(0);
}

Value TileBuilder::foldMany(Value first, Value end, Value initial, Combine combine, Next next) {
  constexpr int64_t round = 16;
  Value rounds = div(max(sub(end, first), index(0)), index(round));
  Value rest = add(first, mul(rounds, index(round)));
  auto nextRound = [&](Value at) {
    Value rows = next(at);
    for (int64_t n = 1; n < round; ++n) {
      Value row = next(add(at, index(n)));
      rows = combine(rows, row);
    }
    return rows;
  };
  Value most = fold(first, rest, initial, combine, nextRound, round);
  return combine(most, fold(rest, end, initial, combine, next));
}

Value TileBuilder::sum(Value first, Value end, RankedTensorType type, Next next) {
  Value none = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, 0.0f));
  return fold(first, end, none, [&](Value x, Value y) { return add(x, y); }, next);
}

Value TileBuilder::sumOfMany(Value first, Value end, RankedTensorType type, Next next) {
  Value none = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, 0.0f));
  return foldMany(first, end, none, [&](Value x, Value y) { return add(x, y); }, next);
}

Value TileBuilder::chainOfMany(Value first, Value end, RankedTensorType type, Next next) {
  constexpr int64_t round = 16; // keeps loops short, as in foldMany
  Value none = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, 0.0f));
  Value rest = add(first, mul(div(max(sub(end, first), index(0)), index(round)), index(round)));
  auto addRound = [&](Value sum, Value at) {
    for (int64_t n = 0; n < round; ++n)
      sum = add(sum, next(add(at, index(n))));
    return sum;
  };
  Value most = fold(first, rest, none, addRound, [](Value at) { return at; }, round);
  return fold(rest, end, most, [&](Value x, Value y) { return add(x, y); }, next);
}

//===- Powers of two -----------------------------------------------------===//

Value TileBuilder::exp2Fraction(Value f, Accuracy accuracy) {
  ArrayRef<float> coefficients = exp2Fine;
  if (accuracy == Accuracy::EightBits)
    coefficients = exp2Coarse;
  Value p = constant(coefficients.front(), f);
  for (float c : coefficients.drop_front())
    p = fma(p, f, constant(c, f));
  return p;
}

Value TileBuilder::scaleb(Value x, Value n) {
  auto [value, exponent] = align(*this, x, n);
  return kernel::ScalebOp::create(b, loc, value.getType(), value, exponent);
}

Value TileBuilder::exp2Integer(Value d) { return scaleb(constant(1, d), d); }

Value TileBuilder::exp2(Value x) {
  // NaN passes through the polynomial; the exponent is computed from clamped numbers only.
  Value clamped = min(max(x, constant(-126, x)), constant(126, x));
  Value n = round(clamped);
  Value whole = scaleb(exp2Fraction(sub(clamped, n)), n);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  return select(isNan, x, whole);
}

//===- Activations -------------------------------------------------------===//

/// erf by a minimax quotient of polynomials of degree 5 in x^2 on |x| <= 3.9; beyond, erf is 1 in
/// f32. The absolute error is 1.5e-8, or 3e-7 with the rounding of the steps.
Value TileBuilder::erf(Value x) {
  Value square = mul(x, x);
  auto polynomial = [&](std::initializer_list<double> coefficients) {
    Value sum;
    for (double c : coefficients)
      sum = sum ? fma(sum, square, constant(c, x)) : constant(c, x);
    return sum;
  };
  Value numerator = polynomial(
      {2.05038771e-06, 0.000287457395, 0.00383687873, 0.0529669262, 0.191941054, 1.12837903});
  Value denominator =
      polynomial({3.82307546e-05, 0.00118173524, 0.0151092093, 0.114758222, 0.503435108, 1.0});
  Value inside = div(mul(x, numerator), denominator);
  Value end = constant(3.9, x), one = constant(1, x), start = constant(-3.9, x);
  return select(less(end, x), one, select(less(x, start), constant(-1, x), inside));
}

/// x / (1 + 2^(-argument·log2 e)): silu, and the sigmoid forms of gelu.
static Value logisticGate(TileBuilder &t, Value x, Value argument) {
  Value e = t.exp2(t.mul(argument, -log2e));
  return t.div(x, t.add(t.constant(1, x), e));
}

/// min(max(0, x), 6) that keeps NaN.
static Value relu6(TileBuilder &t, Value x) {
  Value zero = t.constant(0, x), six = t.constant(6, x);
  Value positive = t.select(t.less(x, zero), zero, x);
  return t.select(t.less(six, x), six, positive);
}

/// x * tanh(log(1 + e^x)). With n = e^x the tangent is (n^2 + 2n) / (n^2 + 2n + 2). For x >= 0 both
/// sides are divided by n^2, so that nothing overflows.
static Value mish(TileBuilder &t, Value x) {
  Value isNegative = t.less(x, t.constant(0, x));
  Value e = t.exp(t.select(isNegative, x, t.mul(x, -1)));
  Value two = t.constant(2, x), twice = t.mul(e, 2), square = t.mul(e, e);
  Value above = t.add(twice, t.select(isNegative, square, t.constant(1, x)));
  Value below = t.add(above, t.select(isNegative, two, t.mul(square, 2)));
  return t.mul(x, t.div(above, below));
}

/// gelu to eight bits: x times the normal distribution, as 1/2 plus a minimax odd polynomial of
/// degree 13 on |x| <= 4. Above 4 the distribution is 1 to eight bits; below -4 the result is
/// gelu(-4). The absolute error is 1.9e-4. There is no division, and NaN is kept.
Value TileBuilder::coarseGelu(Value x) {
  Value low = constant(-4, x), high = constant(4, x);
  x = select(less(x, low), low, x);
  Value inside = select(less(high, x), high, x), square = mul(inside, inside);
  Value p = constant(2.2781492248213908e-08, x);
  for (double c : {-1.5986048538252362e-06, 4.7955567424651235e-05, -0.0008140159188769758,
                   0.008772389963269234, -0.06457311660051346, 0.3978833556175232})
    p = fma(p, square, constant(c, x));
  return mul(x, fma(inside, p, constant(0.5, x)));
}

Value TileBuilder::activation(transformer::Activation kind, Value x, Accuracy accuracy) {
  using transformer::Activation;
  switch (kind) {
  case Activation::None:
    return x;
  case Activation::Relu: {
    // max(x, 0) that keeps NaN
    return select(less(x, constant(0, x)), constant(0, x), x);
  }
  case Activation::Gelu:
    if (accuracy == Accuracy::EightBits)
      return coarseGelu(x);
    return mul(mul(x, 0.5), add(constant(1, x), erf(mul(x, 0.7071067811865476))));
  case Activation::GeluTanh: {
    // 0.5·x·(1 + tanh(u)) = x·logistic(2u), u = sqrt(2/pi)·(x + 0.044715·x^3)
    Value cube = mul(mul(x, x), x);
    Value inner = fma(constant(0.044715, x), cube, x);
    return logisticGate(*this, x, mul(inner, 1.5957691216057308));
  }
  case Activation::QuickGelu:
    return logisticGate(*this, x, mul(x, 1.702));
  case Activation::Silu:
    return logisticGate(*this, x, x);
  case Activation::Tanh:
    return tanh(x);
  case Activation::Sigmoid:
    return logisticGate(*this, constant(1, x), x);
  case Activation::Relu2: {
    Value positive = select(less(x, constant(0, x)), constant(0, x), x);
    return mul(positive, positive);
  }
  case Activation::Relu6:
    return relu6(*this, x);
  case Activation::HardSwish:
    return mul(x, mul(relu6(*this, add(x, constant(3, x))), 1.0 / 6));
  case Activation::Mish:
    return mish(*this, x);
  }
  llvm_unreachable("unknown activation");
}

//===- Logarithm, hyperbolic tangent -------------------------------------===//

/// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log2 m by the series of the inverse hyperbolic tangent
/// of s = (m - 1) / (m + 1), |s| < 0.172.
Value TileBuilder::log2(Value x) {
  Type integer = b.getI32Type();
  if (auto shaped = dyn_cast<RankedTensorType>(x.getType()))
    integer = shaped.clone(integer);
  Value pattern = arith::BitcastOp::create(b, loc, integer, x);
  // Moves the boundary between exponents from 1 to sqrt(2).
  Value moved = arith::SubIOp::create(b, loc, pattern, constantI(0x3f3504f3, pattern));
  Value e = arith::ShRSIOp::create(b, loc, moved, constantI(23, moved));
  Value mantissa =
      arith::SubIOp::create(b, loc, pattern, arith::ShLIOp::create(b, loc, e, constantI(23, e)));
  Value m = arith::BitcastOp::create(b, loc, x.getType(), mantissa), one = constant(1, x);
  Value s = div(sub(m, one), add(m, one)), square = mul(s, s);
  Value p = constant(0.32059889797, s);
  for (double c : {0.41219858311, 0.57707801635, 0.96179669392, 2.88539008178})
    p = fma(p, square, constant(c, s));
  Value whole = arith::SIToFPOp::create(b, loc, x.getType(), e);
  return fma(p, s, whole);
}

Value TileBuilder::exp(Value x) { return exp2(mul(x, log2e)); }

Value TileBuilder::log(Value x) {
  auto compare = [&](arith::CmpFPredicate predicate, Value y) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  };
  Value zero = constant(0, x), largest = constant(0x1.fffffep+127, x);
  Value result = mul(log2(x), ln2);
  // Infinity and NaN are their own logarithms; 0 / 0 is NaN, -1 / 0 is minus infinity.
  result = select(compare(arith::CmpFPredicate::ULE, largest), result, x);
  result = select(compare(arith::CmpFPredicate::OEQ, zero), div(constant(-1, x), zero), result);
  return select(compare(arith::CmpFPredicate::OLT, zero), div(zero, zero), result);
}

/// An odd polynomial near 0, elsewhere 1 - 2 / (e^2|x| + 1) with the sign of x. The coefficients
/// are from Cephes' tanhf.
Value TileBuilder::tanh(Value x) {
  Value zero = constant(0, x), one = constant(1, x), negative = sub(zero, x),
        magnitude = max(x, negative);
  Value square = mul(x, x), p = constant(-5.70498872745e-3, x);
  for (double c : {2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1})
    p = fma(p, square, constant(c, x));
  Value near = fma(mul(p, square), x, x);
  Value far = sub(one, div(constant(2, x), add(exp2(mul(magnitude, 2 * log2e)), one)));
  far = select(less(x, zero), sub(zero, far), far);
  Value result = select(less(magnitude, constant(0.625, x)), near, far);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  return select(isNan, x, result);
}

void heddle::expandFunctions(kernel::FuncOp func) {
  OpBuilder b(func);
  func.walk([&](Operation *op) {
    if (!isa<math::ExpOp, math::LogOp>(op))
      return;
    b.setInsertionPoint(op);
    TileBuilder t(b, op->getLoc());
    op->getResult(0).replaceAllUsesWith(isa<math::ExpOp>(op) ? t.exp(op->getOperand(0))
                                                             : t.log(op->getOperand(0)));
    op->erase();
  });
}

void heddle::hoistScalars(kernel::FuncOp func) {
  // Tiles are not hoisted, because outside of the loop they would need memory.
  auto isScalar = [](Operation *op) {
    return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
           llvm::none_of(op->getResultTypes(),
                         [](Type type) { return isa<RankedTensorType>(type); });
  };
  func.walk([&](scf::ForOp loop) { // inner loops first
    mlir::moveLoopInvariantCode(
        loop.getLoopRegions(),
        [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
        [&](Operation *op, Region *) { return isScalar(op); },
        [&](Operation *op, Region *) { op->moveBefore(loop); });
  });
}
