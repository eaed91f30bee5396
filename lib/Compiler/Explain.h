//===- Explain.h - What became of each op ----------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decisions of the compiler, read off the fused module.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Compiler/Compiler.h"

#include <map>

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace heddle {

class Artifact;

/// For each function the kernels of its launches, in order: one a group.
using LaunchNames = std::map<std::string, std::vector<std::string>>;

/// Asks the fused stage that a compiled file carries; gives what `ask` says of it.
Status onFusedStage(const std::string &path,
                    llvm::function_ref<Status(mlir::ModuleOp fused, const Artifact &artifact)> ask);

/// Asks a model: the fused stage of a compiled file, the transformer stage of any other. Its
/// checkpoint is not opened.
Status onModel(const std::string &model, const CompileOptions &options,
               llvm::function_ref<Status(mlir::ModuleOp)> ask);

Explanation explainGroups(mlir::ModuleOp fused, const LaunchNames &launches);

} // namespace heddle
