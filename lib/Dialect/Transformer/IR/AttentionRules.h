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

/// C20: scales beside keys or values that are codes.
llvm::LogicalResult verifyKept(mlir::Operation *op, llvm::StringRef name, mlir::Value kept,
                               mlir::Value scales, mlir::Value mask);
/// The constraints of an attention's mask and score rules, C10, C12 to C17 and C19; `mask` may be null.
llvm::LogicalResult verifyRules(mlir::Operation *op, const RuleSizes &sizes, mlir::Value mask,
                                const ScoreRules &rules);

/// Requires the shapes that an attention's mask and rules need over `full` (batch, heads, queries,
/// keys): ScoreShapes.cpp.
void requireRuleShapes(SymbolicShapes &shapes, ScoresOpInterface op, const Shape &full);

/// Requires a scale for each row of codes.
void requireScales(SymbolicShapes &shapes, mlir::Value codes, mlir::Value scales);

// Shape of the weights, per head or averaged (AttentionWeights.cpp).
Shape weightsShape(const Shape &query, const Shape &key, bool averaged);

} // namespace heddle::transformer
