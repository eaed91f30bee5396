//===- GatedBlocks.h - Gates of feed-forward blocks ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file verifies the limits of a gate and emits the hidden features, for both `ffn` and
// `experts`.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace heddle::transformer::detail {

/// Whether the attributes of a gate are more than an activation.
template <typename Op>
bool hasLimits(Op op) {
  return op.getLimitAttr() || !op.getOffset().isZero();
}

/// Constraint `name`: `limit` and `offset` are finite, and the limit is above 0.
template <typename Op>
mlir::LogicalResult verifyLimits(Op op, llvm::StringRef name) {
  if (auto limit = op.getLimitAttr();
      limit && (!limit.getValue().isFinite() || limit.getValueAsDouble() <= 0))
    return op.emitOpError(name) << ": expected a finite limit above 0, found " << limit;
  if (!op.getOffset().isFinite())
    return op.emitOpError(name) << ": expected a finite offset, found " << op.getOffsetAttr();
  return mlir::success();
}

/// As verifyLimits, and a gate that they limit.
template <typename Block>
mlir::LogicalResult verifyBlockLimits(Block op, llvm::StringRef name) {
  if (!op.getGateWeight() && hasLimits(op))
    return op.emitOpError(name) << ": expected gate_weight with limit and offset, found none";
  return verifyLimits(op, name);
}

/// The hidden features of a block. `product` makes a linear layer of the block's input.
template <typename Block>
mlir::Value hiddenFeatures(
    Block op, mlir::OpBuilder &b,
    llvm::function_ref<mlir::Value(mlir::Value weight, mlir::Value bias, Activation)> product) {
  mlir::Value gate = op.getGateWeight();
  if (!gate)
    return product(op.getInWeight(), op.getInBias(), op.getActivation());
  mlir::Value hidden = product(op.getInWeight(), op.getInBias(), Activation::None);
  const bool isLimited = hasLimits(op);
  gate = product(gate, op.getGateBias(), isLimited ? Activation::None : op.getActivation());
  if (!isLimited)
    return mlir::arith::MulFOp::create(b, op.getLoc(), gate, hidden);
  return GateOp::create(b, op.getLoc(), gate, hidden, op.getActivation(), op.getLimitAttr(),
                        op.getOffset());
}

} // namespace heddle::transformer::detail
