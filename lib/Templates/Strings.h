//===- Strings.h - Python's functions of text -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions and lengths count code points; the text is UTF-8 that was checked.
#pragma once

#include "heddle/Support/Error.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::templates {

/// An error for text that is no UTF-8.
Status checkText(std::string_view text);

/// One piece a code point.
std::vector<std::string_view> charactersOf(std::string_view text);
size_t lengthOf(std::string_view text);

bool isBlank(char32_t point);
std::string_view stripStart(std::string_view text);
std::string_view stripEnd(std::string_view text);
/// Without these characters at its ends.
std::string_view stripStart(std::string_view text, std::string_view characters);
std::string_view stripEnd(std::string_view text, std::string_view characters);

std::string upperText(std::string_view text);
std::string lowerText(std::string_view text);
/// The first letter of each run of letters in title case: str.title().
std::string titleText(std::string_view text);
std::string capitalText(std::string_view text);
/// The filter `title`, which begins words at blanks, hyphens and opening brackets.
std::string titleWords(std::string_view text);

/// Whether it has letters with case, and all of them are upper (or lower) case.
bool isUpperText(std::string_view text);
bool isLowerText(std::string_view text);
/// Whether a text that is not empty consists of such characters.
bool isAll(std::string_view text, bool (*holds)(char32_t));
bool isLetter(char32_t point);
bool isDigit(char32_t point);
bool isNumeric(char32_t point);
bool isLetterOrNumber(char32_t point);
bool isNamePart(char32_t point);
bool isNameStart(char32_t point);

/// Byte of the first place of `wanted` from `from` on, and of its last place; npos: it has none. The time
/// is linear in the text, where that of std::string_view::find is the product of both: a template must
/// not take long by few steps.
size_t placeOf(std::string_view text, std::string_view wanted, size_t from = 0);
size_t lastPlaceOf(std::string_view text, std::string_view wanted);

std::vector<std::string_view> linesOf(std::string_view text);
/// At blanks, or at each `separator`, at most `most` times (-1: always), from the start or the end.
std::vector<std::string_view> splitBlanks(std::string_view text, int64_t most, bool fromEnd);
std::vector<std::string_view> splitAt(std::string_view text, std::string_view separator,
                                      int64_t most, bool fromEnd);
/// Replaces the first `most` places of `old`, or all where it is -1: calls `keep` with each part that
/// stays, which is a view of the text, and `put` for each place.
void replaceIn(std::string_view text, std::string_view old, int64_t most,
               const std::function<void(std::string_view)> &keep, const std::function<void()> &put);

/// Bytes of the text with `each` more for every place that is replaced; SIZE_MAX where there is no
/// such number.
size_t replacedSize(std::string_view text, std::string_view old, size_t each, int64_t most);

/// As Python shows a string in a list: 'it' or "it's", and \n.
std::string pythonQuoted(std::string_view text);
std::string escapedHtml(std::string_view text);

} // namespace heddle::templates
