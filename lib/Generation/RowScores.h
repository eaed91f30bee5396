//===- RowScores.h - The likeliest of a row of scores ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is as wide as a vocabulary, and every step of a decoding looks at one for
// each sequence: the loops work on vectors.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A token that may follow, and its log probability.
struct Candidate {
  double logProbability;
  int32_t token;
  /// Likelier first, of equals the lower token.
  bool operator<(const Candidate &other) const {
    return logProbability != other.logProbability ? logProbability > other.logProbability
                                                  : token < other.token;
  }
};

/// The place of the largest score, the first of equals. A NaN is never larger; a row without any
/// number is an error.
Expected<int32_t> argmax(std::span<const float> scores);

/// At most `count` tokens of a row with their log probabilities, likelier first, of equal scores
/// the lower token: softmax(scores / temperature), or of scores that are probabilities already
/// their powers 1 / temperature. Tokens of probability 0, and those whose score is NaN, are left
/// out; a row without any number above minus infinity is an error.
Expected<std::vector<Candidate>> likeliest(std::span<const float> scores, bool probabilities,
                                           size_t count, double temperature = 1);

} // namespace heddle
