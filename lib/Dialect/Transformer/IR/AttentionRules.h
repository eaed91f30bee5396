//===- AttentionRules.h - What masks and rules must fulfil ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks that attention, its statistics and its weights share.
#pragma once

#include "heddle/Dialect/Transformer/IR/OpInterfaces.h"

#include "mlir/IR/Operation.h"

namespace heddle::transformer {

/// Sizes of the scores; dynamic where nothing tells them.
struct RuleSizes {
  int64_t batch, heads, queries, keys;
};

/// C18: the types that attention multiplies; a null value is left out.
llvm::LogicalResult verifyElements(mlir::Operation *op, mlir::Value query, mlir::Value key,
                                   mlir::Value value);
/// The constraints of an attention's mask and score rules, C10 and C12 to C17; `mask` may be null.
llvm::LogicalResult verifyRules(mlir::Operation *op, const RuleSizes &sizes, mlir::Value mask,
                                const ScoreRules &rules);

/// What the masks and rules of an attention over `full`, its batch, heads, queries and keys, ask of
/// the shapes of their tables (ScoreShapes.cpp).
void requireRuleShapes(SymbolicShapes &shapes, mlir::Value mask, mlir::Value bias,
                       const Shape &full);

// What attention, its statistics and its weights answer alike (AttentionWeights.cpp).
Shape weightsShape(const Shape &query, const Shape &key, bool averaged);

} // namespace heddle::transformer
