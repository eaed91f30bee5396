//===- Decoding.cpp - Greedy decoding and sampling ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of the options, the choice of a search, and the loop of greedy decoding and
// sampling. Each sequence is a row; once half of the rows have ended, the batch
// shrinks, so that long sequences do not pay for short ones.
#include "Search.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace heddle;

namespace {

/// State of each row of the batch. Ended rows stay, unused, until the batch shrinks.
struct Rows {
  explicit Rows(std::vector<int32_t> first)
      : tokens(std::move(first)), sequence(tokens.size()), ended(tokens.size()) {
    std::iota(sequence.begin(), sequence.end(), size_t{0});
  }

  std::vector<int32_t> alive() const {
    std::vector<int32_t> rows;
    for (size_t r = 0; r < ended.size(); ++r)
      if (!ended[r])
        rows.push_back(static_cast<int32_t>(r));
    return rows;
  }

  void keep(const std::vector<int32_t> &rows) {
    for (size_t r = 0; r < rows.size(); ++r) {
      tokens[r] = tokens[rows[r]];
      sequence[r] = sequence[rows[r]];
    }
    tokens.resize(rows.size());
    sequence.resize(rows.size());
    ended.assign(rows.size(), false);
  }

  std::vector<int32_t> tokens;  ///< input of the next step
  std::vector<size_t> sequence; ///< index into the sequences
  std::vector<bool> ended;
};

/// Chooses the next token of every row that has not ended.
Status advance(Rows &rows, std::span<const float> scores, int64_t step,
               const DecodingOptions &options, const ChooseToken &choose,
               std::vector<TokenIds> &sequences) {
  const size_t classes = scores.size() / rows.tokens.size();
  for (size_t r = 0; r < rows.tokens.size(); ++r) {
    if (rows.ended[r])
      continue;
    const size_t sequence = rows.sequence[r];
    auto token = HEDDLE_TRY(choose(scores.subspan(r * classes, classes), sequence, step));
    rows.tokens[r] = token;
    rows.ended[r] = token == options.end;
    if (rows.ended[r])
      continue;
    sequences[sequence].push_back(token);
    if (options.onToken)
      HEDDLE_TRY(options.onToken(sequence, token));
  }
  return {};
}

} // namespace

StepModel::~StepModel() = default;

std::vector<int32_t> heddle::firstTokens(size_t sequences, const DecodingOptions &options) {
  return options.first.empty() ? std::vector<int32_t>(sequences, options.start) : options.first;
}

Status heddle::checkDecoding(const DecodingOptions &options) {
  auto outside = [](const char *name, const std::string &range, double found) {
    return usageError(std::string(name) + ": expected " + range + ", found " +
                      formatted("%.15g", found));
  };
  if (options.beam < 1 || options.beam > maximumBeam)
    return outside("beam", "1 to " + std::to_string(maximumBeam),
                   static_cast<double>(options.beam));
  if (!std::isfinite(options.lengthPenalty))
    return outside("length-penalty", "a finite number", options.lengthPenalty);
  if (!std::isfinite(options.temperature) || options.temperature <= 0)
    return outside("temperature", "a number above 0", options.temperature);
  if (options.topK < 0)
    return outside("top-k", "at least 0", static_cast<double>(options.topK));
  if (!(options.topP > 0 && options.topP <= 1))
    return outside("top-p", "a number above 0 and at most 1", options.topP);
  if (options.beam > 1 && options.sample)
    return usageError("sample: expected a beam of 1, found " + std::to_string(options.beam));
  if (options.beam > 1 && options.onToken)
    return usageError("stream: expected a beam of 1, found " + std::to_string(options.beam));
  return {};
}

Expected<std::vector<TokenIds>> heddle::walkRows(StepModel &model, size_t count,
                                                 const DecodingOptions &options,
                                                 const ChooseToken &choose) {
  std::vector<TokenIds> sequences(count);
  Rows rows(firstTokens(count, options));
  for (int64_t step = 0; step < options.limit; ++step) {
    auto scores = HEDDLE_TRY(model.step(rows.tokens));
    HEDDLE_TRY(advance(rows, scores, step, options, choose, sequences));
    const std::vector<int32_t> alive = rows.alive();
    if (alive.empty() || step + 1 == options.limit)
      break;
    // Shrinking copies the caches: worth it once half of the rows have ended.
    if (alive.size() * 2 > rows.tokens.size())
      continue;
    HEDDLE_TRY(model.reorder(alive));
    rows.keep(alive);
  }
  return sequences;
}

Expected<std::vector<TokenIds>> heddle::decodeSequences(StepModel &model, size_t sequences,
                                                        const DecodingOptions &options) {
  HEDDLE_TRY(checkDecoding(options));
  if (!options.first.empty() && options.first.size() != sequences)
    return usageError("first: expected " + std::to_string(sequences) +
                      " tokens, one a sequence, found " + std::to_string(options.first.size()));
  if (sequences == 0 || options.limit <= 0)
    return std::vector<TokenIds>(sequences);
  if (options.beam > 1)
    return beamSearch(model, sequences, options);
  if (!options.sample)
    return walkRows(model, sequences, options,
                    [](std::span<const float> scores, size_t, int64_t) { return argmax(scores); });
  return walkRows(model, sequences, options,
                  [&](std::span<const float> scores, size_t sequence, int64_t step) {
                    return sampleToken(scores, model.givesProbabilities(), options, sequence, step);
                  });
}
