//===- MaskExpression.h - Masks and score rules as text --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses masks of model descriptions and of the command line, which `|`, `&` and `!` join, and score
// rules, which `+` joins. The grammar is in Expression.h. Formula.h has the formulas of where(...).
// A text is parsed once; each function builds its ops from the tree (MaskBuilder.h).
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct Expression;

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
  std::vector<std::string> inputs; ///< names of inputs, as the kind requires; for where: its tables
  /// window: before, after; blocks: rows, columns; relative: buckets, maximum distance;
  /// query_distance, key_distance: the distance beyond which all are equal.
  std::vector<int64_t> numbers;
  /// causal and window: a number, or an i32 input `offsetInput`; if neither, the function's
  /// default.
  std::optional<int64_t> offset;
  float factor = 1; ///< alibi: factor of the slopes
  std::string offsetInput;
};

/// An expression that has been parsed and checked.
struct MaskExpression {
  using Kind = MaskCall::Kind;
  std::string text;
  bool scoreRule = false;
  std::shared_ptr<const Expression> tree;
  std::vector<MaskCall> calls;
  /// Whether a mask certainly lets a query see later keys. For formulas, tables and offsets from
  /// inputs this is unknown, so false.
  bool seesAhead = false;
  /// Whether `&` is the only operator.
  bool conjunction = true;

  /// Returns the first call of a kind, with `input` among its inputs if given; null if there is
  /// none.
  const MaskCall *find(Kind kind, std::string_view input = {}) const;
  bool uses(Kind kind, std::string_view input = {}) const { return find(kind, input); }
  /// Returns whether a query certainly sees no later key, in the stack's own tokens.
  bool hidesLater() const;
};

/// Parses `text`; an error marks the place with a caret.
Expected<MaskExpression> parseMask(std::string_view text);
Expected<MaskExpression> parseScoreRule(std::string_view text);

} // namespace heddle
