//===- GpuScores.h - Ops on scores in few instructions ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file emits some ops on attention scores in fewer instructions than their direct
// lowering takes.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// Emits the ops on scores of a kernel.
class GpuScores {
public:
  explicit GpuScores(GpuEmitter &emitter) : e(emitter) {}

  /// Emits an op on scores; returns nothing for other ops.
  std::optional<mlir::LogicalResult> emit(mlir::Operation &op);
  /// Returns c if `op` is `x < c ? c : x` and a branch on `x < c` pays, because one invocation
  /// holds the whole row. Unlike a maximum, the op keeps NaN.
  std::optional<float> floorOf(mlir::Operation &op) const;

private:
  mlir::LogicalResult emitFloor(mlir::arith::SelectOp op, float floor);
  mlir::LogicalResult emitFused(mlir::arith::AddFOp op, mlir::arith::MulFOp product);
  /// Returns the first operand of a sum if it multiplies a tile by powers of two, else null.
  mlir::arith::MulFOp exactProductOf(mlir::Operation &op) const;

  GpuEmitter &e;
};

} // namespace heddle
