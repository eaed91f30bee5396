//===- TextStream.h - Incremental text of tokens ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A token may be part of a character, and its blank may depend on the token
// before. Text is therefore returned once its characters are whole and no stop
// text can begin in it.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"

namespace heddle {

/// Converts tokens to text, one after another.
class TextStream {
public:
  /// `before` holds the tokens that the text continues. `stops` are texts that end it and are not
  /// part of it, in UTF-8 and not empty. The side must outlive the stream.
  TextStream(const TextSide &side, std::span<const int32_t> before, std::vector<std::string> stops);

  /// Adds a token. Returns the text that is now certain.
  std::string add(int32_t token);
  /// Returns the text that is still waiting. No token may follow.
  std::string finish();
  /// True if a stop text has been found.
  bool stopped() const { return hasStopped; }

private:
  std::string settle(bool isLast);
  void readTokens(bool isLast);
  void readCleaned(bool isLast);

  const TextSide *side;
  std::vector<std::string> stops;
  TokenIds ids;               ///< tokens whose text is not returned yet, after tokens that give
                              ///< them context
  size_t from = 0, known = 0; ///< indices in `ids`: the first token that is decoded again, and the
                              ///< first whose text is not returned
  size_t first = 0;           ///< number of tokens before the answer
  size_t given = 0;           ///< bytes of a cleaned-up text that were returned
  std::string waiting;        ///< whole characters that may begin a stop text
  bool hasStopped = false;
};

} // namespace heddle
