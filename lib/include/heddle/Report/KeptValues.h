//===- KeptValues.h - Values that the backward pass reads ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of the forward pass that stay in memory until the backward pass reads them, for
// `heddle explain --training`.
#pragma once

#include "heddle/Compiler/Compiler.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

/// A result of the forward pass that an op of the backward pass reads.
struct KeptValue {
  std::string layer;                ///< "encoder.0"
  std::string op, part;             ///< the op that computes it, or the name of its group; its part
  std::vector<std::string> readers; ///< ops of the backward pass, each once
  std::string rows;                 ///< dimensions that the call determines: "B*T"
  int64_t bytes = 0;                ///< of each of these rows
};

/// Kept values of a module at the fused stage, in program order.
std::vector<KeptValue> keptValues(mlir::ModuleOp fused);

/// Text of the values and their sums; equal layers are printed once, or all of them with `all`.
std::string keptValuesText(const std::vector<KeptValue> &values, bool all = false);

/// Text of the values of a model, which `options.training` must request, and of its examples:
/// whether they are packed, or why they are padded.
Expected<std::string> explainKept(const std::string &model, const CompileOptions &options,
                                  bool all);

} // namespace heddle
