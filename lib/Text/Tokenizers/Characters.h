//===- Characters.h - Classes of code points -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes of code points as the package `tokenizers` has them. Its tables are
// from several editions of Unicode, and models were trained with them.
// Characters.inc holds a copy, so tokens do not depend on the edition of the
// installed ICU.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::tokenizers {

enum CharacterClass : uint16_t {
  WhiteSpace = 1 << 0,
  BertControl = 1 << 1, ///< dropped by BertNormalizer's cleaning
  Punctuation = 1 << 2,
  NonspacingMark = 1 << 3,
  CombiningMark = 1 << 4, ///< dropped by StripAccents
  Numeric = 1 << 5,
  WordCharacter = 1 << 6, ///< `\w` of the pre-tokenizer Whitespace
  // Classes of regular expressions:
  RegexLetter = 1 << 7,
  RegexNumber = 1 << 8,
  RegexWord = 1 << 9,
  RegexDigit = 1 << 10,
  RegexMark = 1 << 11,
  RegexPunctuation = 1 << 12,
  RegexSymbol = 1 << 13,
  RegexUpper = 1 << 14, ///< upper and title case
  RegexLower = 1 << 15,
};

/// The classes of a code point, as bits of CharacterClass.
uint16_t classesOf(char32_t point);
inline bool isOf(char32_t point, uint16_t classes) { return (classesOf(point) & classes) != 0; }

/// Lower case of a code point. It is a single code point except for U+0130.
char32_t lowerOf(char32_t point);

/// All code points of `classes`, as the inside of a set in a regular expression: "\x{41}-\x{5a}…".
std::string regexSet(uint16_t classes);

} // namespace heddle::tokenizers
