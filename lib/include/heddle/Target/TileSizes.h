//===- TileSizes.h - Tile sizes of CPUs and GPUs ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile sizes, the only difference between the tiled bodies of different
// targets. All CPUs share one set of sizes, whatever the instruction set. Each
// level of Vulkan devices has its own (GpuTarget.h).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace heddle {

struct TileSizes {
  int64_t linearRows;
  std::span<const int64_t> linearColumns; ///< the first size that divides the columns is chosen
  /// Whether columns are split into a part that the first size divides and a rest. This applies if
  /// only the narrowest size divides the columns, or if many columns are not divisible by the first
  /// size.
  bool cutsColumns;
  /// Rows and columns of the tile in the form of linear layers for few rows. The form does not
  /// exist if `fewRows` is 0.
  int64_t fewRows;
  std::span<const int64_t> fewRowColumns;
  /// Rows of attention's tile: the first size that keeps the tile below `mostValues`.
  std::span<const int64_t> attentionRows;
  int64_t chunk; ///< keys of one step of the online softmax (docs/semantics.md)
  int64_t weightsRows, normRows, softmaxRows, copyRows;
  /// Maximum number of groups of four invocations that share a row in a GPU's reduction.
  int64_t rowQuads = 1;
  std::span<const int64_t> copyColumns; ///< the first size that divides the columns is chosen
  std::span<const int64_t> poolColumns; ///< likewise, for rows that are summed
  /// Limit of the number of values in a tile of rows of attention and norms. The result of a row
  /// does not depend on the number of rows in its tile.
  int64_t mostValues;
  /// Reduction steps in a block of operands that a workgroup stages in its memory, for products
  /// with many rows; 0: each invocation loads its own operands.
  int64_t stagedSteps = 0;
  /// Whether products use the device's matrix units.
  bool multipliesMatrices = false;
};

/// The first of `sizes` that divides `extent`, else the last.
constexpr int64_t firstDividing(std::span<const int64_t> sizes, int64_t extent) {
  for (int64_t size : sizes)
    if (extent % size == 0)
      return size;
  return sizes.back();
}

/// Columns that a group of invocations reads in one step of a row reduction, which are the lanes of
/// a sum; and the number of its invocations.
inline constexpr int64_t laneColumns = 16, quadInvocations = 4;

/// Number of groups of invocations that share a row of `columns`, such that all have the same
/// number of steps.
constexpr int64_t quadsOfRow(const TileSizes &sizes, int64_t columns) {
  int64_t quads = sizes.rowQuads;
  while (quads > 1 && columns % (laneColumns * quads) != 0)
    quads /= 2;
  return quads;
}

/// Number of rows of a tile in a row reduction: fewer if more groups share each row.
constexpr int64_t rowsOfQuads(const TileSizes &sizes, int64_t rows, int64_t columns) {
  return rows / quadsOfRow(sizes, columns);
}

inline constexpr std::array<int64_t, 4> copyTileColumns{64, 48, 32, 16},
    cpuLinearColumns{48, 64, 32, 16}, gpuLinearColumns{128, 64, 32, 16};
inline constexpr std::array<int64_t, 3> cpuAttentionRows{96, 48, 16};
inline constexpr std::array<int64_t, 1> gpuAttentionRows{32}, gpuPoolColumns{16},
    gpuFewRowColumns{16};

/// Tiles of rows are on the stack of a thread, which `mostValues` limits.
inline constexpr TileSizes cpuTiles{.linearRows = 128,
                                    .linearColumns = cpuLinearColumns,
                                    .cutsColumns = true,
                                    .fewRows = 0,
                                    .fewRowColumns = {},
                                    .attentionRows = cpuAttentionRows,
                                    .chunk = 512,
                                    .weightsRows = 32,
                                    .normRows = 32,
                                    .softmaxRows = 4,
                                    .copyRows = 32,
                                    .copyColumns = copyTileColumns,
                                    .poolColumns = copyTileColumns,
                                    .mostValues = 96 * 1024};

/// 16 KiB of workgroup memory hold a strip of 32 rows by 64 keys and its statistics. A pool's loop
/// carries its values in registers: four columns in each of the four invocations of a row.
inline constexpr TileSizes gpuTiles{.linearRows = 64,
                                    .linearColumns = gpuLinearColumns,
                                    .cutsColumns = false,
                                    .fewRows = 8,
                                    .fewRowColumns = gpuFewRowColumns,
                                    .attentionRows = gpuAttentionRows,
                                    .chunk = 64,
                                    .weightsRows = 32,
                                    .normRows = 16,
                                    .softmaxRows = 16,
                                    .copyRows = 32,
                                    .copyColumns = copyTileColumns,
                                    .poolColumns = gpuPoolColumns,
                                    .mostValues = std::numeric_limits<int64_t>::max()};

/// Sizes for physical GPUs: 17 KiB of workgroup memory hold 16 steps of 128 rows and of 128
/// columns. The results have the same bits as with `gpuTiles`, so `chunk` is equal.
inline constexpr TileSizes teamTiles = [] {
  TileSizes tiles = gpuTiles;
  tiles.linearRows = 128;
  tiles.stagedSteps = 16;
  tiles.rowQuads = 4;
  return tiles;
}();

} // namespace heddle
