//===- Pattern.h - What Split and Replace look for -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text, or a regular expression as Oniguruma reads it: by a scanner of its own
// where it is one of the few that nearly all models use, by ICU otherwise.
#pragma once

#include "JsonField.h"

#include "heddle/Tokenizers/Tokenizer.h"

#include <memory>

namespace heddle::tokenizers {

class Pattern {
public:
  virtual ~Pattern() = default;
  /// The parts of a text that match, in order. Two that are empty never stand at one place.
  virtual Status find(std::string_view text, std::vector<TokenSpan> &matches) const = 0;
};

/// `{"String": "…"}` or `{"Regex": "…"}`.
Expected<std::unique_ptr<Pattern>> readPattern(const JsonField &field);

/// `pattern` and `content` of the components Replace.
struct Replacement {
  std::unique_ptr<Pattern> pattern;
  std::string content;

  static Expected<Replacement> read(const JsonField &field);
  /// The parts of a text that `content` replaces; an error where the text would grow without bounds.
  Expected<std::vector<TokenSpan>> find(std::string_view text) const;
};

/// What ByteLevel splits by.
extern const char *const gpt2Regex;
std::unique_ptr<Pattern> gpt2Pattern();

} // namespace heddle::tokenizers
