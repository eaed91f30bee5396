//===- KernelClusters.h - Which ops share a kernel --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first half of group-kernels: it reads a function and says which ops become one group, and why
// no more do. It changes nothing; GroupKernels.cpp builds the groups.

#ifndef HEDDLE_LIB_TRANSFORMS_KERNELCLUSTERS_H
#define HEDDLE_LIB_TRANSFORMS_KERNELCLUSTERS_H

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle::transformer {

/// What a chain of a linear ends in: the attention that reads it, or the stack of states that it is
/// stored in.
struct Sink {
  mlir::Operation *attention = nullptr;
  mlir::StringAttr states;

  explicit operator bool() const { return attention || states; }
  bool operator==(const Sink &) const = default;
};

/// Ops that become one group, in program order.
struct Cluster {
  kernel::Root root;
  llvm::SmallVector<mlir::Operation *> ops;
  /// What could not follow, each with its reason: entries of the group's attribute `missed_fusions`.
  llvm::SmallVector<mlir::Attribute> missed;
  /// What the parts of a linear feed.
  Sink sink;
};

/// Masks and score rules: cloned into the groups that use them.
bool isRule(mlir::Operation *op);

/// The clusters of a function in the order of their first ops; groups that it has already stay as
/// they are. Every op of the function but operands, rules and the session's bookkeeping is in one;
/// an op that no kernel can be made of is an error at the op.
llvm::FailureOr<llvm::SmallVector<Cluster>> findClusters(mlir::func::FuncOp func);

} // namespace heddle::transformer

#endif // HEDDLE_LIB_TRANSFORMS_KERNELCLUSTERS_H
