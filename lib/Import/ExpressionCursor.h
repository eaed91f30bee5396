//===- ExpressionCursor.h - A place in the text of an expression -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the parsers of masks, formulas and configurations: words, numbers, punctuation,
// and errors that show the place with a caret. The first error stays.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

class ExpressionCursor {
public:
  explicit ExpressionCursor(std::string_view text) : text(text) {}

  void skip();
  bool atEnd();
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  /// Takes `word` if it stands here.
  bool take(std::string_view word);
  void expect(std::string_view word);
  /// A name of letters, digits, '_', '.' and, where `dashes`, '-'; it does not begin with a digit.
  std::string name(bool dashes = true);
  bool atName();
  bool atNumber();
  /// A text between two of the character `quote`, which stands here; there are no escapes.
  std::string quoted(char quote);
  /// An integer of 32 bits.
  int64_t integer();
  /// An integer or a real number; the flag says which.
  double number(bool &isReal);

  void fail(const std::string &expected);
  void report(const std::string &message, size_t where);
  void report(const std::string &message) { report(message, at); }
  void outOfRange(const std::string &expected, size_t start, const char *end);
  size_t place() const { return at; }
  bool failed() const { return error.has_value(); }
  Error takeError() { return *error; }

  /// Counts nesting: a hostile line of parentheses must not exhaust the stack.
  class Level {
  public:
    explicit Level(ExpressionCursor &in) : in(in) {
      if (++in.depth > 200)
        in.report("expected at most 200 levels, found more");
    }
    ~Level() { --in.depth; }

  private:
    ExpressionCursor &in;
  };

private:
  std::string_view text;
  size_t at = 0;
  int depth = 0;
  std::optional<Error> error;
};

} // namespace heddle
