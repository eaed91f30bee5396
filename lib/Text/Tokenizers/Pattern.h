//===- Pattern.h - Patterns of Split and Replace ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pattern is a literal text or a regular expression in Oniguruma's syntax.
// Hand-written scanners match the few expressions that nearly all models use;
// ICU matches the others.
#pragma once

#include "JsonField.h"

#include "heddle/Tokenizers/Tokenizer.h"

#include <memory>

namespace heddle::tokenizers {

/// Finds matches in texts.
class Pattern {
public:
  virtual ~Pattern() = default;
  /// Appends the matches of a text, in order. Two empty matches never have the same offset.
  virtual Status find(std::string_view text, std::vector<TokenSpan> &matches) const = 0;
};

/// `{"String": "…"}` or `{"Regex": "…"}`.
Expected<std::unique_ptr<Pattern>> readPattern(const JsonField &field);

/// Keys `pattern` and `content` of a Replace component.
struct Replacement {
  std::unique_ptr<Pattern> pattern;
  std::string content;

  static Expected<Replacement> read(const JsonField &field);
  /// The parts of `text` that `content` replaces. Returns an error if the text would grow too
  /// large.
  Expected<std::vector<TokenSpan>> find(std::string_view text) const;
};

/// The expression that ByteLevel splits by.
extern const char *const gpt2Regex;
std::unique_ptr<Pattern> gpt2Pattern();

} // namespace heddle::tokenizers
