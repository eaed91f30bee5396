//===- TextStream.h - The text of tokens as they come ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A token may be part of a character, and its blank may depend on the token before.
// Text is given once it is whole, and once no text that ends the answer can begin in it.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"

namespace heddle {

/// Turns tokens into text, one after another.
class TextStream {
public:
  /// `before` are the tokens that the text continues; `stops`, UTF-8 and not empty, end it, and are
  /// no part of it. The side must outlive the stream.
  TextStream(const TextSide &side, std::span<const int32_t> before, std::vector<std::string> stops);

  /// The text that is certain with this token.
  std::string add(int32_t token);
  /// The text that waits, once no token follows.
  std::string finish();
  /// Whether a text that ends the answer has come.
  bool stopped() const { return hasStopped; }

private:
  std::string settle(bool isLast);
  void readTokens(bool isLast);
  void readCleaned(bool isLast);

  const TextSide *side;
  std::vector<std::string> stops;
  TokenIds ids;               ///< those whose text is not given, behind some that give it its place
  size_t from = 0, known = 0; ///< in `ids`: the first that are read again, and those that are given
  size_t first = 0;           ///< tokens before the answer
  size_t given = 0;           ///< bytes of a cleaned text that were given
  std::string waiting;        ///< whole characters that may begin a text that ends the answer
  bool hasStopped = false;
};

} // namespace heddle
