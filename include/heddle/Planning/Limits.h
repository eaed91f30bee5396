//===- Limits.h - Limits of all targets' tiles -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that hold for the tiles of every target, for code that runs before a
// target is known.
#pragma once

#include "heddle/Target/TileSizes.h"

#include <algorithm>

namespace heddle {

/// Features that a row may have where a tile holds whole rows.
inline constexpr int64_t mostRowFeatures = cpuTiles.mostValues;
/// Features that the values of an attention's head may have.
inline constexpr int64_t mostValueFeatures = cpuTiles.mostValues / cpuTiles.attentionRows.back();

/// Rows of attention's tile on the device where they are most. Grids over packed documents have room
/// for the tiles of every device.
inline constexpr int64_t largestAttentionRows = cpuTiles.attentionRows.front();
static_assert(largestAttentionRows >= gpuTiles.attentionRows.front());

/// A number of keys that the chunks of every device divide.
inline constexpr int64_t commonChunk = std::max(cpuTiles.chunk, gpuTiles.chunk);
static_assert(commonChunk % cpuTiles.chunk == 0 && commonChunk % gpuTiles.chunk == 0);

/// Queries and keys of a CPU's tile of attention, where heads are of usual size.
inline constexpr int64_t cpuQueries = cpuTiles.attentionRows.front(),
                         cpuChunk = cpuTiles.chunk;

} // namespace heddle
