//===- AttentionRules.h - What masks and rules must fulfil ------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks that attention, its statistics and its weights share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

namespace heddle::transformer {

struct ScoreRules;

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

} // namespace heddle::transformer
