//===- TileNormGradient.cpp - Body of the gradient of a norm --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of the gradient of a norm, in loops over the columns of rows: for the mean, for the squares
// of the centered row, for the sums of the gradient, and for the results and the ops that follow.
// Each loop loads the rows again, so a row of any width needs no memory.

#include "RowWalk.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::ReduceKind;

namespace {
/// Rows of a norm's input and of the gradient of its result, at one grid point.
class NormGradient {
public:
  NormGradient(KernelBuilder &f, NormGradientOp op, ValueRange points, Value i)
      : f(f), t(f.t), op(op), points(points), i(i),
        size(f.viewTypeOf(op.getInput()).getDims().back().extent.value),
        input(walkOf(op.getInput())), gradient(walkOf(op.getGradient())) {}
  LogicalResult store(Value left);

private:
  RowWalk walkOf(Value operand) {
    return {t, f.slice(f.view(f.viewOf(operand)), points), i, t.type(f.plan.getRows(), 16), size};
  }
  Value inside(Value c, Value tile) { return input.inside(c, tile, t.constant(0, tile)); }
  Value centered(Value c);
  Value weighted(Value c);
  void findFactor();
  void findSums();

  KernelBuilder &f;
  TileBuilder &t;
  NormGradientOp op;
  ValueRange points;
  Value i;
  int64_t size;
  RowWalk input, gradient;
  Value mean;         ///< mean of the input; null if the norm does not center rows
  Value factor;       ///< by which the centered row is multiplied
  Value isLong;       ///< whether the length is above epsilon; null if the norm is no `length`
  Value gradientMean; ///< mean of gradient * gamma; null if the norm does not center rows
  Value coefficient;  ///< by which the normalized row enters the result
};
} // namespace

/// Columns starting at `c` of the row minus its mean, with zeros after the row.
Value NormGradient::centered(Value c) {
  Value x = input.load(c);
  return inside(c, mean ? t.sub(x, mean) : x);
}

/// The gradient times gamma, with zeros after the row.
Value NormGradient::weighted(Value c) {
  Value g = gradient.load(c);
  if (Value gamma = op.getGamma()) {
    SmallVector<Value> place{c};
    if (cast<ShapedType>(gamma.getType()).getRank() == 2) // one row per head
      place.insert(place.begin(), points[1]);
    g = t.mul(g, kernel::LoadOp::create(t.b, t.loc, t.type(1, 16), f.view(f.viewOf(gamma)), place,
                                        UnitAttr()));
  }
  return inside(c, g);
}

/// Computes the mean and the factor.
void NormGradient::findFactor() {
  const Normalization kind = op.getKind();
  if (kind == Normalization::Layer || kind == Normalization::Variance) {
    Value sum = input.reduced(ReduceKind::Add, 0, [&](Value lanes, Value c) {
      return t.add(lanes, inside(c, input.load(c)));
    });
    mean = t.mul(sum, 1.0 / static_cast<double>(size));
  }
  Value squares = input.reduced(ReduceKind::Add, 0, [&](Value lanes, Value c) {
    Value x = centered(c);
    return t.add(lanes, t.mul(x, x));
  });
  Value epsilon = t.constant(op.getEpsilon().convertToDouble(), squares), divisor;
  if (kind == Normalization::Length) {
    Value length = math::SqrtOp::create(t.b, t.loc, squares);
    isLong = t.less(epsilon, length);
    divisor = t.max(length, epsilon);
  } else {
    divisor = t.add(t.mul(squares, 1.0 / static_cast<double>(size)), epsilon);
    if (kind != Normalization::Variance)
      divisor = math::SqrtOp::create(t.b, t.loc, divisor);
  }
  factor = t.div(t.constant(1, divisor), divisor);
}

/// Computes the sums over the gradient, after the factor.
void NormGradient::findSums() {
  const Normalization kind = op.getKind();
  const double share = 1.0 / static_cast<double>(size);
  Value products; // of the gradient and the centered row
  if (mean) {
    auto [gradients, both] = input.sums([&](Value c) {
      Value g = weighted(c);
      return std::pair(g, t.mul(g, centered(c)));
    });
    gradientMean = t.mul(gradients, share);
    products = both;
  } else {
    products = input.reduced(ReduceKind::Add, 0, [&](Value lanes, Value c) {
      return t.add(lanes, t.mul(weighted(c), centered(c)));
    });
  }
  if (kind == Normalization::Variance)
    coefficient = t.mul(products, 2 * share);
  else if (kind == Normalization::Length) // the divisor of a row that is not long is constant
    coefficient = t.select(isLong, t.mul(factor, products), t.constant(0, factor));
  else
    coefficient = t.mul(t.mul(factor, products), share);
}

LogicalResult NormGradient::store(Value left) {
  findFactor();
  findSums();
  LogicalResult stored = success();
  input.overColumns(Value(), [&](Value, Value c) {
    Value x = t.mul(centered(c), factor), g = weighted(c);
    Value result = gradientMean ? t.sub(g, gradientMean) : g;
    result = t.mul(t.sub(result, t.mul(x, coefficient)), factor);
    ValueTiles tiles(f, f.plan.getRows(), 16, points, i, c);
    tiles.known[op.getResult()] = inside(c, result);
    tiles.known[op.getScaled()] = inside(c, t.mul(gradient.load(c), x));
    SmallVector<Value> indices(points), values = yieldedValues(f.def);
    indices.append({i, c});
    for (Value value : llvm::SetVector<Value>(values.begin(), values.end())) {
      FailureOr<Value> tile = tiles.of(value);
      if (failed(tile))
        stored = failure();
      else
        storeValue(f, value, *tile, indices, left);
    }
    return Value();
  });
  return stored;
}

LogicalResult heddle::tileNormGradient(KernelBuilder &f) {
  auto ops = f.def.getBody().front().getOps<NormGradientOp>();
  if (!llvm::hasSingleElement(ops))
    return f.def.emitOpError("expected one norm.gradient");
  NormGradientOp op = *ops.begin();
  kernel::ViewType in = f.viewTypeOf(op.getInput());
  const int64_t rowAxis = in.getRank() - 2;
  rowGrid(f, in, f.plan.getRows(), 0, 0, in.getDim(rowAxis).extent);
  SmallVector<Value> points;
  for (int64_t axis = 0; axis < rowAxis; ++axis)
    points.push_back(f.func.getGridIndex(axis));
  Value i = f.func.getGridIndex(rowAxis);
  Value left = f.t.sub(f.sizeValue(in.getDim(rowAxis).extent), i);
  return NormGradient(f, op, points, i).store(left);
}
