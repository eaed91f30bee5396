//===- Planner.h - Plans of kernel definitions -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans how a kernel definition runs on a target. A plan is one attribute
// (#kernel.plan) with the mapping, tile, workgroup and blocks. Tiling and the
// conversions follow it.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle {

struct GpuTarget;

/// A plan and its reason, a sentence without a period.
struct KernelPlan {
  kernel::PlanAttr plan;
  std::string reason;
};

/// The plans of a definition: for any number of rows, for few rows, and for rounding rows.
struct KernelPlans {
  KernelPlan kernel;
  /// Plan for launches with few rows; its attribute is null if the kernel has no variant for them.
  KernelPlan fewRows;
  /// Plan of the kernel that rounds the rows of a product; its attribute is null unless the plan of the
  /// product is `rounded`.
  KernelPlan rounding;
};

/// Plans a definition with a root, scalars and layouts for a level of Vulkan devices, or for CPUs
/// if `gpu` is null. Reports errors at the definition.
mlir::FailureOr<KernelPlans> planKernel(kernel::DefOp def, const GpuTarget *gpu);

} // namespace heddle
