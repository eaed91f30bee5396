//===- Vocabulary.h - Vocabularies and tokenization ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vocabulary file has one token per line, with ids from 0. Text is split at white
// space (by ICU's definition) or into code points. Bytes that are not UTF-8 are errors
// with their offset.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/TextFacts.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle {

/// Splits UTF-8 text into tokens and drops white space. With `keepsBlanks`, each code point of
/// white space between characters is a token " ". Errors begin with `place`.
Expected<std::vector<std::string>> splitText(std::string_view text, Split split,
                                             std::string_view place, bool keepsBlanks = false);

/// Tokens of a vocabulary file and their ids.
class Vocabulary {
public:
  /// Reads the text of a vocabulary file. Lines end in "\n" or "\r\n", optional on the last one. A
  /// duplicate token keeps its first id; an empty line takes an id that no text can have.
  static Expected<Vocabulary> parse(std::string_view text, std::string name);

  /// Tokens with line ends, which a file of lines cannot hold.
  static Vocabulary of(std::vector<std::string> tokens, std::string name);

  const std::string &name() const { return fileName; }
  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  std::optional<int32_t> find(std::string_view token) const;
  /// The token of an id in [0, size()).
  const std::string &token(int32_t id) const { return tokens[static_cast<size_t>(id)]; }

private:
  std::string fileName;
  std::vector<std::string> tokens;
  std::unordered_map<std::string, int32_t> ids;
};

} // namespace heddle
