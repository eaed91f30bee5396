//===- Decoding.h - Greedy decoding, sampling, beam search -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches over a model that reads one token per row. A sequence depends neither
// on its batch nor on the sequence that had its row before. Rows are
// independent, the lower token wins among equal scores, and a random number
// depends only on the seed, the sequence and the position.
#pragma once

#include "heddle/Generation/TimestampRules.h"
#include "heddle/Support/Error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// The tokens of a text.
using TokenIds = std::vector<int32_t>;

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

/// Scores of a beam's hypotheses, and the condition that ends a sequence. All rules except Own are
/// Transformers' (`early_stopping`): a hypothesis of n tokens, the end included, scores log p /
/// n^lengthPenalty. Ends count if they are among the best `beam` continuations; at the limit, all
/// of these count.
enum class BeamRule : uint8_t {
  Own,    ///< log p / ((5 + n) / 6)^lengthPenalty (Wu et al. 2016, equation 14); done once no open
          ///< hypothesis can overtake the best ended one
  Full,   ///< done once `beam` hypotheses have ended
  Likely, ///< or once the likeliest open hypothesis scores no more, at its length, than the worst
          ///< ended one
  Sure,   ///< or the same at the limit's length, if a longer hypothesis scores more
};

/// A wrong setting of a model, which is an error if its option is used.
struct RefusedSetting {
  std::string option; ///< "temperature", "top-k", …
  std::string error;  ///< `FILE: key: expected …, found …`
};

/// Options of a search.
struct DecodingOptions {
  std::vector<int32_t> ends;   ///< tokens that end a sequence and are not part of the result
  int64_t limit = 256;         ///< maximum tokens of a sequence
  std::vector<int64_t> limits; ///< of each sequence, if below `limit`; empty: none
  int64_t limitInAll = 0;      ///< maximum tokens of a sequence and its prompt; 0: unlimited
  size_t rows = 0;             ///< maximum sequences in a batch; the others wait for a row; 0: all

  /// Hypotheses kept for each sequence; 1 is greedy decoding. At most `maximumBeam`.
  int64_t beam = 1;
  BeamRule beamRule = BeamRule::Own;
  double lengthPenalty = 0.6; ///< see BeamRule; default of Vaswani et al. 2017, section 6.1

  /// Draws each token at random, after three filters. Scores are divided by `temperature`. `topK`
  /// keeps the likeliest tokens (0: all). `topP` keeps the smallest set of them whose probabilities
  /// sum to it (Holtzman et al. 2020, section 3.1). `minP` keeps the tokens in this set that are at
  /// least that many times as likely as the first (Nguyen et al. 2024, section 3).
  bool sample = false;
  double temperature = 1;
  int64_t topK = 0;
  double topP = 1, minP = 0;
  uint64_t seed = 0;
  /// Number of each sequence among all sequences that share the seed; empty: 0, 1, ….
  std::vector<uint64_t> numbers;

  /// The score of a token that the sequence already has is divided by this if it is positive, and
  /// multiplied if it is negative (Keskar et al. 2019, section 4.1). In a beam, scores are log
  /// probabilities.
  double repetitionPenalty = 1;
  /// Tokens before each sequence, which the rules below count as part of it; empty: none.
  std::vector<TokenIds> before;

  /// Tokens that are never chosen, and tokens that are not chosen first (not second if `first` is
  /// forced).
  std::vector<int32_t> suppressed, suppressedFirst;
  /// Words that are never written: the last token of a word is not chosen after its other tokens.
  std::vector<std::vector<int32_t>> badWords;
  /// The first token after a prompt of at most one token, and the last token of a sequence that the
  /// limit ends. They are chosen whatever their scores, and a beam counts them as certain.
  std::optional<int32_t> first, last;
  int64_t least = 0;      ///< minimum tokens of a sequence before an end
  int64_t leastInAll = 0; ///< the same, tokens before the sequence included
  int64_t noRepeat = 0;   ///< n: no n tokens in a row occur twice, `before` included; 0: off

  /// In a beam: the probabilities of the tokens that the rules leave are scaled to sum to 1.
  /// Otherwise the probability of forbidden tokens is lost.
  bool renormalizes = false;

  /// Wrong settings of the model, which are errors if this search uses them.
  std::vector<RefusedSetting> refused;

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
