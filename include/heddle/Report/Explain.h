//===- Explain.h - What became of each op ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of the compiler, read off the fused module.
#pragma once

#include "heddle/Compiler/Compiler.h"

#include <map>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

/// One op of a model, and what became of it.
struct OpDecision {
  std::string function, layer;       ///< "encode", "encoder.0"
  std::string op, location;          ///< "transformer.linear", "encoder.0.ffn"
  std::string kernel, group, root;   ///< the kernel it runs in, the group's name and kind of root
  std::vector<std::string> partners; ///< other ops of the same kernel
  /// Fusions that were looked at and refused: the word of the enum, the other op, what it says,
  /// what would have to change.
  struct Missed {
    std::string reason, with, text, remedy;
    bool operator==(const Missed &) const = default;
  };
  std::vector<Missed> missed;
};
using Explanation = std::vector<OpDecision>;

/// What was fused with what and why not, in the order of the model's ops.
Expected<Explanation> explainModel(const std::string &model, const CompileOptions &options = {});

/// For each function the kernels of its launches, in order: one a group.
using LaunchNames = std::map<std::string, std::vector<std::string>>;
Explanation explainGroups(mlir::ModuleOp fused, const LaunchNames &launches);

/// Equal layers stand once; with `all` every layer stands in full.
std::string explanationText(const Explanation &explanation, bool all = false);
std::string explanationHtml(const Explanation &explanation, const std::string &title,
                            bool all = false);

} // namespace heddle
