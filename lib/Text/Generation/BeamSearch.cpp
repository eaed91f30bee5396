//===- BeamSearch.cpp - Beam search -------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each step feeds the open hypotheses of all sequences as one batch. An ending
// among a sequence's best `beam` continuations competes with its ended
// hypotheses. The best `beam` continuations that do not end stay open. By
// Heddle's own rule a sequence is done when no open hypothesis can overtake the
// best ended one. Log probabilities only fall, so the current one and the most
// favorable length bound a score. The other rules are Transformers'.
#include "Search.h"
#include "TokenRules.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

namespace {

struct Hypothesis {
  double logProbability = 0;
  TokenIds tokens;
  int32_t row = 0;                 ///< row of the last batch
  std::vector<double> shares = {}; ///< log probability of each token, for onProbability
};

/// A hypothesis and a token that may follow it.
struct Continuation {
  Candidate next; ///< with the log probability of the whole sequence
  const Hypothesis *from;
  double share; ///< log probability of the token among the allowed ones
};

/// Score of a hypothesis with length penalty, see BeamRule.
double worthOf(double logProbability, int64_t tokens, const DecodingOptions &options) {
  const auto length = static_cast<double>(tokens);
  return logProbability /
         std::pow(options.beamRule == BeamRule::Own ? (5.0 + length) / 6.0 : length,
                  options.lengthPenalty);
}

/// A hypothesis that has ended.
struct Ended {
  double worth;
  TokenIds tokens;
  std::vector<double> shares;
};

class Sequence {
public:
  Sequence(size_t number, int32_t row, const DecodingOptions &options)
      : number(number), options(&options), limit(limitOf(options, number)) {
    open.push_back({0, {}, row});
  }

  bool isDone() const { return open.empty(); }
  std::vector<Hypothesis> &hypotheses() { return open; }
  TokenIds takeBest() {
    if (ended.empty())
      return {};
    for (double share : ended.front().shares)
      options->onProbability(number, share);
    return std::move(ended.front().tokens);
  }

  /// Extends the open hypotheses by the scores [rows, classes] of the batch's rows from `first` on.
  Status advance(std::span<const float> scores, size_t first, size_t classes, bool probabilities,
                 TokenRules &rules) {
    std::vector<Continuation> continuations;
    for (const Hypothesis &hypothesis : open) {
      auto row = scores.subspan((static_cast<size_t>(hypothesis.row) - first) * classes, classes);
      HEDDLE_TRY(addContinuations(hypothesis, row, probabilities, rules, continuations));
    }
    // Stable: among equals, the better hypothesis comes first, then the lower token.
    std::stable_sort(continuations.begin(), continuations.end(),
                     [](const Continuation &a, const Continuation &b) {
                       return a.next.logProbability > b.next.logProbability;
                     });
    keepBest(continuations);
    return {};
  }

  size_t number; ///< index among all sequences

private:
  /// Takes `beam` candidates, and `beam` more for each end token, so that at least `beam`
  /// hypotheses stay open. Rules remove tokens, but make no other token likelier.
  Status addContinuations(const Hypothesis &hypothesis, std::span<const float> row,
                          bool probabilities, TokenRules &rules,
                          std::vector<Continuation> &continuations) {
    const size_t each = 1 + std::max<size_t>(options->ends.size(), 1);
    if (options->repetitionPenalty != 1)
      row = logProbabilities(row);
    auto left = rules.apply(row, number, hypothesis.tokens);
    const bool amongAll = left.data() != row.data() && !options->renormalize &&
                          !rules.forced(number, hypothesis.tokens);
    auto candidates =
        HEDDLE_TRY(likeliest(left, probabilities, each * static_cast<size_t>(options->beams),
                             /*temperature=*/1, amongAll ? row : left));
    double taken = 0;
    if (amongAll && options->onProbability)
      taken = logSum(left, probabilities) - logSum(row, probabilities);
    for (Candidate next : candidates) {
      const double share = next.logProbability - taken;
      next.logProbability += hypothesis.logProbability;
      continuations.push_back({next, &hypothesis, share});
    }
    return {};
  }

  /// Log probabilities of `logits`. The repetition penalty changes these, not logits, because it
  /// depends on the sign of a score.
  std::span<const float> logProbabilities(std::span<const float> logits) {
    logs.assign(logits.begin(), logits.end());
    const auto whole = static_cast<float>(logSum(logits, /*probabilities=*/false));
    for (float &log : logs)
      log -= whole;
    return logs;
  }

  /// Selects the open hypotheses of the next step from continuations, sorted by log probability.
  void keepBest(const std::vector<Continuation> &continuations) {
    const size_t beam = static_cast<size_t>(options->beams);
    const auto length = static_cast<int64_t>(open[0].tokens.size()) + 1;
    const bool allEnd = options->beamRule != BeamRule::Own && length >= limit;
    std::vector<Hypothesis> next;
    for (size_t rank = 0; rank < continuations.size() && next.size() < beam; ++rank) {
      const auto &[candidate, from, share] = continuations[rank];
      const bool ends = endsSequence(*options, candidate.token);
      Hypothesis made{candidate.logProbability, from->tokens, from->row};
      if (options->onProbability) {
        made.shares = from->shares;
        made.shares.push_back(share);
      }
      if (!ends)
        made.tokens.push_back(candidate.token);
      if ((ends || allEnd) && rank < beam)
        finish(made, length);
      if (!ends && !allEnd)
        next.push_back(std::move(made));
    }
    open = std::move(next);
    if (open.empty() || length >= limit)
      finishAll();
    else if (mayStop(length))
      open.clear();
  }

  /// Inserts an ended hypothesis. Keeps the best `beam`, the best first and the earlier one among
  /// equals.
  void finish(const Hypothesis &hypothesis, int64_t length) {
    const double worth = worthOf(hypothesis.logProbability, length, *options);
    auto place = std::ranges::find_if(ended, [&](const Ended &e) { return e.worth < worth; });
    ended.insert(place, {worth, hypothesis.tokens, hypothesis.shares});
    if (std::ssize(ended) > options->beams)
      ended.pop_back();
  }

  void finishAll() {
    for (const Hypothesis &hypothesis : open)
      finish(hypothesis, static_cast<int64_t>(hypothesis.tokens.size()));
    open.clear();
  }

  /// True if the open hypotheses, of `length` tokens, are given up.
  bool mayStop(int64_t length) const {
    auto worth = [&](int64_t tokens) { return worthOf(open[0].logProbability, tokens, *options); };
    if (options->beamRule == BeamRule::Own)
      return !ended.empty() && ended.front().worth >= std::max(worth(length + 1), worth(limit));
    if (std::ssize(ended) < options->beams)
      return false;
    const bool toLimit = options->beamRule == BeamRule::Sure && options->lengthPenalty > 0;
    return options->beamRule == BeamRule::Full ||
           worth(toLimit ? limit : length) <= ended.back().worth;
  }

  const DecodingOptions *options;
  int64_t limit;
  std::vector<Hypothesis> open; ///< best first
  std::vector<Ended> ended;
  std::vector<float> logs; ///< log probabilities of the current row
};

/// The next batch, with a row for each open hypothesis. The first hypothesis that continues a row
/// stays in it, so that caches move as few rows as possible.
struct Batch {
  std::vector<int32_t> tokens, parents;

  void take(std::vector<Sequence> &sequences) {
    std::vector<Hypothesis *> open, moving;
    for (Sequence &sequence : sequences)
      for (Hypothesis &hypothesis : sequence.hypotheses())
        open.push_back(&hypothesis);
    constexpr int32_t free = -1;
    parents.assign(open.size(), free);
    tokens.resize(open.size());
    for (Hypothesis *hypothesis : open) {
      const auto row = static_cast<size_t>(hypothesis->row);
      if (row < parents.size() && parents[row] == free)
        place(*hypothesis, row);
      else
        moving.push_back(hypothesis);
    }
    size_t row = 0;
    for (Hypothesis *hypothesis : moving) {
      while (parents[row] != free)
        ++row;
      place(*hypothesis, row);
    }
  }

  /// True if no row moves, so that caches need no reorder.
  bool staysAsItIs(size_t rows) const {
    for (size_t r = 0; r < parents.size(); ++r)
      if (parents[r] != static_cast<int32_t>(r))
        return false;
    return parents.size() == rows;
  }

private:
  void place(Hypothesis &hypothesis, size_t row) {
    tokens[row] = hypothesis.tokens.back();
    parents[row] = hypothesis.row;
    hypothesis.row = static_cast<int32_t>(row);
  }
};

/// Beam search of `count` sequences. A batch holds some of them; waiting sequences take the places
/// of finished ones.
class Beams {
public:
  Beams(StepModel &model, size_t count, const DecodingOptions &options)
      : model(model), options(options), rules(options, model.givesProbabilities()), results(count),
        most(options.rows ? std::min(options.rows, count) : count) {}

  Expected<std::vector<TokenIds>> run() {
    HEDDLE_TRY(admitWaiting());
    while (!batch.tokens.empty()) {
      if (!batch.staysAsItIs(rows))
        HEDDLE_TRY(model.reorder(batch.parents));
      rows = batch.tokens.size();
      auto scores = HEDDLE_TRY(model.step(batch.tokens));
      HEDDLE_TRY(advance(0, scores, 0, rows));
      HEDDLE_TRY(admitWaiting());
    }
    return std::move(results);
  }

private:
  /// Extends the sequences from `begin` on by the scores of `count` rows, which are the batch's
  /// rows from `first` on. Finished sequences leave the batch.
  Status advance(size_t begin, std::span<const float> scores, size_t first, size_t count) {
    for (size_t s = begin; s < sequences.size(); ++s)
      HEDDLE_TRY(sequences[s].advance(scores, first, scores.size() / count,
                                      model.givesProbabilities(), rules));
    for (Sequence &sequence : sequences)
      if (sequence.isDone())
        results[sequence.number] = sequence.takeBest();
    std::erase_if(sequences, [](const Sequence &sequence) { return sequence.isDone(); });
    batch.take(sequences);
    return {};
  }

  /// Adds waiting sequences after the open rows once a quarter of the batch is free.
  Status admitWaiting() {
    while (waiting < results.size() && sequences.size() * 4 <= most * 3) {
      const size_t first = batch.parents.size(), before = sequences.size();
      std::vector<int32_t> parents = batch.parents;
      std::vector<size_t> joining;
      for (; sequences.size() < most && waiting < results.size(); ++waiting) {
        sequences.emplace_back(waiting, static_cast<int32_t>(parents.size()), options);
        parents.push_back(-1);
        joining.push_back(waiting);
      }
      auto scores = HEDDLE_TRY(model.admit(parents, joining));
      rows = parents.size();
      HEDDLE_TRY(advance(before, scores, first, joining.size()));
    }
    return {};
  }

  StepModel &model;
  const DecodingOptions &options;
  TokenRules rules;
  std::vector<TokenIds> results;
  size_t most, waiting = 0; ///< maximum sequences in a batch; the first that has not begun
  size_t rows = 0;          ///< in the caches
  std::vector<Sequence> sequences;
  Batch batch;
};

} // namespace

Expected<std::vector<TokenIds>> heddle::beamSearch(StepModel &model, size_t count,
                                                   const DecodingOptions &options) {
  return Beams(model, count, options).run();
}
