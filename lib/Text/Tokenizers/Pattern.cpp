//===- Pattern.cpp - Patterns of Split and Replace --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates Oniguruma's expressions to ICU's. The two differ in the classes of
// letters and blanks and in the ends of lines, so classes are written out and
// flags are set.
#include "Pattern.h"

#include "Components.h"

#include "Characters.h"
#include "Scanners.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Try.h"

#include <unicode/regex.h>

namespace heddle::tokenizers {

namespace {

class Literal : public Pattern {
public:
  explicit Literal(std::string wanted) : wanted(std::move(wanted)) {}
  Status find(std::string_view text, std::vector<TokenSpan> &matches) const override {
    for (size_t at = 0; (at = text.find(wanted, at)) != text.npos; at += wanted.size())
      matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + wanted.size())});
    return {};
  }

private:
  std::string wanted;
};

/// Matches the empty text before each code point and at the end.
class Nothing : public Pattern {
public:
  Status find(std::string_view text, std::vector<TokenSpan> &matches) const override {
    for (size_t at = 0; at <= text.size(); ++at)
      if (beginsPoint(text, at))
        matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at)});
    return {};
  }
};

//===- Expressions by ICU --------------------------------------------------===//

struct NamedClass {
  std::string_view name;
  uint16_t classes;
};

constexpr NamedClass namedClasses[] = {
    {"L", RegexLetter},      {"Letter", RegexLetter}, {"N", RegexNumber}, {"Number", RegexNumber},
    {"M", RegexMark},        {"Mark", RegexMark},     {"S", RegexSymbol}, {"Symbol", RegexSymbol},
    {"P", RegexPunctuation}, {"Ll", RegexLower},      {"Nd", RegexDigit},
};

uint16_t classOfLetter(char letter) {
  switch (letter | 0x20) {
  case 's':
    return WhiteSpace;
  case 'w':
    return RegexWord;
  case 'd':
    return RegexDigit;
  default:
    return 0;
  }
}

/// Copies an expression with its classes written out.
class Translator {
public:
  explicit Translator(std::string_view regex) : regex(regex) {}

  std::string translate() {
    while (at < regex.size()) {
      if (regex[at] == '\\' && at + 1 < regex.size()) {
        escape();
        continue;
      }
      if (regex[at] == '^' && depth == 0) { // no line begins after the last line end of a text
        result += "(?:^(?!\\z)|\\A)";
        ++at;
        continue;
      }
      if (regex[at] == '[')
        ++depth;
      if (regex[at] == ']' && depth > 0)
        --depth;
      result += regex[at++];
    }
    return std::move(result);
  }

private:
  void escape() {
    const char letter = regex[at + 1];
    if ((letter == 'b' || letter == 'B') && depth == 0)
      return wordBound(letter == 'b');
    uint16_t classes = classOfLetter(letter);
    bool negative = letter >= 'A' && letter <= 'Z';
    size_t end = at + 2;
    if ((letter == 'p' || letter == 'P') && end < regex.size() && regex[end] == '{') {
      const size_t close = regex.find('}', end);
      std::string_view name = regex.substr(end + 1, close - end - 1);
      if (name.starts_with('^')) {
        name.remove_prefix(1);
        negative = !negative;
      }
      for (const NamedClass &named : namedClasses)
        if (close != regex.npos && named.name == name)
          classes = named.classes;
      end = close == regex.npos ? end : close + 1;
    }
    if (classes == 0)
      result += regex.substr(at, end - at);
    else if (negative || depth == 0)
      result += std::string(negative ? "[^" : "[") + regexSet(classes) + "]";
    else
      result += regexSet(classes);
    at = end;
  }

  /// Writes a word boundary, or its negation. ICU's own boundaries ignore marks.
  void wordBound(bool between) {
    const std::string word = "[" + regexSet(RegexWord) + "]";
    result += "(?:(?<=" + word + ")(?" + (between ? "!" : "=") + word + ")|(?<!" + word + ")(?" +
              (between ? "=" : "!") + word + "))";
    at += 2;
  }

  std::string_view regex;
  size_t at = 0;
  int depth = 0; ///< nesting of sets
  std::string result;
};

class Regex : public Pattern {
public:
  static Expected<std::unique_ptr<Pattern>> create(const JsonField &field,
                                                   const std::string &regex) {
    constexpr size_t longest = 10'000; // ICU's parser is recursive
    if (regex.size() > longest)
      return field.error("an expression of at most " + std::to_string(longest) + " bytes",
                         std::to_string(regex.size()));
    UErrorCode failure = U_ZERO_ERROR;
    UParseError place{};
    std::unique_ptr<icu::RegexPattern> compiled(
        icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(Translator(regex).translate()),
                                   UREGEX_MULTILINE | UREGEX_UNIX_LINES, place, failure));
    if (U_FAILURE(failure) || !compiled)
      return field.error(std::string("a regular expression that ICU takes (") +
                             u_errorName(failure) + ")",
                         quotedText(regex));
    return std::unique_ptr<Pattern>(new Regex(std::move(compiled)));
  }

  Status find(std::string_view text, std::vector<TokenSpan> &matches) const override {
    icu::UnicodeString wide;
    std::vector<uint32_t> bytes; ///< byte of each UTF-16 unit, and of the end
    for (size_t at = 0; at < text.size();) {
      const auto first = static_cast<uint32_t>(at);
      wide.append(static_cast<UChar32>(nextPoint(text, at)));
      bytes.resize(static_cast<size_t>(wide.length()), first);
    }
    bytes.push_back(static_cast<uint32_t>(text.size()));
    UErrorCode failure = U_ZERO_ERROR;
    std::unique_ptr<icu::RegexMatcher> matcher(compiled->matcher(wide, failure));
    if (matcher) {
      constexpr int32_t stackBytes = 64 << 20, steps = 2000;
      matcher->setStackLimit(stackBytes, failure);
      matcher->setTimeLimit(steps, failure);
    }
    int32_t at = 0, lastEnd = -1;
    while (U_SUCCESS(failure) && at <= wide.length() && matcher->find(at, failure)) {
      const int32_t first = matcher->start(failure), end = matcher->end(failure);
      at = end;
      if (first == end && end == lastEnd) {
        at = at < wide.length() ? wide.moveIndex32(at, 1) : at + 1;
        continue;
      }
      lastEnd = end;
      matches.push_back({bytes[static_cast<size_t>(first)], bytes[static_cast<size_t>(end)]});
    }
    if (U_FAILURE(failure))
      return inputError(std::string("expected a text that the tokenizer's regular expression can "
                                    "be searched in, found ") +
                        u_errorName(failure));
    return {};
  }

private:
  explicit Regex(std::unique_ptr<icu::RegexPattern> compiled) : compiled(std::move(compiled)) {}
  std::unique_ptr<icu::RegexPattern> compiled;
};

} // namespace

Expected<std::unique_ptr<Pattern>> readPattern(const JsonField &field) {
  if (auto text = field.find("String")) {
    auto wanted = HEDDLE_TRY(text->text());
    if (wanted.empty())
      return std::unique_ptr<Pattern>(new Nothing);
    return std::unique_ptr<Pattern>(new Literal(std::move(wanted)));
  }
  auto regex = field.find("Regex");
  if (!regex)
    return field.error("an object with String or Regex", foundText(field.value()));
  auto expression = HEDDLE_TRY(regex->text());
  if (auto scanner = scannerOf(expression))
    return scanner;
  return Regex::create(*regex, expression);
}

Expected<Replacement> Replacement::read(const JsonField &field) {
  auto pattern = HEDDLE_TRY(readPattern(HEDDLE_TRY(field.get("pattern"))));
  auto content = HEDDLE_TRY(field.textAt("content"));
  return Replacement{std::move(pattern), std::move(content)};
}

Expected<std::vector<TokenSpan>> Replacement::find(std::string_view text) const {
  std::vector<TokenSpan> matches;
  if (!text.empty())
    HEDDLE_TRY(pattern->find(text, matches));
  HEDDLE_TRY(checkGrowth(text.size(), text.size() + matches.size() * content.size()));
  return matches;
}

} // namespace heddle::tokenizers
