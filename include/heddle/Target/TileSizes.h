//===- TileSizes.h - Sizes of the tiles that bodies work on ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies are the same for all targets but for these numbers. CPUs share them, whatever
// their instruction set; each level of Vulkan devices has its own (GpuTarget.h).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace heddle {

struct TileSizes {
  int64_t linearRows;
  std::span<const int64_t> linearColumns; ///< the first that divides the columns is taken
  /// Rows of attention's tile, the first that is small enough for `mostValues`.
  std::span<const int64_t> attentionRows;
  int64_t chunk; ///< keys that are a softmax of their own: docs/semantics.md
  int64_t weightsRows, normRows, softmaxRows, copyRows;
  std::span<const int64_t> copyColumns; ///< the first that divides the columns is taken
  std::span<const int64_t> poolColumns; ///< likewise, of rows that are added up
  /// Values that attention and norms may hold of a tile of rows. No row's result depends on how
  /// many there are beside it.
  int64_t mostValues;
};

/// The first of `sizes` that divides `extent`, else the last.
constexpr int64_t firstDividing(std::span<const int64_t> sizes, int64_t extent) {
  for (int64_t size : sizes)
    if (extent % size == 0)
      return size;
  return sizes.back();
}

inline constexpr std::array<int64_t, 4> copyTileColumns{64, 48, 32, 16},
    cpuLinearColumns{48, 64, 32, 16}, gpuLinearColumns{128, 64, 32, 16};
inline constexpr std::array<int64_t, 3> cpuAttentionRows{96, 48, 16};
inline constexpr std::array<int64_t, 1> gpuAttentionRows{32}, gpuPoolColumns{16};

/// Tiles of rows stand on a thread's stack.
inline constexpr TileSizes cpuTiles{.linearRows = 128,
                                    .linearColumns = cpuLinearColumns,
                                    .attentionRows = cpuAttentionRows,
                                    .chunk = 512,
                                    .weightsRows = 32,
                                    .normRows = 32,
                                    .softmaxRows = 4,
                                    .copyRows = 32,
                                    .copyColumns = copyTileColumns,
                                    .poolColumns = copyTileColumns,
                                    .mostValues = 96 * 1024};

/// Workgroup memory of 16 KiB holds a strip of 32 rows by 64 keys and its statistics. What a loop
/// of a pool carries lies in registers: four columns in each of the four invocations of a row.
inline constexpr TileSizes gpuTiles{.linearRows = 64,
                                    .linearColumns = gpuLinearColumns,
                                    .attentionRows = gpuAttentionRows,
                                    .chunk = 64,
                                    .weightsRows = 32,
                                    .normRows = 16,
                                    .softmaxRows = 16,
                                    .copyRows = 32,
                                    .copyColumns = copyTileColumns,
                                    .poolColumns = gpuPoolColumns,
                                    .mostValues = std::numeric_limits<int64_t>::max()};

} // namespace heddle
