//===- ExpressionCursor.h - Lexer of expressions ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lexer of expressions: words, numbers, punctuation, and errors that mark the place with a
// caret.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

/// A position in the text of an expression. Only the first error is kept.
class ExpressionCursor {
public:
  explicit ExpressionCursor(std::string_view text) : text(text) {}

  void skip();
  bool atEnd();
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  /// Consumes `word` if it comes next.
  bool take(std::string_view word);
  void expect(std::string_view word);
  /// Consumes a name of letters, digits, '_', '.' and, if `dashes`, '-', which does not begin with
  /// a digit.
  std::string name(bool dashes = true);
  bool atName();
  bool atNumber();
  /// Consumes a text in quotes of the character `quote`, which comes next; there are no escapes.
  std::string quoted(char quote);
  /// Consumes a 32-bit integer.
  int64_t integer();
  /// Consumes an integer or a real number; `isReal` tells which.
  double number(bool &isReal);

  void fail(const std::string &expected);
  void report(const std::string &message, size_t where);
  void report(const std::string &message) { report(message, at); }
  void outOfRange(const std::string &expected, size_t start, const char *end);
  size_t place() const { return at; }
  bool failed() const { return error.has_value(); }
  Error takeError() { return *error; }

  /// Counts nesting, because parentheses in hostile input could exhaust the stack.
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
