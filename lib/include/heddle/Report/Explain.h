//===- Explain.h - Fusion decisions of the compiler ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explanation of fusion, for `heddle explain`: the kernel of each op of the fused module, and its
// missed fusions.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Report/WeightReads.h"

#include <map>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

/// One op of a model and its fusions.
struct OpDecision {
  std::string function, layer;       ///< "encode", "encoder.0"
  std::string op, location;          ///< "transformer.linear", "encoder.0.ffn"
  std::string kernel, group, root;   ///< its kernel, the name and the root of its group
  std::vector<std::string> partners; ///< other ops of the same kernel
  /// A missed fusion: keyword of the reason, the other op, text of the reason, and a remedy.
  struct Missed {
    std::string reason, with, text, remedy;
    bool operator==(const Missed &) const = default;
  };
  std::vector<Missed> missed;
};
/// The decisions about all ops of a model, in their order, and the weights that a row reads in
/// functions with experts.
struct Explanation {
  std::vector<OpDecision> decisions;
  std::vector<WeightReads> reads = {};
};

Expected<Explanation> explainModel(const std::string &model, const CompileOptions &options = {});

/// Names of the kernels of each function's launches, in order: one per group.
using LaunchNames = std::map<std::string, std::vector<std::string>>;
/// Decisions of a module at the fused stage. A group without a launch uses its name as its kernel.
Explanation explainGroups(mlir::ModuleOp fused, const LaunchNames &launches);

/// Text of the decisions; equal layers are printed once, or all of them with `all`.
std::string explanationText(const Explanation &explanation, bool all = false);
std::string explanationHtml(const Explanation &explanation, const std::string &title,
                            bool all = false);

} // namespace heddle
