//===- Positions.h - The tables of positions of a model --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The answer of `heddle explain --positions`: what a model adds to its embeddings to
// say where a token stands, as numbers and as a picture. The numbers are those that
// a run uses: sinusoids come from the generator that fills the runtime's tables.
#pragma once

#include "heddle/Compiler/Compiler.h"
#include "heddle/Support/SizeExpr.h"

namespace heddle {

struct PositionTable {
  std::string kind;                   ///< "sinusoidal"
  std::vector<std::string> functions; ///< those that add it
  double scale = 1;
  int64_t positions = 0, features = 0;
  std::vector<float> values; ///< [positions, features], as they are added: scaled

  float at(int64_t position, int64_t feature) const {
    return values[static_cast<size_t>(position * features + feature)];
  }
};

/// Every table once. `dims` says how many positions are shown: those of the dimension that a function
/// counts ("S", "T"), 100 where it is not given.
Expected<std::vector<PositionTable>> explainPositions(const std::string &model,
                                                      const Dimensions &dims,
                                                      const CompileOptions &options = {});

/// What the tables are, and their first numbers.
std::string pictureText(const std::vector<PositionTable> &tables);
/// Positions go down, features go right.
std::string pictureSvg(const std::vector<PositionTable> &tables);
std::string pictureHtml(const std::vector<PositionTable> &tables, const std::string &title);

} // namespace heddle
