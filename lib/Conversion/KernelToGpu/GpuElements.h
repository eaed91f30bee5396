//===- GpuElements.h - Predicates and tables, an element at a time -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An element that is looked up is a load of its own. An invocation has 64 of them
// for each table, and drivers take minutes over all of them written out. So they
// stand once, in loops over the invocation's rows and columns:
//
//   %word = scf.for %r = 0 to 4 iter_args(%w) {
//     %row = scf.for %c = 0 to 8 iter_args(%b) {
//       %t = …                                   the predicate of one element, on scalars
//       yield %b | (%t ? 1 << %c : 0)
//     }
//     yield %w | %row << 8 * %r
//   }
//   element (3, 0) is allowed where %word & 1 << 24 is not 0
//
// Numbers that are looked up, for a bias, are put in their place in the registers.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle {

class GpuEmitter;

class GpuElements {
public:
  explicit GpuElements(GpuEmitter &emitter) : e(emitter) {}

  /// Whether any element of the tile can be computed by itself: a tree of ops that do nothing else.
  bool holds(mlir::Value tile) const;
  /// Whether an op that stands outside of such loops gets its own.
  bool takes(mlir::Operation &op) const;
  /// Whether only such loops need the tile: it is computed in them.
  bool serves(mlir::Operation &op) const;
  /// Whether the loops pay for themselves: where matrices are looked up, and for long formulas.
  bool takesPredicate(kernel::MaskOp op) const;

  mlir::LogicalResult emit(mlir::Operation &op);
  mlir::LogicalResult emitPredicate(kernel::MaskOp op, llvm::SmallVectorImpl<mlir::Value> &truth);

private:
  mlir::LogicalResult repeat(int64_t count, llvm::SmallVectorImpl<mlir::Value> &carried,
                             llvm::function_ref<mlir::LogicalResult(mlir::Value)> step);
  mlir::LogicalResult atElement(mlir::Value row, llvm::function_ref<mlir::LogicalResult()> body);
  mlir::FailureOr<mlir::Value> truthsOfRow(kernel::MaskOp op, int64_t columns, mlir::Value row);
  mlir::LogicalResult emitRowOf(mlir::Operation &op, mlir::Value row,
                                llvm::SmallVectorImpl<mlir::Value> &registers);

  GpuEmitter &e;
  mutable llvm::DenseMap<mlir::Value, bool> known;
  mutable llvm::DenseMap<mlir::Operation *, bool> serving;
};

} // namespace heddle
