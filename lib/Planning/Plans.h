//===- Plans.h - Plans of each root ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each kind of kernel; Planner.cpp calls them by a definition's root.
#pragma once

#include "heddle/Planning/DefinitionViews.h"
#include "heddle/Planning/Planner.h"
#include "heddle/Target/GpuTarget.h"

namespace heddle::planning {

/// A definition and the target that it is planned for.
struct Question {
  const DefinitionViews &views;
  const GpuTarget *gpu; ///< null: a CPU
  const TileSizes &sizes;

  kernel::DefOp def() const { return views.def; }
  mlir::MLIRContext *context() const { return views.def->getContext(); }
  bool isCpu() const { return gpu == nullptr; }
};

/// Products in a tile of a body, as far as a plan depends on them.
struct Products {
  const NumberFormat *format = nullptr; ///< of the first product over features
  int64_t rows = 1, columns = 1;        ///< the tile
  int64_t values = 0;                   ///< columns of a product over rows, 0: there is none
  int64_t sums = 0;                     ///< that an invocation's rows hold at once, for each row
  bool isWide = true;                   ///< all products have multiples of 32 columns
};

/// Sums for a row of a product. A product with codes holds the sums of a group of features next to the
/// total ones.
int64_t sumsOfRow(const NumberFormat &format, int64_t columns);

/// Plan of products whose operands each invocation of a GPU loads.
KernelPlan planBlocked(const Question &q, const Products &products, llvm::ArrayRef<int64_t> tile);
/// Plan of products with many rows whose operands a workgroup stages in its memory.
KernelPlan planStaged(const Question &q, const Products &products, llvm::ArrayRef<int64_t> tile);

mlir::FailureOr<KernelPlans> planLinear(const Question &q);
KernelPlan planHeadProducts(const Question &q);
mlir::FailureOr<KernelPlan> planAttention(const Question &q);
KernelPlan planWeights(const Question &q);
/// Plan of a body without products, by its root.
KernelPlan planRows(const Question &q, kernel::Root root);

} // namespace heddle::planning
