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

/// The class of each tile, row by row. All tiles have one size, except those cut by the end of the
/// attention or of a packed document.
struct TileMap {
  int64_t tileRows, tileColumns; // size of a tile
  int64_t rows, columns;         // numbers of tiles
  std::vector<TileClass> classes;
  std::vector<int64_t> rowStarts, columnStarts; // of each tile, then the end

  TileClass at(int64_t row, int64_t column) const { return classes[row * columns + column]; }
  int64_t count(TileClass which) const;
  /// Elements of the visited tiles as a fraction of all elements.
  double visited(int64_t queries, int64_t keys) const;
};

/// Columns of a tile that kernels with this chunk test against the mask. Narrower than 64 where
/// that lets tiles end at the block boundaries of a `mask.blocks`.
int64_t visitTileColumns(mlir::Value mask, int64_t chunk);

/// Limit of the tiles of a map: more would take minutes and gigabytes.
inline constexpr int64_t mostTiles = int64_t(1) << 22;

/// Classifies the tiles of one batch element and head. Packed documents: coordinates are those of
/// the packed row (`place.batch` is ignored), and tiles start anew at each document, as in kernels.
/// With `hidden_score` no tile is empty, because hidden pairs count too.
llvm::Expected<TileMap> computeTileMap(ScoresOpInterface op, const MaskPlace &place,
                                       const MaskInputs &inputs, int64_t tileRows,
                                       int64_t tileColumns);

} // namespace heddle::transformer
