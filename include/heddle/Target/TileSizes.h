//===- TileSizes.h - Tile sizes of CPUs and GPUs ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile sizes, the only difference between tiled bodies of different targets.
// All CPUs share theirs, whatever the instruction set; each level of Vulkan
// devices has its own (GpuTarget.h).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace heddle {

struct TileSizes {
  int64_t linearRows;
  std::span<const int64_t> linearColumns; ///< the first that divides the columns is chosen
  /// Whether columns that only the narrowest of these divides, or many that the first one does not, are cut
  /// in two: as many as the first one divides, and the rest.
  bool cutsColumns;
  /// Rows of a tile where linear layers have a form for few rows, 0: they have none; and its columns.
  int64_t fewRows;
  std::span<const int64_t> fewRowColumns;
  /// Rows of attention's tile: the first that keeps the tile below `mostValues`.
  std::span<const int64_t> attentionRows;
  /// Whether one query is a tile of its own. Its rows are the heads that share keys, where a mask
  /// allows it: keys are then read once for all of them.
  bool groupsHeads;
  int64_t chunk; ///< keys of one step of the online softmax (docs/semantics.md)
  int64_t weightsRows, normRows, softmaxRows, copyRows;
  /// Quads of a GPU's invocations that share a row which is reduced, at most.
  int64_t rowQuads = 1;
  std::span<const int64_t> copyColumns; ///< the first that divides the columns is chosen
  std::span<const int64_t> poolColumns; ///< likewise, for rows that are summed
  /// Limit of the values in a tile of rows of attention and norms. A row's result does not depend
  /// on how many rows share its tile.
  int64_t mostValues;
  /// Steps of a block of products of many rows that a workgroup stages in its memory; 0: invocations
  /// load what they multiply.
  int64_t stagedSteps = 0;
  /// Whether products go through the device's matrix units.
  bool multipliesMatrices = false;
};

/// The first of `sizes` that divides `extent`, else the last.
constexpr int64_t firstDividing(std::span<const int64_t> sizes, int64_t extent) {
  for (int64_t size : sizes)
    if (extent % size == 0)
      return size;
  return sizes.back();
}

/// Columns of one quad's step over a row that is reduced, the lanes of a sum, and its invocations.
inline constexpr int64_t laneColumns = 16, quadInvocations = 4;

/// Quads that share a row of `columns`: as many as have the same number of steps.
constexpr int64_t quadsOfRow(const TileSizes &sizes, int64_t columns) {
  int64_t quads = sizes.rowQuads;
  while (quads > 1 && columns % (laneColumns * quads) != 0)
    quads /= 2;
  return quads;
}

/// Rows of a tile whose rows are reduced: fewer the more quads share each.
constexpr int64_t rowsOfQuads(const TileSizes &sizes, int64_t rows, int64_t columns) {
  return rows / quadsOfRow(sizes, columns);
}

inline constexpr std::array<int64_t, 4> copyTileColumns{64, 48, 32, 16},
    cpuLinearColumns{48, 64, 32, 16}, gpuLinearColumns{128, 64, 32, 16};
inline constexpr std::array<int64_t, 3> cpuAttentionRows{96, 48, 16};
inline constexpr std::array<int64_t, 1> gpuAttentionRows{32}, gpuPoolColumns{16},
    gpuFewRowColumns{16};

/// Tiles of rows are on a thread's stack, hence `mostValues`.
inline constexpr TileSizes cpuTiles{.linearRows = 128,
                                    .linearColumns = cpuLinearColumns,
                                    .cutsColumns = true,
                                    .fewRows = 0,
                                    .fewRowColumns = {},
                                    .attentionRows = cpuAttentionRows,
                                    .groupsHeads = true,
                                    .chunk = 512,
                                    .weightsRows = 32,
                                    .normRows = 32,
                                    .softmaxRows = 4,
                                    .copyRows = 32,
                                    .copyColumns = copyTileColumns,
                                    .poolColumns = copyTileColumns,
                                    .mostValues = 96 * 1024};

/// 16 KiB of workgroup memory hold a strip of 32 rows by 64 keys and its statistics. Values that a
/// pool's loop carries are in registers: four columns in each of a row's four invocations.
inline constexpr TileSizes gpuTiles{.linearRows = 64,
                                    .linearColumns = gpuLinearColumns,
                                    .cutsColumns = false,
                                    .fewRows = 8,
                                    .fewRowColumns = gpuFewRowColumns,
                                    .attentionRows = gpuAttentionRows,
                                    .groupsHeads = false,
                                    .chunk = 64,
                                    .weightsRows = 32,
                                    .normRows = 16,
                                    .softmaxRows = 16,
                                    .copyRows = 32,
                                    .copyColumns = copyTileColumns,
                                    .poolColumns = gpuPoolColumns,
                                    .mostValues = std::numeric_limits<int64_t>::max()};

/// Of real GPUs: 17 KiB of workgroup memory hold 16 steps of 128 rows and of 128 columns. The bits are
/// those of `gpuTiles`, so its chunk is the same.
inline constexpr TileSizes teamTiles = [] {
  TileSizes tiles = gpuTiles;
  tiles.linearRows = 128;
  tiles.stagedSteps = 16;
  tiles.rowQuads = 4;
  return tiles;
}();

} // namespace heddle
