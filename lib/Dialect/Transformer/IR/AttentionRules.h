//===- AttentionRules.h - Constraints of masks and rules --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks shared by attention, its statistics and its weights.
#pragma once

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h"

#include "mlir/IR/Operation.h"

namespace heddle::transformer {

/// Sizes of the scores; dynamic where no operand has them.
struct RuleSizes {
  int64_t batch, heads, queries, keys;
};

/// C18: element types of the operands; a null value is skipped.
llvm::LogicalResult verifyElements(mlir::Operation *op, mlir::Value query, mlir::Value key,
                                   mlir::Value value);
/// The constraints of an attention's mask and score rules, C10, C12 to C17 and C19; `mask` may be null.
llvm::LogicalResult verifyRules(mlir::Operation *op, const RuleSizes &sizes, mlir::Value mask,
                                const ScoreRules &rules);

/// Requires the shapes that an attention's mask and rules need over `full` (batch, heads, queries,
/// keys): ScoreShapes.cpp.
void requireRuleShapes(SymbolicShapes &shapes, ScoresOpInterface op, const Shape &full);

// Shape of the weights, per head or averaged (AttentionWeights.cpp).
Shape weightsShape(const Shape &query, const Shape &key, bool averaged);

} // namespace heddle::transformer
