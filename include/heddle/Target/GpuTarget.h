//===- GpuTarget.h - Levels of Vulkan devices as data ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tiling, the lowering and the serialiser know about the devices that a shader is
// made for: limits, features and instructions beyond Vulkan 1.1, tile sizes. A further
// level is a row of the table in GpuTarget.cpp.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Program.h"
#include "heddle/Target/TileSizes.h"

namespace heddle {

/// One level. Of a kernel's variants a device runs the one of the highest level that it can.
struct GpuTarget {
  int level = 0;
  int64_t sharedBytes = 0; ///< workgroup memory that a kernel may take
  int64_t invocations = 0; ///< of a workgroup, at most
  int64_t subgroup = 0;    ///< invocations of a subgroup that kernels are written for; 0: any
  /// Features that a device must have, by Vulkan's names, as the runtime checks them at load.
  std::vector<std::string> required;
  /// What modules declare, by SPIR-V's names, above version 1.3.
  std::vector<std::string> capabilities, extensions;
  std::vector<MatrixShape> matrices; ///< products of one instruction of a subgroup
  const TileSizes &tiles;
};

/// All described levels, the lowest first.
const std::vector<GpuTarget> &gpuTargets();
Expected<const GpuTarget *> findGpuTarget(int level);

} // namespace heddle
