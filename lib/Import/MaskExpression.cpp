//===- MaskExpression.cpp - Masks as formulas -----------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recursive descent over the text. Depth is bounded: a hostile line of
// parentheses must not exhaust the stack.
//
//===----------------------------------------------------------------------===//

#include "MaskExpression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

using namespace heddle;
using Kind = MaskExpression::Kind;

bool MaskExpression::uses(Kind wanted, std::string_view name) const {
  if (kind == wanted && input == name)
    return true;
  return std::any_of(operands.begin(), operands.end(),
                     [&](const MaskExpression &o) { return o.uses(wanted, name); });
}

namespace {
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Expected<MaskExpression> run() {
    skip();
    if (at == text.size())
      return inputError("expected a mask, found an empty expression");
    MaskExpression result = disjunction();
    skip();
    if (!error && at < text.size())
      fail("an operator or the end");
    if (error)
      return *error;
    return result;
  }

private:
  MaskExpression chain(char op, Kind kind, MaskExpression (Parser::*next)());
  MaskExpression disjunction() { return chain('|', Kind::Or, &Parser::conjunction); }
  MaskExpression conjunction() { return chain('&', Kind::And, &Parser::unary); }
  MaskExpression unary();
  MaskExpression call();
  std::string name();
  std::optional<int64_t> number();
  void skip() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool take(char c) {
    skip();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!take(c))
      fail(std::string("'") + c + "'");
  }
  void fail(const std::string &expected);
  void report(const std::string &message, size_t at);

  std::string_view text;
  size_t at = 0;
  int depth = 0, calls = 0;
  std::optional<Error> error;
};
} // namespace

/// "column 8: MESSAGE", then the text on one line and a caret below the byte `at`. Columns are code
/// points, counted from 1.
static std::string pointed(const std::string &message, std::string_view text, size_t at) {
  std::string line(text);
  size_t column = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    auto byte = static_cast<unsigned char>(line[i]);
    if (byte < 32 || byte == 127)
      line[i] = ' ';
    bool continues = (byte & 0xC0) == 0x80; // the second byte of a code point or a later one
    column += i < at && !continues;
  }
  return "column " + std::to_string(column + 1) + ": " + message + "\n  " + line + "\n  " +
         std::string(column, ' ') + "^";
}

void Parser::report(const std::string &message, size_t at) {
  if (!error)
    error = inputError(pointed(message, text, at));
}

void Parser::fail(const std::string &expected) {
  skip();
  size_t end = at + 1; // of the code point that stands here
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    ++end;
  std::string found =
      at < text.size() ? "'" + std::string(text.substr(at, end - at)) + "'" : "the end";
  report("expected " + expected + ", found " + found, at);
}

MaskExpression Parser::chain(char op, Kind kind, MaskExpression (Parser::*next)()) {
  MaskExpression left = (this->*next)();
  while (!error && take(op)) {
    MaskExpression node;
    node.kind = kind;
    node.operands.push_back(std::move(left));
    node.operands.push_back((this->*next)());
    left = std::move(node);
  }
  return left;
}

MaskExpression Parser::unary() {
  if (++depth > 200)
    report("expected at most 200 levels", at);
  MaskExpression result;
  if (error) {
    // Unwinds.
  } else if (take('!')) {
    result.kind = Kind::Not;
    result.operands.push_back(unary());
  } else if (take('(')) {
    result = disjunction();
    expect(')');
  } else {
    result = call();
  }
  --depth;
  return result;
}

std::string Parser::name() {
  skip();
  size_t start = at;
  auto part = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  };
  while (at < text.size() && part(text[at]) &&
         !(at == start && std::isdigit(static_cast<unsigned char>(text[at]))))
    ++at;
  if (at == start)
    fail("a name");
  return std::string(text.substr(start, at - start));
}

std::optional<int64_t> Parser::number() {
  skip();
  if (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at]))) {
    report("an input as offset is not built yet", at);
    return std::nullopt;
  }
  int32_t value = 0;
  auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (code != std::errc()) {
    report("expected an integer of 32 bits", at);
    return std::nullopt;
  }
  at = end - text.data();
  return value;
}

MaskExpression Parser::call() {
  skip();
  size_t start = at;
  std::string word = name();
  MaskExpression node;
  if (++calls > 1000) // chains become nested ops
    report("expected at most 1000 masks in one expression", start);
  if (error)
    return node;
  if (word == "causal") {
    if (take('(')) {
      node.offset = number();
      if (!error)
        expect(')');
    }
    return node;
  }
  constexpr std::array<std::pair<std::string_view, Kind>, 4> named = {{{"lengths", Kind::Lengths},
                                                                       {"keep", Kind::Keep},
                                                                       {"hide", Kind::Hide},
                                                                       {"dense", Kind::Dense}}};
  for (const auto &[known, kind] : named)
    if (word == known) {
      node.kind = kind;
      expect('(');
      if (!error)
        node.input = name();
      if (!error)
        expect(')');
      return node;
    }
  constexpr std::array<std::string_view, 6> later = {"window",           "prefix", "documents",
                                                     "documents_packed", "blocks", "where"};
  if (std::find(later.begin(), later.end(), word) != later.end())
    report("'" + word + "' is not built yet", start);
  else
    report("expected a mask (causal, lengths, keep, hide, dense), found '" + word + "'", start);
  return node;
}

Expected<MaskExpression> heddle::parseMask(std::string_view text) { return Parser(text).run(); }
