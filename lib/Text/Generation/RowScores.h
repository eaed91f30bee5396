//===- RowScores.h - Argmax and top-k of a row of scores -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is as wide as a vocabulary, and each decoding step scans one for every
// sequence. The loops are therefore vectorized.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A token that may follow, with its log probability.
struct Candidate {
  double logProbability;
  int32_t token;
  /// Likelier first; the lower token among equals.
  bool operator<(const Candidate &other) const {
    return logProbability != other.logProbability ? logProbability > other.logProbability
                                                  : token < other.token;
  }
};

/// Index of the largest score, the first among equals. NaN is ignored. Returns an error for a row
/// of only NaN.
Expected<int32_t> argmax(std::span<const float> scores);

/// Log probability of a token under softmax(scores), or under scores that are `probabilities`
/// already. It is minus infinity for probability 0. It is NaN for a NaN score and in a row without
/// a likely token. Other NaN scores count as probability 0.
double logProbability(std::span<const float> scores, bool probabilities, int32_t token);

/// Log of the sum of exp(score) over a row, or of its probabilities.
double logSum(std::span<const float> scores, bool probabilities);

/// The `count` likeliest tokens of a row with their log probabilities, likelier first and the lower
/// token among equals. The distribution is softmax(scores / temperature); for `probabilities`,
/// their powers 1 / temperature, normalized. Tokens with probability 0 or a NaN score are left out.
/// A row without a number above minus infinity is an error. `among` is the row before some tokens
/// were forbidden in `scores`. If given, log probabilities refer to its distribution, unless it has
/// an infinite score.
Expected<std::vector<Candidate>> likeliest(std::span<const float> scores, bool probabilities,
                                           size_t count, double temperature = 1,
                                           std::span<const float> among = {});

} // namespace heddle
