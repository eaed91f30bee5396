//===- GpuTarget.h - Levels of Vulkan devices as data ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Levels of Vulkan devices as data, for tiling, the lowering and the serialiser: what
// a level's kernels may need of a device (Support/VulkanLevels.h), and with which
// capabilities and tile sizes they are written.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/VulkanLevels.h"
#include "heddle/Target/TileSizes.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace heddle {

/// Columns of a narrow tile of products, at most. Its workgroup has blocks and sums of its own sizes, and those
/// of two such tiles are those of a wide one.
inline constexpr int64_t narrowColumns = 64;

/// A way to run a level. A device runs the best variant of a kernel that it can.
struct GpuTarget : VulkanLevel {
  /// Capabilities and extensions that modules may declare, by SPIR-V's names, on top of version 1.3;
  /// a module declares those that it uses.
  std::vector<std::string> capabilities, extensions;
  const TileSizes &tiles;
  /// Whether some kernel is written in another way than one level below. Until then the compiler
  /// leaves the level out, unless it is asked for.
  bool isWritten = false;
  bool packedDots = false; ///< dot products of four signed bytes are an instruction
  /// Tiles of linear layers whose products go through matrix units; null: none do.
  const TileSizes *matrixTiles = nullptr;

  /// The shape of the units' products of such rows and weights; null: they do not go through them.
  const MatrixShape *matrixOf(DType rows, DType weights) const;
};

/// All ways, in the order of vulkanLevels().
const std::vector<GpuTarget> &gpuTargets();
/// The way of a name, "0", "1-dot".
Expected<const GpuTarget *> findGpuTarget(std::string_view name);
/// The same for the pass `pass` over `op`; null, with the error at `op`, where there is none.
const GpuTarget *findGpuTarget(std::string_view name, mlir::Operation *op, std::string_view pass);
/// The ways that a file has code for: up to `level`, or without one those that are written. Usage
/// error for a level that does not exist.
Expected<std::vector<const GpuTarget *>> gpuTargetsUpTo(std::optional<int> level);

} // namespace heddle
