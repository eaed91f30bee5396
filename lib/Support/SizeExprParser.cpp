//===- SizeExprParser.cpp - Text of size expressions -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recursive descent over the grammar in SizeExpr.h. The text may come from a
// damaged file: nesting and length are bounded.

#include "SizeExprNode.h"

#include "heddle/Support/Try.h"

#include <charconv>

namespace heddle {

namespace {

using Op = size_expr::Op;

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c) || c == '.'; }

} // namespace

/// One function a rule of the grammar; `nesting` counts what is open around it.
class SizeExprParser {
public:
  explicit SizeExprParser(std::string_view text) : text(text) {}

  Expected<SizeExpr> parseAll() {
    auto value = parseSum(0);
    if (value && peek() != 0)
      return fail("the end");
    return value;
  }

private:
  /// The next character that is no space, or 0.
  char peek() {
    while (at < text.size() && text[at] == ' ')
      ++at;
    return at < text.size() ? text[at] : 0;
  }
  bool eat(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  Error fail(const std::string &expected) {
    std::string found = peek() == 0 ? "the end" : quotedText(text.substr(at, 16));
    return inputError("size " + quotedText(text) + ": expected " + expected + " at character " +
                      std::to_string(at + 1) + ", found " + found);
  }
  /// Long sums are deep to the left even where nothing is nested.
  Expected<SizeExpr> combine(char op, const SizeExpr &a, const SizeExpr &b) {
    if (std::max(a.depth(), b.depth()) >= size_expr::maxDepth)
      return fail("at most " + std::to_string(size_expr::maxDepth) +
                  " operations above each other");
    return SizeExpr::make(op, a, b);
  }

  Expected<SizeExpr> parseSum(int nesting) {
    auto value = parseProduct(nesting);
    while (value && (peek() == '+' || peek() == '-')) {
      char op = text[at++];
      auto right = HEDDLE_TRY(parseProduct(nesting));
      value = combine(op, *value, right);
    }
    return value;
  }

  Expected<SizeExpr> parseProduct(int nesting) {
    auto value = parseFactor(nesting);
    while (value && eat('*')) {
      auto right = HEDDLE_TRY(parseFactor(nesting));
      value = combine(Op::Multiply, *value, right);
    }
    return value;
  }

  Expected<SizeExpr> parseFactor(int nesting) {
    if (nesting >= size_expr::maxDepth)
      return fail("less nesting");
    char next = peek();
    if (isDigit(next) || next == '-')
      return parseNumber();
    if (isNameStart(next))
      return parseName(nesting);
    if (!eat('('))
      return fail("a number, a name or '('");
    auto value = parseSum(nesting + 1);
    if (value && !eat(')'))
      return fail("')'");
    return value;
  }

  /// A minus belongs to a number only: -B is written 0 - B.
  Expected<SizeExpr> parseNumber() {
    int64_t value = 0;
    auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code != std::errc() || value > size_expr::limit || value < -size_expr::limit)
      return fail("an integer within 2^62");
    at = end - text.data();
    return SizeExpr(value);
  }

  /// A name before '(' is a function, any other a dimension, be it called "min".
  Expected<SizeExpr> parseName(int nesting) {
    size_t start = at;
    while (at < text.size() && isNamePart(text[at]))
      ++at;
    std::string_view name = text.substr(start, at - start);
    if (peek() != '(')
      return SizeExpr::dim(std::string(name));
    for (auto [op, function] : size_expr::functionNames)
      if (name == function)
        return parseArguments(op, nesting + 1);
    at = start;
    return fail("ceildiv, floordiv, roundup, min or max");
  }

  Expected<SizeExpr> parseArguments(char op, int nesting) {
    eat('(');
    auto left = HEDDLE_TRY(parseSum(nesting));
    if (!eat(','))
      return fail("','");
    auto right = HEDDLE_TRY(parseSum(nesting));
    if (!eat(')'))
      return fail("')'");
    return combine(op, left, right);
  }

  std::string_view text;
  size_t at = 0;
};

Expected<SizeExpr> SizeExpr::parse(std::string_view text) {
  return SizeExprParser(text).parseAll();
}

} // namespace heddle
