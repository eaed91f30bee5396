//===- GpuScores.cpp - Ops on scores in few instructions ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits ops on attention scores in fewer instructions than op by op: powers of two,
// lower bounds of whole rows, and the sums that merge chunks.
#include "GpuEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

/// Reductions compare only finite scores, so neither operand is NaN.
Value GpuEmitter::larger(Value a, Value b) {
  auto finite = arith::FastMathFlagsAttr::get(builder.getContext(), arith::FastMathFlags::nnan);
  return arith::MaxNumFOp::create(builder, loc, a, b, finite);
}

/// Computes 2 * x * 2^(n - 1). A fused multiply-add of exact numbers yields the bits of the power,
/// which are 0 for n = -126. This takes fewer instructions than a comparison and a selection.
Value GpuEmitter::scaleByPower(Value x, Value n) {
  auto floats = [&](float value) -> Value {
    auto vector = dyn_cast<VectorType>(n.getType());
    return arith::ConstantOp::create(builder, loc,
                                     vector ? TypedAttr(DenseElementsAttr::get(vector, value))
                                            : TypedAttr(builder.getF32FloatAttr(value)));
  };
  if (Value scaled = isa<VectorType>(n.getType()) ? mapping->scaleWeight(x, n) : Value())
    return scaled;
  constexpr float unit = 0x1p+23f; // lowest bit of an exponent
  Value bits = fma(larger(n, floats(-126.0f)), floats(unit), floats(126.0f * unit));
  bits =
      arith::FPToSIOp::create(builder, loc, withElement(n.getType(), builder.getI32Type()), bits);
  return mulf(addf(x, x), asFloats(bits));
}

std::optional<float> GpuScores::floorOf(Operation &op) const {
  auto choice = dyn_cast<arith::SelectOp>(op);
  auto compare = choice ? choice.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  DenseElementsAttr floor;
  auto tile = choice ? dyn_cast<RankedTensorType>(choice.getType()) : nullptr;
  if (!e.mapping->branchesOnRareValues() || !tile || tile.getDimSize(1) == 1 || !compare ||
      compare.getPredicate() != arith::CmpFPredicate::OLT ||
      compare.getLhs() != choice.getFalseValue() || compare.getRhs() != choice.getTrueValue() ||
      !matchPattern(choice.getTrueValue(), m_Constant(&floor)) || !floor.isSplat())
    return std::nullopt;
  return floor.getSplatValue<float>();
}

/// Compares the minimum of all numbers first, which takes one instruction for two numbers.
LogicalResult GpuScores::emitFloor(arith::SelectOp op, float floor) {
  FailureOr<kernel::Fragment> tile = e.use(op.getFalseValue());
  if (failed(tile))
    return failure();
  kernel::Fragment result = *tile;
  Value floors =
      arith::ConstantOp::create(e.builder, e.loc, DenseElementsAttr::get(e.vec4Type(), floor));
  auto finite = arith::FastMathFlagsAttr::get(e.builder.getContext(), arith::FastMathFlags::nnan);
  Value least;
  for (Value four : result.registers)
    for (int64_t lane = 0; lane < e.width; ++lane) {
      Value x = e.extract(four, lane);
      least = least ? arith::MinNumFOp::create(e.builder, e.loc, least, x, finite).getResult() : x;
    }
  Value isLow = arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OLT, least,
                                      e.extract(floors, 0));
  e.replaceIf(isLow, result.registers, [&](MutableArrayRef<Value> replaced) {
    for (Value &x : replaced)
      x = e.select(arith::CmpFOp::create(e.builder, e.loc, arith::CmpFPredicate::OLT, x, floors),
                   floors, x);
  });
  e.fragments[op.getResult()] = std::move(result);
  return success();
}

/// Chunks are merged with powers of two as factors. Their products are exact unless denormal, so a
/// fused multiply-add yields the same sum. It matters for short chunks, whose merge takes as long
/// as the products with three keys. Matrix units have no fused multiply-add of elements.
arith::MulFOp GpuScores::exactProductOf(Operation &op) const {
  auto sum = dyn_cast<arith::AddFOp>(op);
  if (!sum || !e.mapping->fusesExactProducts() || !GpuEmitter::isTile(sum.getType()))
    return {};
  auto product = sum.getLhs().getDefiningOp<arith::MulFOp>();
  if (!product || !product->hasOneUse())
    return {};
  Value factor = product.getRhs();
  if (auto broadcast = factor.getDefiningOp<kernel::BroadcastOp>())
    factor = broadcast.getOperand();
  auto power = factor.getDefiningOp<kernel::ScalebOp>();
  DenseElementsAttr one;
  const bool isPower = power && matchPattern(power.getValue(), m_Constant(&one)) && one.isSplat() &&
                       one.getSplatValue<float>() == 1.0f;
  return isPower ? product : arith::MulFOp();
}

LogicalResult GpuScores::emitFused(arith::AddFOp op, arith::MulFOp product) {
  FailureOr<kernel::Fragment> x = e.use(product.getLhs()), y = e.use(product.getRhs()),
                              z = e.use(op.getRhs());
  if (failed(x) || failed(y) || failed(z))
    return failure();
  kernel::Fragment result = *z;
  for (auto [a, b, c] : llvm::zip(x->registers, y->registers, result.registers))
    c = e.fma(a, b, c);
  e.fragments[op.getResult()] = std::move(result);
  return success();
}

std::optional<LogicalResult> GpuScores::emit(Operation &op) {
  if (std::optional<float> floor = floorOf(op))
    return emitFloor(cast<arith::SelectOp>(op), *floor);
  if (arith::MulFOp product = exactProductOf(op))
    return emitFused(cast<arith::AddFOp>(op), product);
  return std::nullopt;
}

} // namespace heddle
