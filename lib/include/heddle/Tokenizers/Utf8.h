//===- Utf8.h - Code points of checked text --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions over UTF-8. Text is checked once, on input; the other functions
// assume valid text.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::tokenizers {

/// Returns an error with the offset of the first byte that is not UTF-8, or for 2 GiB of text and
/// more. Errors begin with `place`.
Status checkUtf8(std::string_view text, std::string_view place);

/// Size in bytes of the code point that begins with `lead`.
inline uint32_t pointSize(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/// Returns the code point at `at` and moves `at` past it. Text that ends within a code point gives
/// U+FFFD.
inline char32_t nextPoint(std::string_view text, size_t &at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  const uint32_t size = pointSize(text[at]);
  if (size > text.size() - at) {
    at = text.size();
    return 0xfffd;
  }
  char32_t point = lead & (0x7f >> size);
  for (uint32_t i = 1; i < size; ++i)
    point = point << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
  at += size;
  return point;
}

/// Offset of the code point that ends at `end`.
inline size_t previousPoint(std::string_view text, size_t end) {
  do
    --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80);
  return end;
}

inline bool beginsPoint(std::string_view text, size_t at) {
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}

inline void appendPoint(std::string &text, char32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int tails = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  text += static_cast<char>((0x780 >> tails & 0xff) | point >> 6 * tails);
  for (int i = tails - 1; i >= 0; --i)
    text += static_cast<char>(0x80 | (point >> 6 * i & 0x3f));
}

inline bool isAscii(std::string_view text) {
  unsigned char seen = 0;
  for (char byte : text)
    seen |= static_cast<unsigned char>(byte);
  return seen < 0x80;
}

} // namespace heddle::tokenizers
