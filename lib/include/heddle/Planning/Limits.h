//===- Limits.h - Limits of all targets' tiles -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits that hold for the tiles of every target, for code that runs before the
// target is known.
#pragma once

#include "heddle/Target/TileSizes.h"

#include <algorithm>

namespace heddle {

/// Maximum number of features of a row if a tile holds whole rows.
inline constexpr int64_t mostRowFeatures = cpuTiles.mostValues;
/// Maximum number of features of a head's values.
inline constexpr int64_t mostValueFeatures = cpuTiles.mostValues / cpuTiles.attentionRows.back();

/// Largest number of rows of an attention tile on any device. Grids over packed documents have room
/// for the tiles of every device.
inline constexpr int64_t largestAttentionRows = cpuTiles.attentionRows.front();
/// Largest number of rows in a tile of a product.
inline constexpr int64_t largestLinearRows =
    std::max({cpuTiles.linearRows, gpuTiles.linearRows, teamTiles.linearRows});
static_assert(largestAttentionRows >= gpuTiles.attentionRows.front());

/// A number of keys that the chunks of every device divide.
inline constexpr int64_t commonChunk = std::max(cpuTiles.chunk, gpuTiles.chunk);
static_assert(commonChunk % cpuTiles.chunk == 0 && commonChunk % gpuTiles.chunk == 0);

/// Queries and keys of a CPU's attention tile for heads of common size.
inline constexpr int64_t cpuQueries = cpuTiles.attentionRows.front(), cpuChunk = cpuTiles.chunk;

} // namespace heddle
