//===- KernelClusters.h - Fusion of ops into kernels ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analysis of group-kernels: finds the ops of each group, and the reasons for missed fusions. It
// modifies nothing; GroupKernels.cpp builds the groups.

#ifndef HEDDLE_LIB_TRANSFORMS_KERNELCLUSTERS_H
#define HEDDLE_LIB_TRANSFORMS_KERNELCLUSTERS_H

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace heddle::transformer {

/// Destination of a linear's chain: the attention that reads it, or the stack of states that stores
/// it.
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
  /// Missed fusions with their reasons: entries of the group's attribute `missed_fusions`.
  llvm::SmallVector<mlir::Attribute> missed;
  /// Common destination of the parts of a linear.
  Sink sink;
};

/// Whether an op is a mask or score rule, which is cloned into the groups that use it.
bool isRule(mlir::Operation *op);

/// Returns the clusters of a function in the order of their first ops; existing groups are kept.
/// Every op is in a cluster except operands, rules and bookkeeping of the session. An op that no
/// kernel supports is an error at the op.
llvm::FailureOr<llvm::SmallVector<Cluster>> findClusters(mlir::func::FuncOp func);

} // namespace heddle::transformer

#endif // HEDDLE_LIB_TRANSFORMS_KERNELCLUSTERS_H
