//===- Tiles.h - The tiles that a mask leaves ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The answer of `heddle explain --tiles`: for one attention of a model and given
// sizes, which tiles of queries by keys are empty, partly allowed or full, by the
// same analysis that kernels carry. Masks that depend on data are drawn for data
// that the answer names.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/SizeExpr.h"

namespace heddle {

struct TileQuestion {
  std::string layer; ///< "encoder.3", "decoder.3", "decoder.3.cross"; empty: the only attention
  Dimensions dims;
};

enum class TileKind : uint8_t { Empty, Partial, Full };

struct TilePicture {
  std::string layer, function, mask; ///< the mask as an expression, "none" without one
  int64_t queries = 0, keys = 0;
  int64_t tileRows = 1, tileColumns = 1;        ///< elements of a tile
  int64_t rows = 0, columns = 0;                ///< tiles
  std::vector<TileKind> tiles;                  ///< row by row
  std::vector<int64_t> rowStarts, columnStarts; ///< first element of each, and the end
  double saved = 0;                             ///< part of all scores that no kernel computes
  std::vector<std::string> notes;               ///< what else must be known to read it
  std::vector<std::string> assumptions;         ///< "target.lengths = 4096"

  TileKind at(int64_t row, int64_t column) const { return tiles[row * columns + column]; }
  int64_t count(TileKind kind) const;
};

Expected<TilePicture> explainTiles(const std::string &model, const TileQuestion &question,
                                   const CompileOptions &options = {});

/// A map of characters, at most about a hundred a line.
std::string pictureText(const TilePicture &picture);
/// A drawing that needs nothing beside it.
std::string pictureSvg(const TilePicture &picture);
std::string pictureHtml(const TilePicture &picture, const std::string &title);

} // namespace heddle
