//===- Stage.h - The named stages of a compilation -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named stages of a compilation, the values of `--emit`. After `program` they fork: `tiled` depends
// on the kind of device, and is followed by `cpu`, `llvm` and `asm` for CPUs or by `gpu` and
// `spirv` for Vulkan. This header does not include MLIR, so that tools can parse stage names
// without it.
#pragma once

#include "heddle/Support/Error.h"

#include <string_view>
#include <vector>

namespace heddle {

enum class Stage { Transformer, Fused, Program, Tiled, Cpu, Llvm, Asm, Gpu, Spirv, Artifact };

/// Kinds of devices on which `tiled` depends.
enum class TargetKind { Cpu, Vulkan };

/// "transformer", "fused", …: the values of `--emit`.
const char *toString(Stage stage);
Expected<Stage> parseStage(std::string_view name);

/// "cpu", "vulkan": the values of `--target`.
const char *toString(TargetKind target);
Expected<TargetKind> parseTarget(std::string_view name);
/// Targets of `--target`, each once. Usage error for an unknown name or an empty list.
Expected<std::vector<TargetKind>> parseTargets(const std::vector<std::string> &names);

} // namespace heddle
