//===- MaskExpression.h - Masks and score rules as formulas ----*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expressions of masks in model descriptions and on the command line:
//
//   or  := and ('|' and)*
//   and := not ('&' not)*
//   not := '!' not | '(' or ')' | NAME ['(' arguments ')']
//
// and of score rules: NAME ['(' arguments ')'] joined by '+'. The formulas of
// where(...) are in Formula.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Formula.h"

#include <span>

namespace heddle {

struct MaskExpression {
  enum class Kind {
    // Masks.
    Causal,
    Window,
    Lengths,
    Keep,
    Hide,
    Prefix,
    Documents,
    PackedDocuments,
    Blocks,
    And,
    Or,
    Not,
    // Score rules.
    Alibi,
    Relative,
    Add,
    // Either.
    Dense,
    Where
  } kind = Kind::Causal;
  std::vector<std::string> inputs; ///< as many as the kind has
  /// window: before, after; blocks: rows, columns; relative: buckets, maximum distance.
  std::vector<int64_t> numbers;
  /// Of causal and window: a number, or the name of an i32 input; neither: what the call makes it.
  std::optional<int64_t> offset;
  std::string offsetInput;
  Formula formula; ///< of where
  std::vector<MaskExpression> operands;

  /// The first part of a kind, with an input of that name if one is given; null if there is none.
  const MaskExpression *find(Kind kind, std::string_view input = {}) const;
  bool uses(Kind kind, std::string_view input = {}) const { return find(kind, input); }
};

/// Parses `text`; the error's message shows the place with a caret.
Expected<MaskExpression> parseMask(std::string_view text);
Expected<MaskExpression> parseScoreRule(std::string_view text);

} // namespace heddle
