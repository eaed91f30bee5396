//===- ByteLevel.h - Bytes as characters -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps bytes to printable characters, as byte-level vocabularies write them.
// Printable Latin-1 characters map to themselves, and the other 68 bytes to
// U+0100 and the following.
#pragma once

#include "AlignedText.h"

#include <optional>

namespace heddle::tokenizers {

/// The character that a blank maps to.
constexpr char32_t blankCharacter = 0x120;

void appendByteCharacters(const AlignedText &text, size_t first, size_t last, AlignedText &result);
std::optional<char> byteOfCharacter(char32_t character);

} // namespace heddle::tokenizers
