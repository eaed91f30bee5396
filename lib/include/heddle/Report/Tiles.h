//===- Tiles.h - Block sparsity of an attention's mask ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explanation of masks, for `heddle explain --tiles`: empty, partial and full tiles of queries by
// keys for one attention of a model and given sizes, computed by the analysis that the kernels use.
// Masks that depend on data are drawn for assumed data, which the answer names.
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
  std::vector<int64_t> rowStarts, columnStarts; ///< first element of each tile, and the end
  double saved = 0;                             ///< share of all scores that kernels skip
  std::vector<std::string> notes;               ///< remarks for the reader
  std::vector<std::string> assumptions;         ///< "target.lengths: 4096"

  TileKind at(int64_t row, int64_t column) const { return tiles[row * columns + column]; }
  int64_t count(TileKind kind) const;
};

/// Usage error for an unknown layer or dimension, or for sizes that are too large for a picture.
Expected<TilePicture> explainTiles(const std::string &model, const TileQuestion &question,
                                   const CompileOptions &options = {});

/// Map of characters, at most 100 per line. If there are more tiles, a character represents
/// several.
std::string pictureText(const TilePicture &picture);
/// A self-contained SVG drawing.
std::string pictureSvg(const TilePicture &picture);
std::string pictureHtml(const TilePicture &picture, const std::string &title);

} // namespace heddle
