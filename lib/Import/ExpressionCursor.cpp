//===- ExpressionCursor.cpp - Lexer of expressions ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns in errors count code points from 1; control characters are printed as blanks.

#include "ExpressionCursor.h"

#include <cctype>
#include <charconv>
#include <cmath>

using namespace heddle;

static bool isLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
static bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

/// Start of the excerpt around byte `at` that an error prints on one line.
static size_t pieceAround(std::string_view text, size_t at) {
  constexpr size_t before = 60;
  size_t first = text.size() > 2 * before && at > before ? at - before : 0;
  while (first > 0 && (static_cast<unsigned char>(text[first]) & 0xC0) == 0x80)
    --first; // do not split a code point
  return first;
}

/// Formats "column 8: MESSAGE", the text on one line and a caret below the byte `at`.
static std::string pointed(const std::string &message, std::string_view text, size_t at) {
  constexpr size_t most = 120;
  std::string line(text);
  size_t column = 0, hidden = 0, first = pieceAround(text, at);
  for (size_t i = 0; i < line.size(); ++i) {
    auto byte = static_cast<unsigned char>(line[i]);
    if (byte < 32 || byte == 127)
      line[i] = ' ';
    bool continues = (byte & 0xC0) == 0x80; // not the first byte of a code point
    column += i < at && !continues;
    hidden += i < first && !continues;
  }
  std::string number = std::to_string(column + 1);
  line = line.substr(first);
  if (line.size() > most) {
    size_t end = most;
    while ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80)
      --end;
    line = line.substr(0, end) + "...";
  }
  return "column " + number + ": " + message + "\n  " + line + "\n  " +
         std::string(column - hidden, ' ') + "^";
}

void ExpressionCursor::report(const std::string &message, size_t where) {
  if (!error)
    error = inputError(pointed(message, text, where));
}

void ExpressionCursor::fail(const std::string &expected) {
  skip();
  size_t end = at + 1; // end of the code point at `at`
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    ++end;
  std::string found =
      at < text.size() ? "'" + std::string(text.substr(at, end - at)) + "'" : "the end";
  report("expected " + expected + ", found " + found, at);
}

void ExpressionCursor::skip() {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
    ++at;
}

bool ExpressionCursor::atEnd() {
  skip();
  return at >= text.size();
}

bool ExpressionCursor::take(std::string_view word) {
  skip();
  if (text.substr(at, word.size()) != word)
    return false;
  at += word.size();
  return true;
}

void ExpressionCursor::expect(std::string_view word) {
  if (!take(word))
    fail("'" + std::string(word) + "'");
}

bool ExpressionCursor::atName() {
  skip();
  return isLetter(peek());
}

bool ExpressionCursor::atNumber() {
  skip();
  return isDigit(peek()) || (peek() == '.' && at + 1 < text.size() && isDigit(text[at + 1]));
}

std::string ExpressionCursor::name(bool dashes) {
  if (!atName())
    fail("a name");
  size_t start = at;
  while (at < text.size() && (isLetter(text[at]) || isDigit(text[at]) || text[at] == '.' ||
                              (dashes && text[at] == '-')))
    ++at;
  return failed() ? "" : std::string(text.substr(start, at - start));
}

std::string ExpressionCursor::quoted(char quote) {
  size_t start = at, end = text.find(quote, start + 1);
  if (end == std::string_view::npos) {
    report(std::string("expected a text that ends with ") + quote + ", found the end", start);
    return {};
  }
  at = end + 1;
  return std::string(text.substr(start + 1, end - start - 1));
}

/// Reports the number from byte `start` to `end` as out of range.
void ExpressionCursor::outOfRange(const std::string &expected, size_t start, const char *end) {
  std::string_view found(text.data() + start, static_cast<size_t>(end - text.data()) - start);
  report("expected " + expected + ", found " + quotedText(found), start);
}

int64_t ExpressionCursor::integer() {
  skip();
  int32_t value = 0;
  auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (code == std::errc::result_out_of_range)
    outOfRange("an integer of 32 bits", at, end);
  else if (code != std::errc())
    fail("an integer");
  else
    at = end - text.data();
  return value;
}

double ExpressionCursor::number(bool &isReal) {
  skip();
  size_t start = at;
  double value = 0;
  auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (code == std::errc::result_out_of_range || (code == std::errc() && !std::isfinite(value)))
    outOfRange("a finite number", start, end);
  else if (code != std::errc())
    fail("a number");
  at = code == std::errc() ? end - text.data() : at;
  isReal = text.substr(start, at - start).find_first_of(".eE") != std::string_view::npos;
  if (!isReal && std::abs(value) > 2147483647.0)
    outOfRange("an integer of 32 bits", start, end);
  return value;
}
