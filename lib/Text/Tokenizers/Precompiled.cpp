//===- Precompiled.cpp - SentencePiece's character map ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The character map is a double array (Darts) from bytes to offsets in a pool
// of texts that end in NUL. For a tokenizer.json, short graphemes are looked up
// whole and others by character. The shortest entry that is a prefix of the
// grapheme or character counts. SentencePiece itself takes the longest entry at
// each offset. Heddle's own key `longest_match` asks for that; it is set for
// SentencePiece's own files.
#include "Characters.h"
#include "Components.h"
#include "heddle/Tokenizers/Utf8.h"

#include <cstring>
#include <unicode/uchar.h>

namespace heddle::tokenizers {

namespace {

/// A trie in the double-array format of Darts.
class DoubleArray {
public:
  explicit DoubleArray(std::string_view bytes) : units(bytes.size() / 4) {
    for (size_t i = 0; i < units.size(); ++i)
      for (int b = 0; b < 4; ++b)
        units[i] |= uint32_t(static_cast<unsigned char>(bytes[4 * i + b])) << 8 * b;
  }

  struct Entry {
    size_t size = 0; ///< bytes of the key; 0: none
    uint32_t value = 0;
  };

  /// The shortest or the longest key that is a prefix of `text`.
  Entry prefixOf(std::string_view text, bool longest) const {
    Entry found;
    size_t node = units.empty() ? 0 : offsetOf(units[0]);
    for (size_t at = 0; at < text.size() && (longest || found.size == 0); ++at) {
      const auto byte = static_cast<unsigned char>(text[at]);
      node ^= byte;
      if (byte == 0 || node >= units.size() || labelOf(units[node]) != byte)
        break;
      const uint32_t unit = units[node];
      node ^= offsetOf(unit);
      constexpr uint32_t leaf = 1 << 8;
      if ((unit & leaf) && node < units.size())
        found = {at + 1, units[node] & 0x7fffffff};
    }
    return found;
  }

private:
  static uint32_t labelOf(uint32_t unit) { return unit & 0x800000ff; }
  static size_t offsetOf(uint32_t unit) { return size_t(unit >> 10) << ((unit & 1 << 9) >> 6); }

  std::vector<uint32_t> units;
};

//===- Graphemes -----------------------------------------------------------===//

int32_t breakClass(char32_t point) {
  return u_getIntPropertyValue(static_cast<UChar32>(point), UCHAR_GRAPHEME_CLUSTER_BREAK);
}
bool isPicture(char32_t point) {
  return u_hasBinaryProperty(static_cast<UChar32>(point), UCHAR_EXTENDED_PICTOGRAPHIC);
}

/// Splits a text into grapheme clusters (UAX 29).
class Graphemes {
public:
  explicit Graphemes(std::string_view text) : text(text) {}

  /// The next cluster; empty at the end of the text.
  std::string_view next() {
    const size_t first = at;
    if (at == text.size())
      return {};
    char32_t point = nextPoint(text, at);
    int32_t left = breakClass(point);
    bool picture = isPicture(point), joined = false;
    int flags = left == U_GCB_REGIONAL_INDICATOR;
    while (at < text.size()) {
      size_t behind = at;
      point = nextPoint(text, behind);
      const int32_t right = breakClass(point);
      const bool pictures = joined && isPicture(point);
      const bool flag = right == U_GCB_REGIONAL_INDICATOR && left == right && flags % 2 == 1;
      if (!keepsTogether(left, right) && !pictures && !flag)
        break;
      joined = picture && right == U_GCB_ZWJ;
      picture = right == U_GCB_EXTEND || right == U_GCB_ZWJ ? picture : isPicture(point);
      flags = right == U_GCB_REGIONAL_INDICATOR ? flags + 1 : 0;
      left = right;
      at = behind;
    }
    return text.substr(first, at - first);
  }

private:
  static bool keepsTogether(int32_t left, int32_t right) {
    const auto isOneOf = [](int32_t value, std::initializer_list<int32_t> values) {
      return std::find(values.begin(), values.end(), value) != values.end();
    };
    if (left == U_GCB_CR && right == U_GCB_LF)
      return true;
    const std::initializer_list<int32_t> controls = {U_GCB_CONTROL, U_GCB_CR, U_GCB_LF};
    if (isOneOf(left, controls) || isOneOf(right, controls))
      return false;
    if (isOneOf(right, {U_GCB_EXTEND, U_GCB_ZWJ, U_GCB_SPACING_MARK}) || left == U_GCB_PREPEND)
      return true;
    // Hangul syllables.
    if (left == U_GCB_L)
      return isOneOf(right, {U_GCB_L, U_GCB_V, U_GCB_LV, U_GCB_LVT});
    if (isOneOf(left, {U_GCB_LV, U_GCB_V}))
      return isOneOf(right, {U_GCB_V, U_GCB_T});
    return isOneOf(left, {U_GCB_LVT, U_GCB_T}) && right == U_GCB_T;
  }

  std::string_view text;
  size_t at = 0;
};

//===- The normalizer ------------------------------------------------------===//

/// Replaces parts of a text by the entries of a character map.
class Precompiled : public Normalizer {
public:
  Precompiled(DoubleArray table, std::string pool, bool longest)
      : table(std::move(table)), pool(std::move(pool)), longest(longest) {}

  Status apply(AlignedText &text, Work &) const override {
    std::vector<Change> changes;
    const bool modified =
        HEDDLE_TRY(longest ? byPlaces(text.text(), changes) : byGraphemes(text.text(), changes));
    if (modified)
      text.transform(changes);
    return {};
  }

private:
  Expected<bool> byGraphemes(std::string_view text, std::vector<Change> &changes) const {
    constexpr size_t longestGrapheme = 5;
    bool modified = false;
    Graphemes graphemes(text);
    for (std::string_view grapheme; !(grapheme = graphemes.next()).empty();) {
      if (grapheme.size() <= longestGrapheme && replaces(grapheme, changes)) {
        modified = true;
        continue;
      }
      for (size_t at = 0; at < grapheme.size();) {
        const size_t first = at;
        const char32_t point = nextPoint(grapheme, at);
        if (replaces(grapheme.substr(first, at - first), changes))
          modified = true;
        else
          changes.push_back({point, 0});
      }
      HEDDLE_TRY(checkGrowth(text.size(), changes.size()));
    }
    return modified;
  }

  Expected<bool> byPlaces(std::string_view text, std::vector<Change> &changes) const {
    bool modified = false;
    for (size_t at = 0; at < text.size();) {
      const DoubleArray::Entry entry = table.prefixOf(text.substr(at), true);
      if (beginsPoint(text, at + entry.size) &&
          replaces(text.substr(at, entry.size), entry, changes)) {
        at += entry.size;
        modified = true;
      } else {
        changes.push_back({nextPoint(text, at), 0});
      }
      HEDDLE_TRY(checkGrowth(text.size(), changes.size()));
    }
    return modified;
  }

  bool replaces(std::string_view old, std::vector<Change> &changes) const {
    return replaces(old, table.prefixOf(old, false), changes);
  }

  /// Appends the replacement of `old` by an entry, if there is one.
  bool replaces(std::string_view old, DoubleArray::Entry entry,
                std::vector<Change> &changes) const {
    if (entry.size == 0 || entry.value > pool.size() || !beginsPoint(pool, entry.value))
      return false;
    const std::string_view content =
        std::string_view(pool).substr(entry.value, pool.find('\0', entry.value) - entry.value);
    const size_t before = changes.size();
    for (size_t i = 0; i < content.size();)
      changes.push_back({nextPoint(content, i), 0});
    const auto added = static_cast<int32_t>(changes.size() - before);
    const int32_t more = added - pointsIn(old);
    for (int32_t i = 0; i < more; ++i)
      changes[changes.size() - 1 - static_cast<size_t>(i)].change = 1;
    if (more < 0 && !changes.empty())
      changes.back().change += more;
    return true;
  }
  static int32_t pointsIn(std::string_view text) {
    int32_t points = 0;
    for (size_t at = 0; at < text.size(); at += pointSize(text[at]))
      ++points;
    return points;
  }

  DoubleArray table;
  std::string pool;
  bool longest;
};

std::optional<std::string> decodeBase64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('='))
    text.remove_suffix(1);
  for (char c : text) {
    uint32_t value;
    if (c >= 'A' && c <= 'Z')
      value = static_cast<uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      value = static_cast<uint32_t>(c - 'a' + 26);
    else if (c >= '0' && c <= '9')
      value = static_cast<uint32_t>(c - '0' + 52);
    else if (c == '+' || c == '/')
      value = c == '+' ? 62 : 63;
    else
      return std::nullopt;
    bits = bits << 6 | value;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xff);
    }
  }
  return bytes;
}

} // namespace

Expected<std::unique_ptr<Normalizer>> readPrecompiled(const JsonField &field) {
  auto map = HEDDLE_TRY(field.get("precompiled_charsmap"));
  const auto bytes = decodeBase64(HEDDLE_TRY(map.text()));
  if (!bytes)
    return map.error("base64", "another character");
  if (bytes->size() < 4)
    return map.error("at least 4 bytes", std::to_string(bytes->size()));
  uint32_t size;
  std::memcpy(&size, bytes->data(), sizeof size); // both targets are little-endian
  if (size > bytes->size() - 4)
    return map.error("a table of " + std::to_string(size) + " bytes",
                     std::to_string(bytes->size() - 4));
  std::string pool = bytes->substr(4 + size / 4 * 4);
  if (!checkUtf8(pool, ""))
    return map.error("texts in UTF-8", "other bytes");
  const bool longest = HEDDLE_TRY(field.flagAt("longest_match", false));
  return std::unique_ptr<Normalizer>(new Precompiled(
      DoubleArray(std::string_view(*bytes).substr(4, size)), std::move(pool), longest));
}

} // namespace heddle::tokenizers
