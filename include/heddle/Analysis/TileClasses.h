//===- TileClasses.h - Which tiles of an attention are visited --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes of all tiles of an attention under its mask, for reports and pictures.
#pragma once

#include "heddle/Analysis/MaskEvaluator.h"

namespace heddle::transformer {

class ScoresOpInterface;

enum class TileClass : uint8_t { Empty, Partial, Full };

/// One class a tile, row by row. Tiles are of one size but for those that an end cuts: the end of
/// the attention, or of a packed document.
struct TileMap {
  int64_t tileRows, tileColumns; // of one tile
  int64_t rows, columns;         // tiles
  std::vector<TileClass> classes;
  std::vector<int64_t> rowStarts, columnStarts; // and the end

  TileClass at(int64_t row, int64_t column) const { return classes[row * columns + column]; }
  int64_t count(TileClass which) const;
  /// Elements of the tiles that are visited, over all elements.
  double visited(int64_t queries, int64_t keys) const;
};

/// Columns of the tiles that a kernel with this chunk visits: a table of blocks cuts them at its
/// own.
int64_t visitTileColumns(mlir::Value mask, int64_t chunk);

/// As many tiles as a map may have: more would take minutes and gigabytes.
inline constexpr int64_t mostTiles = int64_t(1) << 22;

/// Classes for one sequence and one head. Under packed documents the map counts in the packed row
/// (`place.batch` means nothing), and each document has tiles of its own, as it has in kernels.
/// Where scores are replaced no tile is empty: hidden pairs count too.
llvm::Expected<TileMap> computeTileMap(ScoresOpInterface op, const MaskPlace &place,
                                       const MaskInputs &inputs, int64_t tileRows,
                                       int64_t tileColumns);

} // namespace heddle::transformer
