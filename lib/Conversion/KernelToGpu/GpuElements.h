//===- GpuElements.h - Predicates and lookups by element --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over elements. Each element of a lookup is a load of its own; an invocation has 64 of them
// for each table, and drivers take minutes to compile them unrolled. These loops over the
// invocation's rows and columns hold the code once:
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
// Looked-up numbers of a bias are inserted into the registers.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle {

class GpuEmitter;

/// Element loops of the kernel that is being emitted.
class GpuElements {
public:
  explicit GpuElements(GpuEmitter &emitter) : e(emitter) {}

  /// Whether single elements of the tile can be computed: a tree of loads and elementwise ops.
  bool holds(mlir::Value tile) const;
  /// Whether an op outside of element loops gets its own.
  bool takes(mlir::Operation &op) const;
  /// Whether only element loops read the tile: it is computed inside them.
  bool serves(mlir::Operation &op) const;
  /// Whether element loops pay for a predicate: if it looks up matrices, or is a long formula.
  bool takesPredicate(kernel::MaskOp op) const;

  /// Emits an op in an element loop; its tile is in registers afterwards.
  mlir::LogicalResult emit(mlir::Operation &op);
  /// Emits a mask's predicate in an element loop; `truth` gets an i1 vector a register.
  mlir::LogicalResult emitPredicate(kernel::MaskOp op, llvm::SmallVectorImpl<mlir::Value> &truth);

private:
  mlir::LogicalResult repeat(int64_t count, llvm::SmallVectorImpl<mlir::Value> &carried,
                             llvm::function_ref<mlir::LogicalResult(mlir::Value)> step);
  mlir::LogicalResult atElement(mlir::Value row, llvm::function_ref<mlir::LogicalResult()> body);
  mlir::FailureOr<mlir::Value> truthsOfRow(kernel::MaskOp op, int64_t columns, mlir::Value row);
  mlir::LogicalResult emitRowOf(mlir::Operation &op, mlir::Value row,
                                llvm::SmallVectorImpl<mlir::Value> &registers);

  GpuEmitter &e;
  /// Memoised answers of `holds` and `serves`, whose trees share subtrees.
  mutable llvm::DenseMap<mlir::Value, bool> known;
  mutable llvm::DenseMap<mlir::Operation *, bool> serving;
};

} // namespace heddle
