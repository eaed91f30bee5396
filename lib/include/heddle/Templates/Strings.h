//===- Strings.h - Python's string functions --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// String functions of templates. Positions and lengths count code points; texts are valid UTF-8.
#pragma once

#include "heddle/Support/Error.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::templates {

/// Error for text that is not valid UTF-8.
Status checkText(std::string_view text);

/// Characters of the text, one per code point.
std::vector<std::string_view> charactersOf(std::string_view text);
size_t lengthOf(std::string_view text);

bool isBlank(char32_t point);
std::string_view stripStart(std::string_view text);
std::string_view stripEnd(std::string_view text);
/// The text without these characters at its start or end.
std::string_view stripStart(std::string_view text, std::string_view characters);
std::string_view stripEnd(std::string_view text, std::string_view characters);

std::string upperText(std::string_view text);
std::string lowerText(std::string_view text);
/// str.title(): the first letter of each run of letters in title case.
std::string titleText(std::string_view text);
std::string capitalText(std::string_view text);
/// The filter `title`, in which words begin after blanks, hyphens and opening brackets.
std::string titleWords(std::string_view text);

/// Whether the text has letters with case, and all of them are upper (or lower) case.
bool isUpperText(std::string_view text);
bool isLowerText(std::string_view text);
/// Whether the text is not empty and all its characters have the property.
bool isAll(std::string_view text, bool (*holds)(char32_t));
bool isLetter(char32_t point);
bool isDigit(char32_t point);
bool isNumeric(char32_t point);
bool isLetterOrNumber(char32_t point);
bool isNamePart(char32_t point);
bool isNameStart(char32_t point);

/// Byte offset of the first occurrence of `wanted` at or after `from`, and of the last occurrence;
/// npos if there is none. The time is linear in the text, while std::string_view::find may take the
/// product of both lengths: a template must not take long in few steps.
size_t placeOf(std::string_view text, std::string_view wanted, size_t from = 0);
size_t lastPlaceOf(std::string_view text, std::string_view wanted);

std::vector<std::string_view> linesOf(std::string_view text);
/// Splits at blanks, or at each `separator`, at most `most` times (-1: no limit), from the start or
/// the end.
std::vector<std::string_view> splitBlanks(std::string_view text, int64_t most, bool fromEnd);
std::vector<std::string_view> splitAt(std::string_view text, std::string_view separator,
                                      int64_t most, bool fromEnd);
/// Replaces the first `most` occurrences of `old`, or all if it is -1. Calls `keep` with each part
/// that remains, a view of the text, and `put` for each occurrence.
void replaceIn(std::string_view text, std::string_view old, int64_t most,
               const std::function<void(std::string_view)> &keep, const std::function<void()> &put);

/// Size of the text in bytes if every replaced occurrence adds `each` bytes; SIZE_MAX on overflow.
size_t replacedSize(std::string_view text, std::string_view old, size_t each, int64_t most);

/// repr() of a string as in Python: 'it' or "it's", and \n.
std::string pythonQuoted(std::string_view text);

} // namespace heddle::templates
