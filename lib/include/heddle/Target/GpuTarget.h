//===- GpuTarget.h - Levels of Vulkan devices as data ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Levels of Vulkan devices as data for tiling, the lowering and the serializer.
// A level defines the device features that its kernels may use
// (Support/VulkanLevels.h), and the capabilities and tile sizes of their code.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/VulkanLevels.h"
#include "heddle/Target/TileSizes.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace heddle {

/// Maximum number of columns of a narrow tile of products. Two narrow tiles need the workgroup
/// memory and the sums of one wide tile.
inline constexpr int64_t narrowColumns = 64;

/// A variant of a level. A device runs the best variant of a kernel that it supports.
struct GpuTarget : VulkanLevel {
  /// Capabilities and extensions that modules may declare in addition to version 1.3, with SPIR-V's
  /// names. A module declares only what it uses.
  std::vector<std::string> capabilities, extensions;
  const TileSizes &tiles;
  bool packedDots = false; ///< whether dot products of four signed bytes are one instruction
  /// Tiles of linear layers that multiply with matrix units; null: no layer does.
  const TileSizes *matrixTiles = nullptr;

  /// The matrix shape of the units for products of these types; null if the units do not support
  /// them.
  const MatrixShape *matrixOf(DType rows, DType weights) const;
};

/// All variants, in the order of vulkanLevels().
const std::vector<GpuTarget> &gpuTargets();
/// The variant with this name, such as "0" or "1-dot". Returns a usage error for other names.
Expected<const GpuTarget *> findGpuTarget(std::string_view name);
/// Like findGpuTarget, for the pass `pass` over `op`. Returns null after it has emitted an error at
/// `op`.
const GpuTarget *findGpuTarget(std::string_view name, mlir::Operation *op, std::string_view pass);
/// The variants that a file has code for: all up to `level`, or all without `level`. Returns a usage error if the level does not exist.
Expected<std::vector<const GpuTarget *>> gpuTargetsUpTo(std::optional<int> level);

} // namespace heddle
