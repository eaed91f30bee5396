//===- Positions.h - Positional encodings of a model -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explanation of positions, for `heddle explain --positions`: the sinusoidal positional encodings
// that a model adds to its embeddings, as numbers and as a picture. They are computed by the
// generator that fills the runtime's tables.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/SizeExpr.h"

namespace heddle {

struct PositionTable {
  std::string kind;                   ///< "sinusoidal"
  std::vector<std::string> functions; ///< functions that add it
  double scale = 1;
  int64_t positions = 0, features = 0;
  std::vector<float> values; ///< [positions, features], multiplied by `scale`

  float at(int64_t position, int64_t feature) const {
    return values[static_cast<size_t>(position * features + feature)];
  }
};

/// Tables of all functions, each once. `dims` gives the number of positions by the dimension of a
/// function's sequences ("S", "T"); the default is 100.
Expected<std::vector<PositionTable>> explainPositions(const std::string &model,
                                                      const Dimensions &dims,
                                                      const CompileOptions &options = {});

/// Headings and first numbers of the tables.
std::string pictureText(const std::vector<PositionTable> &tables);
/// Heat maps: positions downwards, features to the right.
std::string pictureSvg(const std::vector<PositionTable> &tables);
std::string pictureHtml(const std::vector<PositionTable> &tables, const std::string &title);

} // namespace heddle
