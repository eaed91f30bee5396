//===- Inspect.h - Contents of models and compiled files -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inspection of models, for `heddle inspect`: kind, functions, layers with their costs, shapes
// along the data flow, parameters, kernels, members, and a drawing of the model. A model that is
// not compiled is first lowered to its program, without code.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/SizeExpr.h"

namespace heddle {

struct InspectOptions {
  /// Print only name, type and shape of every expected tensor, separated by tabs.
  bool weightsList = false;
  bool check = false; ///< only compare all checksums of a `.heddle` file
  bool all = false;   ///< print every layer and buffer, including equal ones
  bool json = false;  ///< print one line of JSON instead of text (docs/texts.md)
  /// Print only the driver's statistics of each kernel of a `.heddle` file, from Vulkan device
  /// number `device`.
  bool pipelines = false;
  int device = 0;
  std::optional<int> vulkanLevel; ///< of `device`; none: SessionOptions::vulkanLevel
  Dimensions dims;                ///< print sizes and costs for these values
};

/// Text of `heddle inspect`.
Expected<std::string> inspectModel(const std::string &model, const InspectOptions &options,
                                   const CompileOptions &compile = {});

/// SVG data-flow graph of the functions that work on whole sequences; equal layers are drawn once.
Expected<std::string> drawModel(const std::string &model, const Dimensions &dims,
                                const CompileOptions &compile = {});

} // namespace heddle
