//===- GpuElements.h - Predicates and lookups by element --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file emits loops over the elements of an invocation's fragment. Each element of a lookup
// needs a load of its own. An invocation has 64 elements for each table, and drivers take minutes
// to compile the unrolled loads. Loops over rows and columns contain the code once:
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
// The elements of a looked-up bias are inserted into the registers instead.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle {

class GpuEmitter;

/// Emits the element loops of a kernel.
class GpuElements {
public:
  explicit GpuElements(GpuEmitter &emitter) : e(emitter) {}

  /// Whether a tile can be computed element by element, from a tree of loads and elementwise ops.
  bool holds(mlir::Value tile) const;
  /// Whether an op outside of element loops needs a loop of its own.
  bool takes(mlir::Operation &op) const;
  /// Whether only element loops read the tile of an op, which is then computed inside them.
  bool serves(mlir::Operation &op) const;
  /// Whether an element loop pays for a predicate: it looks up matrices or is a long formula.
  bool takesPredicate(kernel::MaskOp op) const;

  /// Emits an op in an element loop. Registers hold its tile afterwards.
  mlir::LogicalResult emit(mlir::Operation &op);
  /// Emits a mask's predicate in an element loop. Appends an i1 vector per register to `truth`.
  mlir::LogicalResult emitPredicate(kernel::MaskOp op, llvm::SmallVectorImpl<mlir::Value> &truth);

private:
  mlir::LogicalResult repeat(int64_t count, llvm::SmallVectorImpl<mlir::Value> &carried,
                             llvm::function_ref<mlir::LogicalResult(mlir::Value)> step);
  mlir::LogicalResult atElement(mlir::Value row, llvm::function_ref<mlir::LogicalResult()> body);
  mlir::FailureOr<mlir::Value> truthsOfRow(kernel::MaskOp op, int64_t columns, mlir::Value row);
  mlir::LogicalResult emitRowOf(mlir::Operation &op, mlir::Value row,
                                llvm::SmallVectorImpl<mlir::Value> &registers);

  GpuEmitter &e;
  /// Memoised results of `holds` and `serves`, because trees share subtrees.
  mutable llvm::DenseMap<mlir::Value, bool> known;
  mutable llvm::DenseMap<mlir::Operation *, bool> serving;
};

} // namespace heddle
