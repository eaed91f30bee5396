//===- Planner.h - Plans of kernel definitions -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a definition runs on a target: its mapping, tile, workgroup and blocks, as
// one attribute (#kernel.plan). Tiling and the conversions obey the plan.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelOps.h"

namespace heddle {

struct GpuTarget;

/// A plan and its reason, a sentence without a period.
struct KernelPlan {
  kernel::PlanAttr plan;
  std::string reason;
};

/// The plans of a definition.
struct KernelPlans {
  KernelPlan kernel;
  /// The plan of the form for launches with few rows; its attribute is null where there is no such
  /// form.
  KernelPlan fewRows;
};

/// Plans a definition that has a root, scalars and layouts for a level of Vulkan devices, or with null
/// for CPUs. An error is reported at the definition.
mlir::FailureOr<KernelPlans> planKernel(kernel::DefOp def, const GpuTarget *gpu);

} // namespace heddle
