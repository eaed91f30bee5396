//===- Strings.cpp - Python's string functions ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions on UTF-8 strings, with Python's semantics.
#include "heddle/Templates/Strings.h"

#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/ustring.h>
#include <unordered_set>

namespace heddle::templates {

using tokenizers::appendPoint;
using tokenizers::nextPoint;
using tokenizers::previousPoint;

Status checkText(std::string_view text) { return tokenizers::checkUtf8(text, "text"); }

std::vector<std::string_view> charactersOf(std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t at = 0; at < text.size();) {
    const size_t first = at;
    nextPoint(text, at);
    characters.push_back(text.substr(first, at - first));
  }
  return characters;
}

size_t lengthOf(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

//===- Blanks --------------------------------------------------------------===//

bool isBlank(char32_t point) {
  return (point >= 0x1c && point <= 0x1f) || u_isUWhiteSpace(static_cast<UChar32>(point)) != 0;
}

namespace {

template <typename Holds>
std::string_view withoutStart(std::string_view text, const Holds &holds) {
  size_t begin = 0;
  for (size_t at = 0; at < text.size() && holds(nextPoint(text, at));)
    begin = at;
  return text.substr(begin);
}

template <typename Holds>
std::string_view withoutEnd(std::string_view text, const Holds &holds) {
  size_t end = text.size();
  while (end > 0) {
    const size_t first = previousPoint(text, end);
    size_t at = first;
    if (!holds(nextPoint(text, at)))
      break;
    end = first;
  }
  return text.substr(0, end);
}

/// A set, so that testing a character takes constant time.
auto isAmong(std::string_view characters) {
  std::unordered_set<char32_t> points;
  for (size_t at = 0; at < characters.size();)
    points.insert(nextPoint(characters, at));
  return [points = std::move(points)](char32_t point) { return points.contains(point); };
}

std::string backwards(std::string_view text) { return std::string(text.rbegin(), text.rend()); }

} // namespace

std::string_view stripStart(std::string_view text) { return withoutStart(text, isBlank); }
std::string_view stripEnd(std::string_view text) { return withoutEnd(text, isBlank); }
std::string_view stripStart(std::string_view text, std::string_view characters) {
  return withoutStart(text, isAmong(characters));
}
std::string_view stripEnd(std::string_view text, std::string_view characters) {
  return withoutEnd(text, isAmong(characters));
}

//===- Case ----------------------------------------------------------------===//

namespace {

icu::UnicodeString wideOf(std::string_view text) {
  return icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

std::string narrowOf(const icu::UnicodeString &wide) {
  std::string text;
  wide.toUTF8String(text);
  return text;
}

bool hasCase(char32_t point) {
  return u_hasBinaryProperty(static_cast<UChar32>(point), UCHAR_CASED) != 0;
}

bool isLowerPoint(char32_t point) {
  return u_hasBinaryProperty(static_cast<UChar32>(point), UCHAR_LOWERCASE) != 0;
}

bool isUpperPoint(char32_t point) {
  return u_hasBinaryProperty(static_cast<UChar32>(point), UCHAR_UPPERCASE) != 0;
}

/// A letter in title case, which may be several letters.
std::string titlePoint(std::string_view letter) {
  const icu::UnicodeString wide = wideOf(letter);
  char16_t title[8];
  UErrorCode failure = U_ZERO_ERROR;
  const int32_t size =
      u_strToTitle(title, 8, wide.getBuffer(), wide.length(), nullptr, "", &failure);
  return U_SUCCESS(failure) ? narrowOf(icu::UnicodeString(title, size)) : std::string(letter);
}

} // namespace

std::string upperText(std::string_view text) {
  return narrowOf(wideOf(text).toUpper(icu::Locale::getRoot()));
}

std::string lowerText(std::string_view text) {
  return narrowOf(wideOf(text).toLower(icu::Locale::getRoot()));
}

std::string titleText(std::string_view text) {
  std::string result;
  size_t at = 0;
  auto takeWhile = [&](bool cased) {
    const size_t first = at;
    for (size_t next = at; next < text.size() && hasCase(nextPoint(text, next)) == cased;)
      at = next;
    return text.substr(first, at - first);
  };
  while (at < text.size()) {
    result += takeWhile(false);
    const std::string_view word = takeWhile(true);
    size_t rest = 0;
    if (!word.empty())
      nextPoint(word, rest);
    result += titlePoint(word.substr(0, rest));
    // Some letters have another form at the end of a word, unless they are its only letter.
    result += lowerText("a" + std::string(word.substr(rest))).substr(1);
  }
  return result;
}

std::string capitalText(std::string_view text) {
  if (text.empty())
    return "";
  size_t at = 0;
  nextPoint(text, at);
  return titlePoint(text.substr(0, at)) + lowerText(text.substr(at));
}

std::string titleWords(std::string_view text) {
  std::string result, word;
  auto endWord = [&] {
    size_t at = 0;
    if (!word.empty())
      nextPoint(word, at);
    result += upperText(std::string_view(word).substr(0, at)) +
              lowerText(std::string_view(word).substr(at));
    word.clear();
  };
  bool betweenWords = false;
  for (std::string_view letter : charactersOf(text)) {
    size_t at = 0;
    const char32_t point = nextPoint(letter, at);
    const bool between =
        isBlank(point) || std::string_view("-({[<").find(letter) != std::string::npos;
    if (between != betweenWords)
      endWord();
    betweenWords = between;
    word += letter;
  }
  endWord();
  return result;
}

namespace {

bool isCased(std::string_view text, bool (*wanted)(char32_t)) {
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t point = nextPoint(text, at);
    if (hasCase(point) && !wanted(point))
      return false;
    found |= wanted(point);
  }
  return found;
}

} // namespace

bool isUpperText(std::string_view text) { return isCased(text, isUpperPoint); }
bool isLowerText(std::string_view text) { return isCased(text, isLowerPoint); }

bool isAll(std::string_view text, bool (*holds)(char32_t)) {
  return !text.empty() && withoutStart(text, holds).empty();
}

bool isLetter(char32_t point) { return u_isalpha(static_cast<UChar32>(point)) != 0; }
bool isDigit(char32_t point) {
  const int type = u_getIntPropertyValue(static_cast<UChar32>(point), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}
bool isNumeric(char32_t point) {
  return u_getIntPropertyValue(static_cast<UChar32>(point), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}
bool isLetterOrNumber(char32_t point) { return isLetter(point) || isNumeric(point); }
bool isNamePart(char32_t point) {
  return point == '_' || u_hasBinaryProperty(static_cast<UChar32>(point), UCHAR_XID_CONTINUE) != 0;
}
bool isNameStart(char32_t point) {
  return point == '_' || u_hasBinaryProperty(static_cast<UChar32>(point), UCHAR_XID_START) != 0;
}

//===- Splitting and replacing ---------------------------------------------===//

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t first = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const char32_t point = nextPoint(text, at);
    const bool ends = (point >= '\n' && point <= '\r') || (point >= 0x1c && point <= 0x1e) ||
                      point == 0x85 || point == 0x2028 || point == 0x2029;
    if (!ends)
      continue;
    if (point == '\r' && at < text.size() && text[at] == '\n')
      ++at;
    lines.push_back(text.substr(first, end - first));
    first = at;
  }
  if (first < text.size())
    lines.push_back(text.substr(first));
  return lines;
}

namespace {

/// Reverses pieces that were found from the end.
std::vector<std::string_view> inOrder(std::vector<std::string_view> pieces, bool fromEnd) {
  if (fromEnd)
    std::ranges::reverse(pieces);
  return pieces;
}

std::string_view wordAt(std::string_view text, bool fromEnd) {
  auto isInk = [](char32_t point) { return !isBlank(point); };
  if (fromEnd)
    return text.substr(withoutEnd(text, isInk).size());
  return text.substr(0, text.size() - withoutStart(text, isInk).size());
}

} // namespace

std::vector<std::string_view> splitBlanks(std::string_view text, int64_t most, bool fromEnd) {
  std::vector<std::string_view> words;
  while (true) {
    text = fromEnd ? stripEnd(text) : stripStart(text);
    if (text.empty())
      break;
    if (most >= 0 && static_cast<int64_t>(words.size()) == most) {
      words.push_back(text); // includes the blanks at its other end
      break;
    }
    const std::string_view word = wordAt(text, fromEnd);
    words.push_back(word);
    if (fromEnd)
      text.remove_suffix(word.size());
    else
      text.remove_prefix(word.size());
  }
  return inOrder(std::move(words), fromEnd);
}

size_t placeOf(std::string_view text, std::string_view wanted, size_t from) {
  const void *found = memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found ? static_cast<size_t>(static_cast<const char *>(found) - text.data()) : text.npos;
}

size_t lastPlaceOf(std::string_view text, std::string_view wanted) {
  const size_t at = placeOf(backwards(text), backwards(wanted));
  return at == text.npos ? at : text.size() - at - wanted.size();
}

/// To split from the end, the reversed text is split.
std::vector<std::string_view> splitAt(std::string_view text, std::string_view separator,
                                      int64_t most, bool fromEnd) {
  const std::string mirrored = fromEnd ? backwards(text) : "",
                    mark = fromEnd ? backwards(separator) : std::string(separator);
  const std::string_view searched = fromEnd ? mirrored : text;
  std::vector<std::string_view> pieces;
  size_t done = 0;
  auto add = [&](size_t end) {
    pieces.push_back(text.substr(fromEnd ? text.size() - end : done, end - done));
  };
  while (most < 0 || static_cast<int64_t>(pieces.size()) < most) {
    const size_t at = placeOf(searched, mark, done);
    if (at == text.npos)
      break;
    add(at);
    done = at + mark.size();
  }
  add(text.size());
  return inOrder(std::move(pieces), fromEnd);
}

void replaceIn(std::string_view text, std::string_view old, int64_t most,
               const std::function<void(std::string_view)> &keep,
               const std::function<void()> &put) {
  int64_t count = 0;
  size_t at = 0;
  auto mayGoOn = [&] { return most < 0 || count < most; };
  if (old.empty()) { // between all characters
    for (; at < text.size() && mayGoOn(); ++count) {
      put();
      const size_t first = at;
      nextPoint(text, at);
      keep(text.substr(first, at - first));
    }
    if (at == text.size() && mayGoOn())
      put();
    return keep(text.substr(at));
  }
  for (size_t found; mayGoOn() && (found = placeOf(text, old, at)) != text.npos; ++count) {
    keep(text.substr(at, found - at));
    put();
    at = found + old.size();
  }
  keep(text.substr(at));
}

size_t replacedSize(std::string_view text, std::string_view old, size_t each, int64_t most) {
  size_t count = 0;
  if (old.empty())
    count = text.size() + 1;
  else
    for (size_t at = 0; (at = placeOf(text, old, at)) != text.npos; at += old.size())
      ++count;
  if (most >= 0)
    count = std::min(count, static_cast<size_t>(most));
  size_t added = 0;
  return __builtin_mul_overflow(count, each, &added) || added > SIZE_MAX - text.size()
             ? SIZE_MAX
             : text.size() + added;
}

//===- Quoting -------------------------------------------------------------===//

namespace {

bool isPrintable(char32_t point) {
  switch (u_charType(static_cast<UChar32>(point))) {
  case U_CONTROL_CHAR:
  case U_FORMAT_CHAR:
  case U_SURROGATE:
  case U_PRIVATE_USE_CHAR:
  case U_UNASSIGNED:
  case U_LINE_SEPARATOR:
  case U_PARAGRAPH_SEPARATOR:
    return false;
  case U_SPACE_SEPARATOR:
    return point == ' ';
  default:
    return true;
  }
}

std::string pointEscape(char32_t point) {
  switch (point) {
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  default:
    return formatted(point < 0x100     ? "\\x%02x"
                     : point < 0x10000 ? "\\u%04x"
                                       : "\\U%08x",
                     static_cast<unsigned>(point));
  }
}

} // namespace

std::string pythonQuoted(std::string_view text) {
  const bool isDouble = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char mark = isDouble ? '"' : '\'';
  std::string result(1, mark);
  for (size_t at = 0; at < text.size();) {
    const size_t first = at;
    const char32_t point = nextPoint(text, at);
    if (point == static_cast<char32_t>(mark) || point == '\\')
      result += '\\';
    result += isPrintable(point) ? std::string(text.substr(first, at - first)) : pointEscape(point);
  }
  return result += mark;
}

} // namespace heddle::templates
