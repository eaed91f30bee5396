//===- Decoding.h - From scores to sequences -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy decoding, sampling and beam search over a model that is fed one token a
// row. What a sequence becomes does not depend on the batch it is decoded in:
// rows do not see each other, equal scores are settled by the lower token, and a
// random number belongs to a seed, a sequence and a position.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

using TokenIds = std::vector<int32_t>;

/// A batch of sequences in the making.
class StepModel {
public:
  virtual ~StepModel();
  /// Feeds one token a row. Gives [rows, vocabulary] scores of the token that follows, valid until
  /// the next call.
  virtual Expected<std::span<const float>> step(std::span<const int32_t> tokens) = 0;
  /// Row r goes on from row parents[r]; the number of rows may change.
  virtual Status reorder(std::span<const int32_t> parents) = 0;
  /// Whether scores are probabilities; otherwise they are logits.
  virtual bool givesProbabilities() const = 0;
};

struct DecodingOptions {
  int32_t start = 2;          ///< fed first, not part of what comes out
  std::vector<int32_t> first; ///< instead of `start`, where each sequence has its own
  std::optional<int32_t> end; ///< ends a sequence, not part of what comes out
  int64_t limit = 256;        ///< tokens that a sequence may have

  /// Hypotheses kept for each sequence; 1 is greedy decoding. At most `maximumBeam`.
  int64_t beam = 1;
  /// A hypothesis of n tokens, the end counted, is worth log p / ((5 + n) / 6)^lengthPenalty
  /// (Wu et al. 2016, equation 14). The default is that of Vaswani et al. 2017, section 6.1.
  double lengthPenalty = 0.6;

  /// Draws each token instead of taking the likeliest: scores are divided by `temperature`, then
  /// the `topK` likeliest are kept (0: all), then the likeliest of these whose probabilities first
  /// sum to `topP` (Holtzman et al. 2020, section 3.1).
  bool sample = false;
  double temperature = 1;
  int64_t topK = 0;
  double topP = 1;
  uint64_t seed = 0;
  /// The number of each sequence among all that share the seed; empty: 0, 1, ….
  std::vector<uint64_t> numbers;

  /// Called with every token as soon as it is chosen, in greedy decoding and sampling; an error
  /// ends the decoding.
  std::function<Status(size_t sequence, int32_t token)> onToken;
};
inline constexpr int64_t maximumBeam = 1024;

/// A usage error that names the option, if one is out of its range.
Status checkDecoding(const DecodingOptions &options);

/// Decodes `sequences` rows at once. The model must stand before its first token.
Expected<std::vector<TokenIds>> decodeSequences(StepModel &model, size_t sequences,
                                                const DecodingOptions &options);

} // namespace heddle
