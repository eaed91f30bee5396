//===- Decoding.h - Greedy decoding, sampling, beam search -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches over a model that reads one token a row. A sequence does not depend on the
// batch that it is decoded in, nor on who leaves its row to it: rows do not see each
// other, the lower token wins among equal scores, and a random number belongs to a
// seed, a sequence and a position.
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

using TokenIds = std::vector<int32_t>;

/// A model with the caches of a batch of sequences.
class StepModel {
public:
  virtual ~StepModel();
  /// Makes a batch: row r continues row parents[r], and where that is -1 the next of `sequences`
  /// begins. Returns scores [sequences, vocabulary] of the first token of each that begins, valid
  /// until the next call.
  virtual Expected<std::span<const float>> admit(std::span<const int32_t> parents,
                                                 std::span<const size_t> sequences) = 0;
  /// Feeds one token a row. Returns scores [rows, vocabulary] of the next token, valid until the
  /// next call.
  virtual Expected<std::span<const float>> step(std::span<const int32_t> tokens) = 0;
  /// Row r continues row parents[r]; the number of rows may change.
  virtual Status reorder(std::span<const int32_t> parents) = 0;
  /// Whether scores are probabilities; otherwise they are logits.
  virtual bool givesProbabilities() const = 0;
};

/// What hypotheses of a beam are worth, and when a sequence is done. All but the first are those of
/// Transformers (`early_stopping`): a hypothesis of n tokens, with the end, is worth log p /
/// n^lengthPenalty; endings and, at the limit, all count among the best `beam` continuations.
enum class BeamRule : uint8_t {
  Own,    ///< log p / ((5 + n) / 6)^lengthPenalty (Wu et al. 2016, equation 14); done once no open
          ///< hypothesis can overtake the best ended one
  Full,   ///< done once `beam` have ended
  Likely, ///< or once the likeliest open one is worth no more, at its length, than the worst of these
  Sure,   ///< or at the limit's length, where a longer one is worth more
};

/// A setting of a model that is wrong: an error where its option is used.
struct RefusedSetting {
  std::string option; ///< "temperature", "top-k", …
  std::string error;  ///< `FILE: key: expected …, found …`
};

struct DecodingOptions {
  std::vector<int32_t> ends;   ///< tokens that end a sequence, not part of the result
  int64_t limit = 256;         ///< most tokens of a sequence
  std::vector<int64_t> limits; ///< of each sequence, where that is less than `limit`; empty: none
  int64_t limitInAll = 0;      ///< most tokens of a sequence and those before it; 0: any number
  size_t rows = 0;             ///< most sequences of a batch, whose places others take; 0: all

  /// Hypotheses kept for each sequence; 1 is greedy decoding. At most `maximumBeam`.
  int64_t beam = 1;
  BeamRule beamRule = BeamRule::Own;
  double lengthPenalty =
      0.6; ///< see BeamRule; the default is from Vaswani et al. 2017, section 6.1

  /// Draws each token at random: scores are divided by `temperature`, then the `topK` likeliest are
  /// kept (0: all), then the smallest set of these whose probabilities sum to `topP` (Holtzman et
  /// al. 2020, section 3.1), and of these the ones that are at least `minP` times as likely as the
  /// first (Nguyen et al. 2024, section 3).
  bool sample = false;
  double temperature = 1;
  int64_t topK = 0;
  double topP = 1, minP = 0;
  uint64_t seed = 0;
  /// Number of each sequence among all that share the seed; empty: 0, 1, ….
  std::vector<uint64_t> numbers;

  /// The score of a token that a sequence holds already is divided by this where it is positive, and
  /// multiplied where it is negative (Keskar et al. 2019, section 4.1); a beam's are log probabilities.
  double repetitionPenalty = 1;
  /// Tokens before each sequence, which count as held; empty: none.
  std::vector<TokenIds> before;

  /// Tokens that are never chosen, and those that are not chosen first; where `first` is forced, not
  /// second.
  std::vector<int32_t> suppressed, suppressedFirst;
  /// Words that are never written: the last token of each is not chosen after its others.
  std::vector<std::vector<int32_t>> badWords;
  /// The token that is chosen first after a prompt of at most one token, and the one that is chosen
  /// last where the limit ends a sequence, whatever their scores; a beam counts them as certain.
  std::optional<int32_t> first, last;
  int64_t least = 0;      ///< tokens of a sequence before an end may be chosen
  int64_t leastInAll = 0; ///< the same with those before the sequence
  int64_t noRepeat =
      0; ///< n: no n tokens in a row come twice, those before a sequence among them; 0: all

  /// Whether a beam counts the probabilities of what the rules leave as 1 in all; else what they take
  /// away stays lost.
  bool renormalizes = false;

  /// Settings of the model that are errors where this search uses them.
  std::vector<RefusedSetting> refused;

  std::optional<TimestampRules> timestamps; ///< of a speech model that is to say them

  /// Callback before each part of the prompts is read, with how many tokens of the longest are read.
  /// An error ends the decoding.
  std::function<Status(size_t tokens)> onPrompt;
  /// Callback for every token as soon as it is chosen, in greedy decoding and sampling only: whether
  /// the sequence goes on. An error ends the decoding.
  std::function<Expected<bool>(size_t sequence, int32_t token)> onToken;
  /// Callback for the log probability of every token that is chosen, an end among them, of a beam
  /// once a sequence is done: at temperature 1, among the tokens that could be chosen.
  std::function<void(size_t sequence, double logProbability)> onProbability;
};
inline constexpr int64_t maximumBeam = 1024;

/// Usage error that begins with the option's name if a value is out of range.
Status checkDecoding(const DecodingOptions &options);
/// The error of the first of the model's wrong settings that the search uses.
Status checkRefused(const DecodingOptions &options);

/// Decodes sequences 0, 1, … of the model, which begin in this order.
Expected<std::vector<TokenIds>> decodeSequences(StepModel &model, size_t sequences,
                                                const DecodingOptions &options);

} // namespace heddle
