//===- MaskExpression.h - Masks as formulas --------------------*- C++ -*-===//
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
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct MaskExpression {
  enum class Kind { Causal, Lengths, Keep, Hide, Dense, And, Or, Not } kind = Kind::Causal;
  std::string input;             ///< of lengths, keep, hide, dense
  std::optional<int64_t> offset; ///< of causal
  std::vector<MaskExpression> operands;

  bool uses(Kind kind, std::string_view input) const;
};

/// Parses `text`; the error's message shows the place with a caret.
Expected<MaskExpression> parseMask(std::string_view text);

} // namespace heddle
