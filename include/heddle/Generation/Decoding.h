//===- Decoding.h - Greedy decoding, sampling, beam search -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches over a model that reads one token per row. A sequence depends neither
// on its batch nor on the sequence that had its row before. Rows are
// independent, the lower token wins among equal scores, and a random number
// depends only on the seed, the sequence and the position.
#pragma once

#include "heddle/Support/Error.h"
#include "heddle/Support/TextFacts.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// The tokens of a text.
using TokenIds = std::vector<int32_t>;

/// Timestamps that a speech model may write, as in Transformers' WhisperTimeStampLogitsProcessor. A
/// text begins with one. Further timestamps are in pairs that end a segment and begin the next, and
/// never decrease. A timestamp is written wherever all timestamps together are likelier than any
/// other token.
struct TimestampRules {
  int32_t none = 0;                   ///< the token for "no timestamps"
  int32_t first = 0;                  ///< the timestamp 0; all tokens from here on are timestamps
  int32_t end = 0;                    ///< ends a text; all lower tokens are text
  std::optional<int32_t> latestStart; ///< maximum of the first timestamp, counted from 0

  /// Sets tokens that may not follow `said` to minus infinity, or to 0 if scores are probabilities.
  void apply(std::span<float> scores, bool probabilities, std::span<const int32_t> said) const;
};

/// A model with caches for a batch of sequences.
class StepModel {
public:
  virtual ~StepModel();
  /// Makes a batch. Row r continues row parents[r]; if that is -1, the next of `sequences` begins
  /// there. Returns scores [sequences, vocabulary] of the first token of each new sequence, valid
  /// until the next call.
  virtual Expected<std::span<const float>> admit(std::span<const int32_t> parents,
                                                 std::span<const size_t> sequences) = 0;
  /// Feeds one token per row. Returns scores [rows, vocabulary] of the next token, valid until the
  /// next call.
  virtual Expected<std::span<const float>> step(std::span<const int32_t> tokens) = 0;
  /// Row r continues row parents[r]; the number of rows may change.
  virtual Status reorder(std::span<const int32_t> parents) = 0;
  /// True if scores are probabilities; otherwise they are logits.
  virtual bool givesProbabilities() const = 0;
};

/// Options of a search.
struct DecodingOptions : SearchSettings {
  DecodingOptions() { limit = 256; }

  std::vector<int32_t> ends;   ///< tokens that end a sequence and are not part of the result
  std::vector<int64_t> limits; ///< of each sequence, if below `limit`; empty: none
  size_t rows = 0;             ///< maximum sequences in a batch; the others wait for a row; 0: all

  uint64_t seed = 0; ///< of random draws
  /// Number of each sequence among all sequences that share the seed; empty: 0, 1, ….
  std::vector<uint64_t> numbers;

  /// Tokens before each sequence, which rules on earlier tokens count as part of it; empty: none.
  std::vector<TokenIds> before;

  std::optional<TimestampRules> timestamps; ///< rules of a speech model that writes timestamps

  /// Called before each part of the prompts is read, with the number of tokens of the longest
  /// prompt read so far. An error ends the decoding.
  std::function<Status(size_t tokens)> onPrompt;
  /// Called for every token as soon as it is chosen, in greedy decoding and sampling only. Returns
  /// whether the sequence continues. An error ends the decoding.
  std::function<Expected<bool>(size_t sequence, int32_t token)> onToken;
  /// Called with the log probability of every token that is chosen, ends included; for a beam, once
  /// a sequence is done. The probability is at temperature 1, among the tokens that could be
  /// chosen.
  std::function<void(size_t sequence, double logProbability)> onProbability;
};
inline constexpr int64_t maximumBeam = 1024;

/// Returns a usage error, which begins with the option's name, if a value is out of range.
Status checkDecoding(const DecodingOptions &options);
/// Returns the error of the first wrong setting of the model that the search uses.
Status checkRefused(const DecodingOptions &options);

/// Decodes sequences 0, 1, … of the model, which begin in this order.
Expected<std::vector<TokenIds>> decodeSequences(StepModel &model, size_t sequences,
                                                const DecodingOptions &options);

} // namespace heddle
