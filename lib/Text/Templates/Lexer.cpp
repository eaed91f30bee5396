//===- Lexer.cpp - Lexer of templates -------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens of templates, and whitespace control: `-` strips all whitespace. A tag {% %} and a comment
// that are first in their line strip the blanks before them (unless `+`) and the newline after
// them. A newline at the end of a template is dropped.
#include "Syntax.h"
#include "heddle/Templates/Strings.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Text.h"

#include <charconv>

namespace heddle::templates {

namespace {

/// Longer operators first.
constexpr std::string_view signs[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                      "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                      ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool isDecimal(char c) { return c >= '0' && c <= '9'; }

class Lexer {
public:
  Lexer(std::string_view source, const std::string &name) : name(name) {
    // Normalize newlines and drop the last one.
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n')
        continue;
      text += source[i] == '\r' ? '\n' : source[i];
    }
    if (text.ends_with('\n'))
      text.pop_back();
  }

  Expected<std::vector<Token>> run() {
    while (at < text.size())
      HEDDLE_TRY(readData());
    add(Token::End);
    return std::move(tokens);
  }

private:
  Error expected(const std::string &what, const std::string &found) const {
    return inputError(name + ":" + std::to_string(line) + ": expected " + what + ", found " +
                      found);
  }
  std::string foundText() const {
    if (at >= text.size())
      return "the end";
    size_t end = at;
    tokenizers::nextPoint(text, end);
    return quotedText(std::string_view(text).substr(at, end - at));
  }
  std::string_view rest() const { return std::string_view(text).substr(at); }
  bool sees(std::string_view what) const { return rest().starts_with(what); }
  void add(Token::Kind kind, std::string value = "") {
    tokens.push_back({.kind = kind, .line = line, .text = std::move(value)});
  }
  /// Advances, also across newlines.
  void take(size_t size) {
    for (size_t i = 0; i < size; ++i)
      line += text[at + i] == '\n';
    at += size;
    startsLine = size > 0 ? text[at - 1] == '\n' : startsLine;
  }
  void takeBlanks() { take(rest().size() - stripStart(rest()).size()); }

  //===- Text ----------------------------------------------------------------===//

  /// Start of the next `{{`, `{%` or `{#`; the end if there is none.
  size_t nextTag() const {
    for (size_t i = at; i + 1 < text.size(); ++i)
      if (text[i] == '{' && (text[i + 1] == '{' || text[i + 1] == '%' || text[i + 1] == '#'))
        return i;
    return text.size();
  }

  /// Text before a tag without the blanks that the tag strips. `sign`: the character after the
  /// tag's opening.
  std::string_view cutData(std::string_view data, char sign, bool isOutput) const {
    if (sign == '-')
      return stripEnd(data);
    if (sign == '+' || isOutput)
      return data;
    const size_t first = data.rfind('\n') == data.npos ? 0 : data.rfind('\n') + 1;
    if (first == 0 && !startsLine)
      return data;
    return stripEnd(data.substr(first)).empty() ? data.substr(0, first) : data;
  }

  void addData(std::string_view data) {
    if (!data.empty())
      add(Token::Data, std::string(data));
  }

  Status readData() {
    const size_t tag = nextTag();
    const std::string_view data = std::string_view(text).substr(at, tag - at);
    if (tag == text.size()) {
      addData(data);
      take(data.size());
      return {};
    }
    const char kind = text[tag + 1];
    const char next = tag + 2 < text.size() ? text[tag + 2] : ' ';
    const char sign = next == '-' || next == '+' ? next : ' ';
    addData(cutData(data, sign, kind == '{'));
    take(data.size() + (sign == ' ' ? 2 : 3));
    if (kind == '#')
      return skipComment();
    if (kind == '%' && takeRaw())
      return readRaw();
    add(kind == '{' ? Token::OpenOutput : Token::OpenTag);
    return readTag(kind == '{');
  }

  Status skipComment() {
    const size_t end = text.find("#}", at);
    if (end == text.npos)
      return expected("`#}` at the end of a comment", "the end");
    // In `{#-#}` the hyphen belongs to the opening.
    const char sign = end > at ? text[end - 1] : ' ';
    take(end + 2 - at);
    takeBehind(sign);
    return {};
  }
  /// Skips the whitespace that the end of a tag strips.
  void takeBehind(char sign) {
    if (sign == '-')
      takeBlanks();
    else if (sign != '+' && sees("\n"))
      take(1);
  }

  /// After `{%`: reads `raw %}` if it follows, and returns whether it did.
  bool takeRaw() {
    std::string_view view = stripStart(rest());
    if (!view.starts_with("raw"))
      return false;
    view = stripStart(view.substr(3));
    const bool strips = view.starts_with("-%}");
    if (!strips && !view.starts_with("%}"))
      return false;
    take(rest().size() - view.size() + (strips ? 3 : 2));
    if (strips)
      takeBlanks();
    return true;
  }

  Status readRaw() {
    for (size_t tag = text.find("{%", at); tag != text.npos; tag = text.find("{%", tag + 1)) {
      std::string_view view = std::string_view(text).substr(tag + 2);
      const char sign = view.starts_with('-') || view.starts_with('+') ? view[0] : ' ';
      view = stripStart(view.substr(sign == ' ' ? 0 : 1));
      if (!view.starts_with("endraw"))
        continue;
      view = stripStart(view.substr(6));
      const char close = view.starts_with("-%}") || view.starts_with("+%}") ? view[0] : ' ';
      if (close == ' ' && !view.starts_with("%}"))
        continue;
      const size_t end = text.size() - view.size() + (close == ' ' ? 2 : 3);
      addData(cutData(std::string_view(text).substr(at, tag - at), sign, false));
      take(end - at);
      takeBehind(close);
      return {};
    }
    return expected("`{% endraw %}` after `{% raw %}`", "the end");
  }

  //===- Tags ----------------------------------------------------------------===//

  /// Reads the end of the tag, unless a bracket is open.
  bool takeEnd(bool isOutput) {
    if (!open.empty())
      return false;
    for (const char sign : {'-', '+', ' '}) {
      const std::string close =
          (sign == ' ' ? "" : std::string(1, sign)) + (isOutput ? "}}" : "%}");
      if (!sees(close) || (isOutput && sign == '+'))
        continue;
      add(isOutput ? Token::CloseOutput : Token::CloseTag);
      take(close.size());
      if (!isOutput || sign == '-')
        takeBehind(sign);
      return true;
    }
    return false;
  }

  Status readTag(bool isOutput) {
    while (true) {
      if (takeEnd(isOutput))
        return {};
      const size_t before = at;
      takeBlanks();
      if (at > before)
        continue;
      if (at == text.size())
        return expected(isOutput ? "`}}`" : "`%}`", "the end");
      HEDDLE_TRY(readToken());
    }
  }

  Status readToken() {
    const char c = text[at];
    if (isDecimal(c))
      return readNumber();
    if (c == '"' || c == '\'')
      return readString();
    size_t end = at;
    if (isNameStart(tokenizers::nextPoint(text, end)))
      return readName();
    return readSign();
  }

  Status readName() {
    size_t end = at;
    for (size_t next = at; next < text.size() && isNamePart(tokenizers::nextPoint(text, next));)
      end = next;
    add(Token::Name, text.substr(at, end - at));
    at = end;
    startsLine = false;
    return {};
  }

  Status readSign() {
    for (std::string_view sign : signs)
      if (sees(sign)) {
        HEDDLE_TRY(balance(sign));
        add(Token::Sign, std::string(sign));
        take(sign.size());
        return {};
      }
    return expected("an expression", foundText());
  }
  Status balance(std::string_view sign) {
    const size_t opens = std::string_view("([{").find(sign),
                 closes = std::string_view(")]}").find(sign);
    if (opens != std::string_view::npos)
      open += ")]}"[opens];
    if (closes == std::string_view::npos)
      return {};
    if (open.empty() || open.back() != sign[0])
      return expected(open.empty() ? "an expression" : std::string("`") + open.back() + "`",
                      quotedText(sign));
    open.pop_back();
    return {};
  }

  //===- Numbers and strings -------------------------------------------------===//

  /// Digits with single `_` between them; empty if there are none.
  std::string digits(size_t &from, bool (*isOne)(char)) const {
    std::string found;
    while (from < text.size()) {
      const bool gap = !found.empty() && text[from] == '_' && from + 1 < text.size();
      if (!isOne(text[from + gap]))
        break;
      found += text[from + gap];
      from += 1 + gap;
    }
    return found;
  }

  Status readNumber() {
    static constexpr std::pair<char, int> bases[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    for (auto [letter, base] : bases)
      if (text[at] == '0' && at + 2 < text.size() && (text[at + 1] | 0x20) == letter)
        return readBased(base);
    size_t end = at;
    const std::string whole = digits(end, isDecimal);
    std::string number = whole;
    const bool behindDot = !tokens.empty() && tokens.back().isSign(".");
    if (!behindDot)
      number += readFraction(end);
    if (number == whole)
      return addInteger(whole, 10, end);
    double value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (read.ec == std::errc::result_out_of_range)
      return expected("a number in the range of f64", quotedText(number));
    add(Token::Float, number);
    tokens.back().real = value;
    at = end;
    startsLine = false;
    return {};
  }
  /// ".5e-3" after the digits of a number; moves `end` past it.
  std::string readFraction(size_t &end) const {
    std::string fraction;
    size_t next = end + 1;
    if (end < text.size() && text[end] == '.')
      if (const std::string more = digits(next, isDecimal); !more.empty()) {
        fraction = "." + more;
        end = next;
      }
    if (end >= text.size() || (text[end] | 0x20) != 'e')
      return fraction;
    next = end + 1;
    const bool hasSign = next < text.size() && (text[next] == '-' || text[next] == '+');
    const std::string minus = hasSign && text[next] == '-' ? "-" : "";
    next += hasSign;
    if (const std::string power = digits(next, isDecimal); !power.empty()) {
      fraction += "e" + minus + power;
      end = next;
    }
    return fraction;
  }
  Status readBased(int base) {
    size_t end = at + 2 + (text[at + 2] == '_');
    auto isOne = [](char c) { return isDecimal(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); };
    const std::string number = digits(end, isOne); // moves `end`
    return addInteger(number, base, end);
  }
  Status addInteger(const std::string &number, int base, size_t end) {
    int64_t value = 0;
    const char *last = number.data() + number.size();
    const auto read = std::from_chars(number.data(), last, value, base);
    const bool zeros = base == 10 && number.size() > 1 && number[0] == '0' && value != 0;
    if (read.ec != std::errc() || read.ptr != last || zeros)
      return expected("a whole number of 64 bits", quotedText(text.substr(at, end - at)));
    add(Token::Integer, text.substr(at, end - at));
    tokens.back().integer = value;
    at = end;
    startsLine = false;
    return {};
  }

  Status readString() {
    const char mark = text[at];
    std::string value;
    const int first = line;
    size_t end = at + 1;
    while (end < text.size() && text[end] != mark) {
      if (text[end] == '\\') {
        HEDDLE_TRY(readEscape(++end, value));
        continue;
      }
      value += text[end++];
    }
    if (end >= text.size())
      return expected("an end of the string", "the end");
    tokens.push_back({.kind = Token::Text, .line = first, .text = std::move(value)});
    take(end + 1 - at);
    return {};
  }

  /// Reads the escape at `text[next]`, which follows a backslash, and moves past it.
  Status readEscape(size_t &next, std::string &value) {
    static constexpr std::pair<char, char> letters[] = {
        {'n', '\n'}, {'t', '\t'}, {'r', '\r'},  {'a', '\a'},  {'b', '\b'}, {'f', '\f'},
        {'v', '\v'}, {'"', '"'},  {'\'', '\''}, {'\\', '\\'}, {'\n', 0}};
    static constexpr std::pair<char, size_t> codes[] = {{'x', 2}, {'u', 4}, {'U', 8}};
    if (next >= text.size())
      return expected("an end of the string", "the end");
    for (auto [letter, meaning] : letters)
      if (text[next] == letter) {
        if (meaning != 0)
          value += meaning;
        ++next;
        return {};
      }
    for (auto [letter, size] : codes)
      if (text[next] == letter)
        return readCode(++next, size, 16, value);
    if (text[next] == 'N')
      return expected("a character by its number", "one by its name, which is not built");
    size_t octals = 0;
    while (octals < 3 && next + octals < text.size() && text[next + octals] >= '0' &&
           text[next + octals] <= '7')
      ++octals;
    if (octals > 0)
      return readCode(next, octals, 8, value);
    value += '\\'; // kept, as in Python
    return {};
  }
  Status readCode(size_t &next, size_t size, int base, std::string &value) {
    uint32_t point = 0;
    const std::string digits = text.substr(next, size);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), point, base);
    const bool isWhole = read.ptr == digits.data() + size && digits.size() == size;
    if (read.ec != std::errc() || !isWhole || point > 0x10ffff ||
        (point >= 0xd800 && point < 0xe000))
      return expected("a character's number after the backslash", quotedText(digits));
    tokenizers::appendPoint(value, point);
    next += size;
    return {};
  }

  const std::string &name;
  std::string text;
  size_t at = 0;
  int line = 1;
  bool startsLine = true; ///< the last text read ended a line
  std::string open;       ///< closing brackets that are expected
  std::vector<Token> tokens;
};

} // namespace

Expected<std::vector<Token>> tokensOf(std::string_view text, const std::string &name) {
  constexpr size_t longest = 4 << 20;
  if (text.size() > longest)
    return inputError(name + ": expected a template of at most 4 MiB, found " +
                      std::to_string(text.size()) + " bytes");
  HEDDLE_TRY(tokenizers::checkUtf8(text, name));
  return Lexer(text, name).run();
}

} // namespace heddle::templates
