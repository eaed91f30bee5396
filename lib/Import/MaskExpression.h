//===- MaskExpression.h - Masks and score rules as text --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expressions of masks in model descriptions and on the command line:
//
//   or  := and ('|' and)*
//   and := not ('&' not)*
//   not := '!' not | '(' or ')' | NAME ['(' arguments ')']
//
// and of score rules: NAME ['(' arguments ')'] joined by '+'. The formulas of
// where(...) are in Formula.h. A text is parsed when it is read, which checks it,
// and again in each function that it becomes ops of (MaskBuilder.h).
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// One mask or score rule with its arguments.
struct MaskCall {
  enum class Kind {
    Causal,
    Window,
    Lengths,
    Keep,
    Hide,
    Prefix,
    Documents,
    PackedDocuments,
    Blocks,
    Dense,
    Where,
    Alibi,
    Relative,
    LayerRelative,
    QueryDistance,
    KeyDistance
  } kind = Kind::Causal;
  std::vector<std::string> inputs; ///< as many as the kind has; of where: its tables
  /// window: before, after; blocks: rows, columns; relative: buckets, maximum distance;
  /// query_distance, key_distance: the distance from which on all are alike.
  std::vector<int64_t> numbers;
  /// Of causal and window: a number, or the name of an i32 input; neither: what the call makes it.
  std::optional<int64_t> offset;
  float factor = 1; ///< alibi: of its slopes
  std::string offsetInput;
};

/// A text that was checked.
struct MaskExpression {
  using Kind = MaskCall::Kind;
  std::string text;
  bool scoreRule = false;
  std::vector<MaskCall> calls;
  /// Whether a mask surely lets a query see keys ahead of it. Formulas, tables and offsets that a
  /// caller gives may or may not.
  bool seesAhead = false;
  /// Whether its calls are joined by `&` alone.
  bool conjunction = true;

  /// The first call of a kind, with an input of that name if one is given; null if there is none.
  const MaskCall *find(Kind kind, std::string_view input = {}) const;
  bool uses(Kind kind, std::string_view input = {}) const { return find(kind, input); }
  /// Whether a query surely sees no key behind itself, counted from the stack's own tokens.
  bool hidesLater() const;
};

/// Parses `text`; the error's message shows the place with a caret.
Expected<MaskExpression> parseMask(std::string_view text);
Expected<MaskExpression> parseScoreRule(std::string_view text);

} // namespace heddle
