//===- Scanners.cpp - Regular expressions that most models use --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function tries the alternatives of its expression in their order.
#include "Scanners.h"

#include "Characters.h"
#include "heddle/Tokenizers/Utf8.h"

namespace heddle::tokenizers {

const char *const gpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::string_view qwenRegex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view cl100kRegex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view o200kRegex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr uint16_t notOther = WhiteSpace | RegexLetter | RegexNumber;

/// An offset in a text. The end of the text is in no class.
class Cursor {
public:
  explicit Cursor(std::string_view text) : text(text) {}

  size_t at() const { return place; }
  bool ended() const { return place == text.size(); }
  char byte(size_t ahead = 0) const {
    return place + ahead < text.size() ? text[place + ahead] : 0;
  }
  void move(size_t bytes) { place += bytes; }
  void moveTo(size_t other) { place = other; }

  bool isOf(uint16_t classes) const { return !ended() && (classesOf(peek()) & classes) != 0; }
  bool isOther() const { return !ended() && (classesOf(peek()) & notOther) == 0; }
  bool isLineEnd() const { return byte() == '\n' || byte() == '\r'; }
  void step() { place += pointSize(text[place]); }

  /// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and [\p{Ll}\p{Lm}\p{Lo}\p{M}].
  bool isUpper() const { return isLetterBut(RegexLower); }
  bool isLower() const { return isLetterBut(RegexUpper); }

  void runOf(uint16_t classes) {
    while (isOf(classes))
      step();
  }
  void runOfOthers() {
    while (isOther())
      step();
  }

  /// 's|'t|'re|'ve|'m|'ll|'d; if `anyCase`, upper case matches too, and U+017F matches s.
  bool contraction(bool anyCase) {
    if (byte() != '\'')
      return false;
    auto letter = [&](size_t ahead) {
      const char c = byte(ahead);
      return anyCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    const char first = letter(1), second = letter(2);
    size_t size = 0;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
      size = 2;
    else if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l'))
      size = 3;
    else if (anyCase && text.substr(place + 1).starts_with("\u017f"))
      size = 3;
    place += size;
    return size > 0;
  }

  /// \s+(?!\S)|\s+: the last of several blanks belongs to the word that follows.
  void blanks() {
    const size_t first = place;
    size_t last = place;
    while (isOf(WhiteSpace)) {
      last = place;
      step();
    }
    if (!ended() && last > first)
      place = last;
  }

private:
  bool isLetterBut(uint16_t other) const {
    const uint16_t classes = ended() ? 0 : classesOf(peek());
    return (classes & RegexMark) != 0 || ((classes & RegexLetter) != 0 && (classes & other) == 0);
  }
  char32_t peek() const {
    size_t next = place;
    return nextPoint(text, next);
  }
  std::string_view text;
  size_t place = 0;
};

void gpt2(Cursor &cursor) {
  if (cursor.contraction(false))
    return;
  const size_t first = cursor.at();
  if (cursor.byte() == ' ')
    cursor.move(1);
  if (cursor.isOf(RegexLetter))
    return cursor.runOf(RegexLetter);
  if (cursor.isOf(RegexNumber))
    return cursor.runOf(RegexNumber);
  if (cursor.isOther())
    return cursor.runOfOthers();
  cursor.moveTo(first);
  cursor.blanks();
}

/// \p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+; if `slashes`, the first set
/// of line ends has slashes too.
void noWord(Cursor &cursor, int digits, bool slashes) {
  const size_t first = cursor.at();
  if (cursor.isOf(RegexNumber)) {
    for (int i = 0; i < digits && cursor.isOf(RegexNumber); ++i)
      cursor.step();
    return;
  }
  if (cursor.byte() == ' ')
    cursor.move(1);
  if (cursor.isOther()) {
    cursor.runOfOthers();
    while (cursor.isLineEnd() || (slashes && cursor.byte() == '/'))
      cursor.move(1);
    return;
  }
  cursor.moveTo(first);
  size_t lineEnd = first;
  while (cursor.isOf(WhiteSpace)) {
    const bool ends = cursor.isLineEnd();
    cursor.step();
    if (ends)
      lineEnd = cursor.at();
  }
  cursor.moveTo(lineEnd);
  if (lineEnd == first)
    cursor.blanks();
}

/// `digits`: maximum number of digits in a piece.
void cl100k(Cursor &cursor, int digits) {
  if (cursor.contraction(true))
    return;
  const size_t first = cursor.at();
  if (!cursor.isOf(RegexLetter | RegexNumber) && !cursor.isLineEnd())
    cursor.step();
  if (cursor.isOf(RegexLetter))
    return cursor.runOf(RegexLetter);
  cursor.moveTo(first);
  noWord(cursor, digits, false);
}

/// U*L+ if `needsLower`, else U+L*, with an optional contraction; U is isUpper, L is isLower.
bool casedWord(Cursor &cursor, bool needsLower) {
  size_t lastBoth = 0; // end of the last character that is both upper and lower
  bool hasBoth = false, hasUpper = false;
  while (cursor.isUpper()) {
    const bool both = cursor.isLower();
    cursor.step();
    hasUpper = true;
    if (both) {
      lastBoth = cursor.at();
      hasBoth = true;
    }
  }
  if (needsLower && !cursor.isLower()) {
    if (!hasBoth)
      return false;
    cursor.moveTo(lastBoth);
  } else if (!needsLower && !hasUpper) {
    return false;
  } else {
    while (cursor.isLower())
      cursor.step();
  }
  cursor.contraction(true);
  return true;
}

void o200k(Cursor &cursor) {
  const size_t first = cursor.at();
  const bool mayLead = !cursor.isOf(RegexLetter | RegexNumber) && !cursor.isLineEnd();
  for (bool needsLower : {true, false}) {
    if (mayLead) {
      cursor.step();
      if (casedWord(cursor, needsLower))
        return;
      cursor.moveTo(first);
    }
    if (casedWord(cursor, needsLower))
      return;
    cursor.moveTo(first);
  }
  noWord(cursor, 3, true);
}

template <typename Step>
class Scanner : public Pattern {
public:
  explicit Scanner(Step step) : step(step) {}
  Status find(std::string_view text, std::vector<TokenSpan> &matches) const override {
    Cursor cursor(text);
    while (!cursor.ended()) {
      const auto first = static_cast<uint32_t>(cursor.at());
      step(cursor);
      matches.push_back({first, static_cast<uint32_t>(cursor.at())});
    }
    return {};
  }

private:
  Step step;
};

template <typename Step>
std::unique_ptr<Pattern> scanner(Step step) {
  return std::make_unique<Scanner<Step>>(step);
}

} // namespace

std::unique_ptr<Pattern> gpt2Pattern() { return scanner(gpt2); }

std::unique_ptr<Pattern> scannerOf(std::string_view regex) {
  if (regex == gpt2Regex)
    return gpt2Pattern();
  if (regex == qwenRegex)
    return scanner([](Cursor &cursor) { cl100k(cursor, 1); });
  if (regex == cl100kRegex)
    return scanner([](Cursor &cursor) { cl100k(cursor, 3); });
  if (regex == o200kRegex)
    return scanner(o200k);
  return nullptr;
}

} // namespace heddle::tokenizers
