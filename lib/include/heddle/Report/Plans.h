//===- Plans.h - How each kernel runs on each target -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plans of a model's kernels, with their reasons (`heddle explain --plans`).
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/Error.h"

namespace heddle {

/// A plan of a kernel.
struct PlannedKernel {
  std::string kernel;
  std::string
      form; ///< the form of the kernel: "few rows", "rounding of rows"; empty: the usual one
  std::vector<std::string> targets; ///< "cpu", "vulkan 1-dot": all targets with this plan
  std::string plan;                 ///< text of #kernel.plan, without its name
  std::string reason;
};

/// Plans of all kernels of a model, in the order of the program, for the targets of `options` and
/// the levels of Vulkan devices up to `options.vulkanLevel`, or without it those that a file has code
/// for.
Expected<std::vector<PlannedKernel>> explainPlans(const std::string &model,
                                                  const CompileOptions &options = {});

std::string plansText(const std::vector<PlannedKernel> &plans);

} // namespace heddle
