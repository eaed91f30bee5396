//===- GpuTarget.h - Levels of Vulkan devices as data ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Levels of Vulkan devices as data, for tiling, the lowering and the
// serialiser: limits, features and instructions beyond Vulkan 1.1, tile sizes.
// A new level is a row of the table in GpuTarget.cpp.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/Program.h"
#include "heddle/Target/TileSizes.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace heddle {

/// A level. A device runs the variant of a kernel with the highest level that it supports.
struct GpuTarget {
  int level = 0;
  int64_t sharedBytes = 0; ///< limit of a kernel's workgroup memory
  int64_t invocations = 0; ///< limit of a workgroup's invocations
  int64_t subgroup = 0;    ///< subgroup size that kernels rely on; 0: any
  /// Features that the runtime checks at load, by Vulkan's names.
  std::vector<std::string> required;
  /// Capabilities and extensions of modules, by SPIR-V's names, on top of version 1.3.
  std::vector<std::string> capabilities, extensions;
  std::vector<MatrixShape> matrices; ///< shapes of cooperative matrix products
  const TileSizes &tiles;
};

/// All levels, the lowest first.
const std::vector<GpuTarget> &gpuTargets();
Expected<const GpuTarget *> findGpuTarget(int level);
/// The same for the pass `name` over `op`; null, with the error at `op`, where there is none.
const GpuTarget *findGpuTarget(int level, mlir::Operation *op, std::string_view name);

} // namespace heddle
