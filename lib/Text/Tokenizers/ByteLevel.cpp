//===- ByteLevel.cpp - Bytes as characters ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ByteLevel.h"

#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>
#include <array>

namespace heddle::tokenizers {

namespace {

constexpr bool isShown(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad && byte <= 0xff);
}

constexpr std::array<uint16_t, 256> makeCharacters() {
  std::array<uint16_t, 256> characters{};
  uint16_t hidden = 0x100;
  for (uint16_t byte = 0; byte < 256; ++byte)
    characters[byte] = isShown(byte) ? byte : hidden++;
  return characters;
}

constexpr std::array<uint16_t, 256> characters = makeCharacters();
static_assert(characters[' '] == blankCharacter);

} // namespace

void appendByteCharacters(const AlignedText &text, size_t first, size_t last, AlignedText &result) {
  for (size_t at = first; at < last;) {
    const size_t end = std::min(at + pointSize(text.text()[at]), last);
    const TokenSpan head = text.spans()[at], tail = text.spans()[end - 1];
    for (size_t i = at; i < end; ++i)
      result.append(char32_t(characters[static_cast<unsigned char>(text.text()[i])]),
                    i == at ? head : tail);
    at = end;
  }
}

std::optional<char> byteOfCharacter(char32_t character) {
  if (character < 256)
    return isShown(character) ? std::optional(static_cast<char>(character)) : std::nullopt;
  constexpr char32_t shownEnd = 0x144; // 68 bytes are not printable
  if (character >= shownEnd)
    return std::nullopt;
  static const std::array<unsigned char, 68> hidden = [] {
    std::array<unsigned char, 68> bytes{};
    for (unsigned byte = 0; byte < 256; ++byte)
      if (!isShown(byte))
        bytes[characters[byte] - 0x100u] = static_cast<unsigned char>(byte);
    return bytes;
  }();
  return static_cast<char>(hidden[character - 0x100]);
}

} // namespace heddle::tokenizers
