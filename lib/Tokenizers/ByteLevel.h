//===- ByteLevel.h - Bytes as characters -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-level vocabularies write each byte as a character that can be seen: those
// of Latin-1 as they are, the 68 others as U+0100 and the following.
#pragma once

#include "AlignedText.h"

#include <optional>

namespace heddle::tokenizers {

/// What a blank is written as.
constexpr char32_t blankCharacter = 0x120;

void appendByteCharacters(const AlignedText &text, size_t first, size_t last, AlignedText &result);
std::optional<char> byteOfCharacter(char32_t character);

} // namespace heddle::tokenizers
