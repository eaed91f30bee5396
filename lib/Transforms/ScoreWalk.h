//===- ScoreWalk.h - Scores of wide rows ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base-2 scores of rows, their maximum, and the sum of their powers. Powers are computed as in
// attention (docs/semantics.md).
#pragma once

#include "AttentionScores.h"
#include "RowWalk.h"

namespace heddle {

/// Walks the scores of rows.
class ScoreWalk : public RowWalk {
public:
  using RowWalk::RowWalk;

  /// Base-2 scores of the columns starting at `c`. They are finite; for minus infinity and padding
  /// they are low enough that their power is 0.
  mlir::Value scores(mlir::Value c);
  /// Largest rounded score of a row.
  mlir::Value maximum();
  mlir::Value sum(mlir::Value maximum);
  mlir::Value power(mlir::Value c, mlir::Value maximum);
  /// Numbers of the columns starting at `c`.
  mlir::Value columns(mlir::Value c);
  /// Element of a row in the column `ids`.
  mlir::Value element(mlir::Value ids);

  /// Whether elements of two tiles of integers are equal; a column is repeated along rows.
  static mlir::Value equal(TileBuilder &t, mlir::Value x, mlir::Value y);
};

/// Returns the sum as a divisor: 1 if it is 0.
mlir::Value orOne(TileBuilder &t, mlir::Value sum);

} // namespace heddle
