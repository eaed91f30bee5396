//===- BeamSearch.cpp - Beam search -------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each step feeds the open hypotheses of all sequences as one batch. An ending
// among a sequence's best `beam` continuations competes with its best ended
// hypothesis; the best `beam` continuations that do not end stay open. A sequence is
// done when no open hypothesis can overtake the best ended one: log probabilities
// only fall, so a score is bounded by the current log probability and the most
// favourable length.
#include "Search.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace heddle;

namespace {

struct Hypothesis {
  double logProbability = 0;
  TokenIds tokens;
  int32_t row = 0; ///< row of the last batch
};

/// A hypothesis and a token that may follow it.
struct Continuation {
  Candidate next; ///< with the log probability of the whole sequence
  const Hypothesis *from;
};

/// Score of a hypothesis with length penalty, see DecodingOptions.
double worthOf(double logProbability, int64_t tokens, const DecodingOptions &options) {
  return logProbability /
         std::pow((5.0 + static_cast<double>(tokens)) / 6.0, options.lengthPenalty);
}

class Sequence {
public:
  Sequence(int32_t row, const DecodingOptions &options)
      : options(options), limit(limitOf(options, static_cast<size_t>(row))) {
    open.push_back({0, {}, row});
  }

  const std::vector<Hypothesis> &hypotheses() const { return open; }
  std::vector<Hypothesis> &hypotheses() { return open; }
  TokenIds takeBest() { return std::move(best); }

  /// Extends the open hypotheses by the scores [rows, classes] of the batch.
  Status advance(std::span<const float> scores, size_t classes, bool probabilities) {
    std::vector<Continuation> continuations;
    for (const Hypothesis &hypothesis : open) {
      auto row = scores.subspan(static_cast<size_t>(hypothesis.row) * classes, classes);
      HEDDLE_TRY(addContinuations(hypothesis, row, probabilities, continuations));
    }
    // Stable: among equals, the better hypothesis comes first, then the lower token.
    std::stable_sort(continuations.begin(), continuations.end(),
                     [](const Continuation &a, const Continuation &b) {
                       return a.next.logProbability > b.next.logProbability;
                     });
    keepBest(continuations);
    return {};
  }

private:
  /// Only one continuation of a hypothesis ends it, so 2 * beam candidates leave at least `beam`
  /// open ones.
  Status addContinuations(const Hypothesis &hypothesis, std::span<const float> row,
                          bool probabilities, std::vector<Continuation> &continuations) {
    auto candidates =
        HEDDLE_TRY(likeliest(row, probabilities, 2 * static_cast<size_t>(options.beam)));
    for (Candidate next : candidates) {
      next.logProbability += hypothesis.logProbability;
      continuations.push_back({next, &hypothesis});
    }
    return {};
  }

  /// Selects the open hypotheses of the next step from continuations, sorted by log probability. At
  /// the limit of tokens, all open hypotheses end.
  void keepBest(const std::vector<Continuation> &continuations) {
    const size_t beam = static_cast<size_t>(options.beam);
    std::vector<Hypothesis> next;
    for (size_t rank = 0; rank < continuations.size() && next.size() < beam; ++rank) {
      const auto &[candidate, from] = continuations[rank];
      const bool ends = endsSequence(options, candidate.token);
      if (ends && rank < beam)
        finish(from->tokens, candidate.logProbability,
               static_cast<int64_t>(from->tokens.size()) + 1);
      if (ends)
        continue;
      next.push_back({candidate.logProbability, from->tokens, from->row});
      next.back().tokens.push_back(candidate.token);
    }
    open = std::move(next);
    if (open.empty() || static_cast<int64_t>(open[0].tokens.size()) >= limit)
      finishAll();
    else if (isOvertaken())
      open.clear();
  }

  void finish(const TokenIds &tokens, double logProbability, int64_t length) {
    const double worth = worthOf(logProbability, length, options);
    if (worth <= bestWorth)
      return;
    bestWorth = worth;
    best = tokens;
  }

  void finishAll() {
    for (const Hypothesis &hypothesis : open)
      finish(hypothesis.tokens, hypothesis.logProbability,
             static_cast<int64_t>(hypothesis.tokens.size()));
    open.clear();
  }

  bool isOvertaken() const {
    const auto length = static_cast<int64_t>(open[0].tokens.size());
    const double kindest = std::max(worthOf(open[0].logProbability, length + 1, options),
                                    worthOf(open[0].logProbability, limit, options));
    return bestWorth >= kindest;
  }

  const DecodingOptions &options;
  int64_t limit;
  std::vector<Hypothesis> open; ///< best first
  TokenIds best;
  double bestWorth = -std::numeric_limits<double>::infinity();
};

/// The next batch: a row for each open hypothesis, sequence by sequence.
struct Batch {
  std::vector<int32_t> tokens, parents;

  void take(std::vector<Sequence> &sequences) {
    tokens.clear();
    parents.clear();
    for (Sequence &sequence : sequences)
      for (Hypothesis &hypothesis : sequence.hypotheses()) {
        tokens.push_back(hypothesis.tokens.back());
        parents.push_back(hypothesis.row);
        hypothesis.row = static_cast<int32_t>(parents.size()) - 1;
      }
  }

  /// Whether no row moves, so that caches need no reorder.
  bool staysAsItIs(size_t rows) const {
    for (size_t r = 0; r < parents.size(); ++r)
      if (parents[r] != static_cast<int32_t>(r))
        return false;
    return parents.size() == rows;
  }
};

} // namespace

Expected<std::vector<TokenIds>> heddle::beamSearch(StepModel &model, size_t count,
                                                   const DecodingOptions &options) {
  std::vector<Sequence> sequences;
  for (size_t s = 0; s < count; ++s)
    sequences.emplace_back(static_cast<int32_t>(s), options);
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  const std::vector<int32_t> none(count, -1);
  Batch batch;
  auto scores = HEDDLE_TRY(model.admit(none, all));
  for (size_t rows = count; rows > 0; rows = batch.tokens.size()) {
    for (Sequence &sequence : sequences)
      HEDDLE_TRY(sequence.advance(scores, scores.size() / rows, model.givesProbabilities()));
    batch.take(sequences);
    if (batch.tokens.empty())
      break;
    if (!batch.staysAsItIs(rows))
      HEDDLE_TRY(model.reorder(batch.parents));
    scores = HEDDLE_TRY(model.step(batch.tokens));
  }
  std::vector<TokenIds> results;
  for (Sequence &sequence : sequences)
    results.push_back(sequence.takeBest());
  return results;
}
