//===- Error.cpp - Errors and Expected values ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Escaping and quoting of text for messages, and the abort on misuse of an Expected.

#include "heddle/Support/Error.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace heddle {

Error outOfMemory() {
  return {ErrorKind::System, "expected enough memory for this call, found too little"};
}

/// Length of the UTF-8 character at the start of a text, and its code point; 0 if it is invalid.
static size_t decode(std::string_view text, uint32_t &point) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (size == 0 || lead > 0xf4 || text.size() < size)
    return 0;
  point = size == 1 ? lead : lead & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    point = point << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool isSurrogate = point >= 0xd800 && point < 0xe000;
  return point < least[size] || point > 0x10ffff || isSurrogate ? 0 : size;
}

/// Whether a terminal interprets a character instead of showing it: C0, C1, and bidirectional
/// formatting characters.
static bool isObeyed(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e ||
         point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

static std::string escaped(std::string_view text, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    uint32_t point = static_cast<unsigned char>(text[0]);
    const size_t size = decode(text, point);
    if (size > 0 && (!isObeyed(point) || kept.find(text[0]) != kept.npos)) {
      result += text.substr(0, size);
    } else {
      char code[8];
      const bool isByte = size <= 1;
      std::snprintf(code, sizeof code, isByte ? "\\x%02x" : "\\u%04x",
                    isByte ? static_cast<unsigned char>(text[0]) : point);
      result += code;
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return result;
}

std::string printable(std::string_view text) { return escaped(text, ""); }
std::string printableLines(std::string_view text) { return escaped(text, "\n\t"); }

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most)
    return std::string(text);
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end; // not inside a UTF-8 sequence
  return std::string(text.substr(0, end)) + "...";
}

std::string quotedText(std::string_view text) {
  constexpr size_t most = 60;
  return "'" + printable(shortened(text, most)) + "'";
}

void misused(std::string_view what, std::string_view found) {
  std::fprintf(stderr, "heddle: expected %.*s, found %.*s\n", static_cast<int>(what.size()),
               what.data(), static_cast<int>(found.size()), found.data());
  std::abort();
}

} // namespace heddle
