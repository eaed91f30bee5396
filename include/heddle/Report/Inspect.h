//===- Inspect.h - What a model or a file holds ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The answers of `heddle inspect`: kind, functions, layers with their costs, shapes
// as data passes, parameters, kernels and members, and a drawing of the model. A model
// that is not compiled yet is brought to its program first; no code is generated for it.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/SizeExpr.h"

namespace heddle {

struct InspectOptions {
  bool weightsList =
      false;          ///< name, type and shape of every expected tensor, by tabs, and nothing else
  bool check = false; ///< read and check every byte of a `.heddle` file
  bool all = false;   ///< every layer and buffer, those that are equal too
  Dimensions dims;    ///< print sizes and costs for these values
};

/// The text that `heddle inspect` prints.
Expected<std::string> inspectModel(const std::string &model, const InspectOptions &options,
                                   const CompileOptions &compile = {});

/// A drawing (SVG) of the functions that work on whole sequences: ops and what flows between them,
/// equal layers once.
Expected<std::string> drawModel(const std::string &model, const Dimensions &dims,
                                const CompileOptions &compile = {});

} // namespace heddle
