//===- TileActivations.cpp - Tiles of activations and their gradients -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations, and products of a gradient and the derivative of an activation. The derivatives of
// functions of exp clamp their input where they are constant in f32, so that nothing overflows.

#include "Tilers.h"

#include <numbers>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

//===- Derivatives -------------------------------------------------------===//

namespace {
/// Derivatives at the elements of the tile `x`.
class Derivatives {
public:
  Derivatives(TileBuilder &t, Value x) : t(t), x(x) {}
  /// Derivative of an activation with the input x.
  Value of(Activation kind);
  /// Derivative of an activation with the result x.
  Value ofResult(Activation kind);

private:
  Value number(double value) { return t.constant(value, x); }
  Value compare(arith::CmpFPredicate predicate, double bound) {
    return arith::CmpFOp::create(t.b, t.loc, predicate, x, number(bound));
  }
  void clamp(double bound);
  Value gate(Value argument, Value product);
  Value gelu();
  Value hardSwish();
  Value mish();

  TileBuilder &t;
  Value x;
};
} // namespace

/// Limits x to [-bound, bound]. NaN is unchanged.
void Derivatives::clamp(double bound) {
  x = t.select(compare(arith::CmpFPredicate::OLT, -bound), number(-bound), x);
  x = t.select(compare(arith::CmpFPredicate::OGT, bound), number(bound), x);
}

/// Derivative of x * s, where s is the sigmoid of `argument`, and `product` is x times the
/// derivative of `argument`: s + product * s * (1 - s). With e = exp(-argument), 1 - s = e * s.
Value Derivatives::gate(Value argument, Value product) {
  Value e = t.exp2(t.mul(argument, -log2e)), one = number(1), s = t.div(one, t.add(one, e));
  return t.mul(s, t.fma(product, t.mul(e, s), one));
}

/// The normal distribution plus x times its density.
Value Derivatives::gelu() {
  clamp(20);
  Value distribution = t.mul(t.add(number(1), t.erf(t.mul(x, 1 / std::numbers::sqrt2))), 0.5);
  constexpr double atZero = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  Value density = t.mul(t.exp(t.mul(t.mul(x, x), -0.5)), atZero);
  return t.fma(x, density, distribution);
}

Value Derivatives::hardSwish() {
  Value inside = t.mul(t.add(t.mul(x, 2), number(3)), 1.0 / 6);
  inside = t.select(compare(arith::CmpFPredicate::OGE, 3), number(1), inside);
  return t.select(compare(arith::CmpFPredicate::OLE, -3), number(0), inside);
}

/// With n = e^x and d = n^2 + 2n + 2, the derivative is (n^2 + 2n) / d + 4x * n * (n + 1) / d^2.
/// For x >= 0 the quotients are reduced by powers of n, so that nothing overflows.
Value Derivatives::mish() {
  clamp(100);
  Value isNegative = t.less(x, number(0)), one = number(1), two = number(2);
  Value e = t.exp(t.select(isNegative, x, t.mul(x, -1))), square = t.mul(e, e);
  Value above = t.add(t.mul(e, 2), t.select(isNegative, square, one));
  Value below = t.add(above, t.select(isNegative, two, t.mul(square, 2)));
  Value rest = t.mul(t.mul(t.select(isNegative, e, square), t.add(e, one)), 4);
  Value quotient = t.div(t.mul(x, rest), t.mul(below, below));
  return t.add(t.div(above, below), quotient);
}

Value Derivatives::of(Activation kind) {
  switch (kind) {
  case Activation::None:
    return number(1);
  case Activation::Relu:
    return t.select(compare(arith::CmpFPredicate::OGT, 0), number(1), number(0));
  case Activation::Gelu:
    return gelu();
  case Activation::GeluTanh: {
    // x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 * x^3)
    clamp(10);
    Value cubic = t.mul(t.mul(x, x), 0.044715), factor = number(1.5957691216057308);
    Value argument = t.mul(t.mul(x, factor), t.add(cubic, number(1)));
    return gate(argument, t.mul(t.mul(x, factor), t.add(t.mul(cubic, 3), number(1))));
  }
  case Activation::QuickGelu: {
    clamp(100);
    Value argument = t.mul(x, 1.702);
    return gate(argument, argument);
  }
  case Activation::Silu:
    clamp(100);
    return gate(x, x);
  case Activation::Tanh:
    x = t.tanh(x);
    return ofResult(kind);
  case Activation::Sigmoid: {
    Value e = t.exp2(t.mul(x, -log2e)), s = t.div(number(1), t.add(number(1), e));
    return t.mul(s, t.mul(e, s));
  }
  case Activation::Relu2:
    return t.select(compare(arith::CmpFPredicate::OGT, 0), t.mul(x, 2), number(0));
  case Activation::Relu6: {
    Value inside = arith::AndIOp::create(t.b, t.loc, compare(arith::CmpFPredicate::OGT, 0),
                                         compare(arith::CmpFPredicate::OLT, 6));
    return t.select(inside, number(1), number(0));
  }
  case Activation::HardSwish:
    return hardSwish();
  case Activation::Mish:
    return mish();
  }
  llvm_unreachable("unknown activation");
}

Value Derivatives::ofResult(Activation kind) {
  switch (kind) {
  case Activation::Tanh: // 1 - x^2
    return t.mul(t.sub(number(1), x), t.add(number(1), x));
  case Activation::Sigmoid:
    return t.mul(x, t.sub(number(1), x));
  default: // the result is in the same interval as the input
    return of(kind);
  }
}

//===- Models ------------------------------------------------------------===//

namespace {
struct ActivationModel : ElementModel<ActivationModel, ActivationOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<ActivationOp>(operation);
    FailureOr<Value> x = tiles.of(op.getInput());
    if (failed(x))
      return failure();
    return tiles.t.activation(op.getActivation(), *x, TileBuilder::Accuracy::F32);
  }
  StringRef getNameWord(Operation *op) const {
    return stringifyActivation(cast<ActivationOp>(op).getActivation());
  }
};

/// Tiles of the operands of a gate or its gradient, and the operands within its limits.
template <typename Op>
struct LimitedGate {
  LimitedGate(TileBuilder &t, Op op, Value gate, Value input)
      : t(t), op(op), gate(gate), input(input) {
    if (!op.getLimit())
      return;
    const double limit = op.getLimit()->convertToDouble();
    Value high = t.constant(limit, gate), low = t.constant(-limit, gate);
    gateBeyond = {t.less(high, gate)};
    inputBeyond = {t.less(high, input), t.less(input, low)};
    this->gate = t.select(gateBeyond[0], high, gate);
    this->input = t.select(inputBeyond[1], low, t.select(inputBeyond[0], high, input));
  }
  /// The limited input plus the offset.
  Value factor() {
    if (op.getOffset().isZero())
      return input;
    return t.add(input, t.constant(op.getOffset().convertToDouble(), input));
  }

  TileBuilder &t;
  Op op;
  Value gate, input;
  SmallVector<Value> gateBeyond, inputBeyond; ///< masks of the elements that the limit changes
};

/// activation(min(gate, limit)) * (max(-limit, min(input, limit)) + offset), which keeps NaN.
struct GateModel : ElementModel<GateModel, GateOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<GateOp>(operation);
    FailureOr<std::pair<Value, Value>> both = tilesOfOperands(op, tiles);
    if (failed(both))
      return failure();
    TileBuilder &t = tiles.t;
    LimitedGate<GateOp> limited(t, op, both->first, both->second);
    return t.mul(t.activation(op.getActivation(), limited.gate, TileBuilder::Accuracy::F32),
                 limited.factor());
  }
  StringRef getNameWord(Operation *) const { return "gate"; }
};

/// log(1 + e^x), which does not overflow.
static Value softplus(TileBuilder &t, Value x) {
  Value zero = t.constant(0, x), isNegative = t.less(x, zero);
  Value magnitude = t.select(isNegative, x, t.mul(x, -1));
  Value rest = t.log(t.add(t.constant(1, x), t.exp(magnitude)));
  return t.add(t.select(isNegative, zero, x), rest);
}

/// e^x - 1 - x for x <= 0: a series near 0, where the difference would cancel.
static Value expBeyondLine(TileBuilder &t, Value x) {
  Value p = t.constant(1.0 / 40320, x);
  for (double c : {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2})
    p = t.fma(p, x, t.constant(c, x));
  Value near = t.mul(t.mul(x, x), p), far = t.sub(t.sub(t.exp(x), t.constant(1, x)), x);
  return t.select(t.less(x, t.constant(-0.5, x)), far, near);
}

/// Slopes are read as numbers and repeated.
struct XieluModel : ElementModel<XieluModel, XieluOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<XieluOp>(operation);
    FailureOr<Value> tile = tiles.of(op.getInput());
    if (failed(tile))
      return failure();
    TileBuilder &t = tiles.t;
    Value x = *tile, slopes = tiles.f.view(tiles.f.viewOf(op.getSlopes()));
    auto slope = [&](int64_t side) {
      Value number = kernel::ReadOp::create(t.b, t.loc, slopes, ValueRange{t.index(side)});
      return softplus(t, t.broadcast(number, cast<RankedTensorType>(x.getType())));
    };
    Value zero = t.constant(0, x), end = t.constant(-1e-6, x), half = t.mul(x, 0.5);
    Value least = t.select(t.less(end, x), end, x); // NaN is kept
    Value above = t.fma(t.mul(slope(0), x), x, half);
    Value line = t.add(expBeyondLine(t, least), t.sub(least, x));
    Value below = t.fma(t.add(slope(1), t.constant(0.5, x)), line, half);
    return t.select(t.less(zero, x), above, below);
  }
  StringRef getNameWord(Operation *) const { return "xielu"; }
};

struct ActivationGradientModel : ElementModel<ActivationGradientModel, ActivationGradientOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<ActivationGradientOp>(operation);
    FailureOr<std::pair<Value, Value>> both = tilesOfOperands(op, tiles);
    if (failed(both))
      return failure();
    auto [gradient, input] = *both;
    Derivatives derivatives(tiles.t, input);
    return tiles.t.mul(gradient, op.getOfResult() ? derivatives.ofResult(op.getActivation())
                                                  : derivatives.of(op.getActivation()));
  }
  StringRef getNameWord(Operation *) const { return "activation_gradient"; }
};

struct GateGradientModel : ElementModel<GateGradientModel, GateGradientOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<GateGradientOp>(operation);
    FailureOr<Value> gradient = tiles.of(op.getGradient()), gate = tiles.of(op.getGate()),
                     input = tiles.of(op.getInput());
    if (failed(gradient) || failed(gate) || failed(input))
      return failure();
    TileBuilder &t = tiles.t;
    LimitedGate<GateGradientOp> limited(t, op, *gate, *input);
    Value slope = op.getOfGate()
                      ? t.mul(Derivatives(t, limited.gate).of(op.getActivation()), limited.factor())
                      : t.activation(op.getActivation(), limited.gate, TileBuilder::Accuracy::F32);
    Value result = t.mul(*gradient, slope);
    for (Value isBeyond : op.getOfGate() ? limited.gateBeyond : limited.inputBeyond)
      result = t.select(isBeyond, t.constant(0, result), result);
    return result;
  }
  StringRef getNameWord(Operation *) const { return "gate_gradient"; }
};

/// 1 - (y / cap)^2 for the result y of a softcap, as a product that is exact near the cap.
struct SoftcapGradientModel : ElementModel<SoftcapGradientModel, SoftcapGradientOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<SoftcapGradientOp>(operation);
    FailureOr<std::pair<Value, Value>> both = tilesOfOperands(op, tiles);
    if (failed(both))
      return failure();
    auto [gradient, capped] = *both;
    TileBuilder &t = tiles.t;
    Value quotient = t.div(capped, t.constant(op.getCap().convertToDouble(), capped));
    return t.mul(gradient, Derivatives(t, quotient).ofResult(Activation::Tanh));
  }
  StringRef getNameWord(Operation *) const { return "softcap_gradient"; }
};
} // namespace

void heddle::attachActivationTilers(MLIRContext *context) {
  ActivationOp::attachInterface<ActivationModel>(*context);
  GateOp::attachInterface<GateModel>(*context);
  XieluOp::attachInterface<XieluModel>(*context);
  ActivationGradientOp::attachInterface<ActivationGradientModel>(*context);
  GateGradientOp::attachInterface<GateGradientModel>(*context);
  SoftcapGradientOp::attachInterface<SoftcapGradientModel>(*context);
}
