//===- TileClasses.h - Empty, partial and full tiles of masks ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classification of an attention's tiles under its mask, for reports and
// pictures.
#pragma once

#include "heddle/Analysis/MaskEvaluator.h"

namespace heddle::transformer {

class ScoresOpInterface;

enum class TileClass : uint8_t { Empty, Partial, Full };

/// The class of each tile, row by row. All tiles have the same size, except tiles that end with the
/// attention or with a packed document.
struct TileMap {
  int64_t tileRows, tileColumns; // size of a tile
  int64_t rows, columns;         // numbers of tiles
  std::vector<TileClass> classes;
  std::vector<int64_t> rowStarts, columnStarts; // start of each tile, followed by the end

  TileClass at(int64_t row, int64_t column) const { return classes[row * columns + column]; }
  int64_t count(TileClass which) const;
  /// Elements of the visited tiles as a fraction of all elements.
  double visited(int64_t queries, int64_t keys) const;
};

/// Number of columns of the tiles that kernels with this chunk test against the mask. It is below
/// 64 if tiles can then end at the block boundaries of a `mask.blocks`.
int64_t visitTileColumns(mlir::Value mask, int64_t chunk);

/// Limit of the number of tiles of a map. More tiles would take minutes and gigabytes.
inline constexpr int64_t mostTiles = int64_t(1) << 22;

/// Classifies the tiles of one batch element and head. Under packed documents, coordinates are
/// positions in the packed row (`place.batch` is ignored), and tiles restart at each document, as
/// in kernels. With `hidden_score` no tile is empty, because hidden pairs count too. Returns an
/// error if data are missing or malformed, or if there are more than `mostTiles` tiles.
llvm::Expected<TileMap> computeTileMap(ScoresOpInterface op, const MaskPlace &place,
                                       const MaskInputs &inputs, int64_t tileRows,
                                       int64_t tileColumns);

} // namespace heddle::transformer
