//===- Plans.h - Plans of each root ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planning functions, one for each kind of kernel. Planner.cpp selects one by the root of the
// definition.
#pragma once

#include "heddle/Planning/DefinitionViews.h"
#include "heddle/Planning/Planner.h"
#include "heddle/Support/Philox.h"
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

/// Properties of a body's products that its plan depends on.
struct Products {
  const NumberFormat *format = nullptr; ///< format of the first product over features
  int64_t rows = 1, columns = 1;        ///< the tile
  int64_t values = 0;                   ///< columns of a product over rows; 0: there is none
  int64_t sums = 0;                     ///< sums that each row holds at once
  bool isWide = true;                   ///< all products have multiples of 32 columns
  bool areRounded = false;              ///< another kernel has rounded the rows
};

/// Columns that share blocks of random words. A tile that begins at a multiple of them computes each
/// block once.
inline constexpr int64_t dropoutColumns = DropoutBlocks::columns;

/// Number of sums that a row of a product holds. A product with codes holds the sums of a group of
/// features in addition to the totals.
int64_t sumsOfRow(const NumberFormat &format, int64_t columns);

/// Plan of products on a GPU in which each invocation loads its own operands.
KernelPlan planBlocked(const Question &q, const Products &products, llvm::ArrayRef<int64_t> tile);
/// Plan of products with many rows in which a workgroup stages operands in its memory.
KernelPlan planStaged(const Question &q, const Products &products, llvm::ArrayRef<int64_t> tile);

mlir::FailureOr<KernelPlans> planLinear(const Question &q);
KernelPlan planHeadProducts(const Question &q);
mlir::FailureOr<KernelPlan> planAttention(const Question &q);
KernelPlan planWeights(const Question &q);
/// Plan of a gradient of attention.
mlir::FailureOr<KernelPlan> planAttentionGradient(const Question &q);
/// Plan of a kernel that adds to the gradient of a weight, or that transposes a weight for the
/// gradient of its input.
mlir::FailureOr<KernelPlan> planGradient(const Question &q, kernel::Root root);
/// Plan of a kernel that rounds the rows of `input`.
KernelPlan planRounding(const Question &q, mlir::Value input);
/// Plan of a body without products, by its root.
KernelPlan planRows(const Question &q, kernel::Root root);

} // namespace heddle::planning
