//===- AttentionRules.h - Constraints of masks and rules --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks shared by attention, attention.statistics and attention.weights.
#pragma once

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h"

#include "mlir/IR/Operation.h"

namespace heddle::transformer {

/// Sizes of the scores; dynamic if no operand has a static size.
struct RuleSizes {
  int64_t batch, heads, queries, keys;
};

/// C20: keys or values that are codes have scales, others have none.
llvm::LogicalResult verifyKept(mlir::Operation *op, llvm::StringRef name, mlir::Value kept,
                               mlir::Value scales, mlir::Value mask);
/// C10, C12 to C17 and C19: the constraints of an attention's mask and score rules. `mask` may be
/// null.
llvm::LogicalResult verifyRules(mlir::Operation *op, const RuleSizes &sizes, mlir::Value mask,
                                const ScoreRules &rules);

/// C21: the dropout of weights, which the gradients of an attention also have.
template <typename Op>
llvm::LogicalResult verifyDropout(Op op) {
  llvm::APFloat probability = op.getDropout().value_or(llvm::APFloat(0.0F));
  if (!(probability.convertToDouble() >= 0 && probability.convertToDouble() < 1))
    return op.emitOpError("C21: expected a dropout of at least 0 and below 1, found ")
           << op.getDropoutAttr();
  const bool hasKey = static_cast<bool>(op.getDropoutKey());
  if (hasKey != static_cast<bool>(op.getExamples()) || hasKey != static_cast<bool>(op.getSite()))
    return op.emitOpError("C21: expected key, examples and site together, found some of them");
  if (hasKey && !op.getDropout())
    return op.emitOpError("C21: expected dropout with key, found none");
  return llvm::success();
}

/// Requires the shapes of an attention's mask and rules over `full` (batch, heads, queries, keys).
/// Defined in ScoreShapes.cpp.
void requireRuleShapes(SymbolicShapes &shapes, ScoresOpInterface op, const Shape &full);

/// Requires one scale for each row of codes.
void requireScales(SymbolicShapes &shapes, mlir::Value codes, mlir::Value scales);

// Shape of the weights, per head or averaged. Defined in AttentionWeights.cpp.
Shape weightsShape(const Shape &query, const Shape &key, bool averaged);

} // namespace heddle::transformer
