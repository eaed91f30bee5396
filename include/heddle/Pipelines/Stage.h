//===- Stage.h - The named stages of a compilation -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named stages of a compilation, the words of `--emit`. After `program` they
// fork: `tiled` is written for a kind of device, then follow `cpu`, `llvm`,
// `asm` for CPUs and `gpu`, `spirv` for Vulkan. No MLIR here: tools parse stage
// names without it.
#pragma once

#include "heddle/Support/Error.h"

#include <string_view>

namespace heddle {

enum class Stage { Transformer, Fused, Program, Tiled, Cpu, Llvm, Asm, Gpu, Spirv, Artifact };

/// A kind of device for which `tiled` is written.
enum class TargetKind { Cpu, Vulkan };

/// "transformer", "fused", …: the words of `--emit`.
const char *toString(Stage stage);
Expected<Stage> parseStage(std::string_view name);

/// "cpu", "vulkan": the words of `--target`.
const char *toString(TargetKind target);
Expected<TargetKind> parseTarget(std::string_view name);

} // namespace heddle
