//===- Vocabulary.cpp - Vocabularies and tokenization -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits texts in one pass over the code points. ICU defines white space, which
// includes the ideographic space U+3000.
#include "heddle/Generation/Vocabulary.h"

#include "heddle/Support/Try.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

using namespace heddle;

namespace {

Error notUtf8(std::string_view place, std::string_view text, int32_t offset) {
  char hex[8];
  std::snprintf(hex, sizeof hex, "0x%02x", static_cast<unsigned char>(text[offset]));
  return inputError(std::string(place) + ": expected UTF-8, found byte " + hex + " at offset " +
                    std::to_string(offset));
}

} // namespace

Expected<std::vector<std::string>> heddle::splitText(std::string_view text, Split split,
                                                     std::string_view place, bool keepsBlanks) {
  // ICU's offsets have 32 bits.
  if (text.size() > INT32_MAX)
    return inputError(std::string(place) + ": expected less than 2 GiB of text, found " +
                      std::to_string(text.size()) + " bytes");
  std::vector<std::string> tokens;
  const char *data = text.data();
  const int32_t length = static_cast<int32_t>(text.size());
  bool inWord = false;
  for (int32_t i = 0; i < length;) {
    const int32_t begin = i;
    UChar32 point;
    U8_NEXT(data, i, length, point);
    if (point < 0)
      return notUtf8(place, text, begin);
    if (u_isUWhiteSpace(point)) {
      inWord = false;
      if (keepsBlanks && split == Split::Character)
        tokens.emplace_back(" ");
      continue;
    }
    const std::string_view bytes =
        text.substr(static_cast<size_t>(begin), static_cast<size_t>(i - begin));
    if (inWord && split == Split::Space)
      tokens.back().append(bytes);
    else
      tokens.emplace_back(bytes);
    inWord = true;
  }
  return tokens;
}

Expected<Vocabulary> Vocabulary::parse(std::string_view text, std::string name) {
  // Checks UTF-8 for the whole file; tokens are the bytes between line ends.
  HEDDLE_TRY(splitText(text, Split::Space, name));
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    lines.emplace_back(line);
  }
  if (lines.empty())
    return inputError(name + ": expected one token a line, found an empty file");
  return of(std::move(lines), std::move(name));
}

Vocabulary Vocabulary::of(std::vector<std::string> tokens, std::string name) {
  Vocabulary vocabulary;
  vocabulary.fileName = std::move(name);
  vocabulary.tokens = std::move(tokens);
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id)
    vocabulary.ids.emplace(vocabulary.tokens[id], static_cast<int32_t>(id));
  return vocabulary;
}

std::optional<int32_t> Vocabulary::find(std::string_view token) const {
  auto found = ids.find(std::string(token));
  if (found == ids.end())
    return std::nullopt;
  return found->second;
}
