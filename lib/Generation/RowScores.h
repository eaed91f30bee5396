//===- RowScores.h - Argmax and top-k of a row of scores -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is as wide as a vocabulary and each decoding step scans one for every
// sequence, so the loops are vectorised.
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
  /// Likelier first, among equals the lower token.
  bool operator<(const Candidate &other) const {
    return logProbability != other.logProbability ? logProbability > other.logProbability
                                                  : token < other.token;
  }
};

/// Index of the largest score, the first among equals. NaN is ignored; a row of nothing but NaN is
/// an error.
Expected<int32_t> argmax(std::span<const float> scores);

/// The log probability of a token under softmax(scores), or under scores that are `probabilities`
/// already: minus infinity where it is 0, NaN for a score of NaN and in a row without a likely token.
/// Other scores of NaN count as probability 0.
double logProbability(std::span<const float> scores, bool probabilities, int32_t token);

/// Log of the sum of exp(score) over a row, or of its probabilities.
double logSum(std::span<const float> scores, bool probabilities);

/// The `count` likeliest tokens of a row with their log probabilities, likelier first, among equals
/// the lower token. The distribution is softmax(scores / temperature); for `probabilities`, their
/// powers 1 / temperature, normalised. Tokens with probability 0 or a score of NaN are left out. A
/// row without a number above minus infinity is an error. With `among`, of which `scores` is a copy
/// with some tokens forbidden, log probabilities are those in the distribution of `among`, unless a
/// score of it is infinite.
Expected<std::vector<Candidate>> likeliest(std::span<const float> scores, bool probabilities,
                                           size_t count, double temperature = 1,
                                           std::span<const float> among = {});

} // namespace heddle
