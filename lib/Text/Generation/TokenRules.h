//===- TokenRules.h - Changes to scores before a choice --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that change the scores of the next token, given the sequence so far.
#pragma once

#include "heddle/Generation/Decoding.h"

namespace heddle {

/// Applies the rules of a decoding, one row at a time.
class TokenRules {
public:
  TokenRules(const DecodingOptions &options, bool probabilities);

  /// The scores of the token after `said` in a sequence; valid until the next call.
  std::span<const float> apply(std::span<const float> scores, size_t sequence,
                               std::span<const int32_t> said);
  /// The token that must follow `said`; none: any may.
  std::optional<int32_t> forced(size_t sequence, std::span<const int32_t> said) const;

private:
  void forbid(std::span<const int32_t> tokens);
  void penalize(size_t sequence, std::span<const int32_t> said);
  bool forcesFirst(size_t sequence) const;
  void forbidWords(size_t sequence, std::span<const int32_t> said);
  void forbidRepeats(size_t sequence, std::span<const int32_t> said);
  std::span<const int32_t> before(size_t sequence) const;

  const DecodingOptions &options;
  float never;  ///< score of a token that cannot be chosen
  bool isPlain; ///< no rule changes any score
  std::vector<float> changed;
  std::vector<int32_t> tokens; ///< of the current row
};

} // namespace heddle
