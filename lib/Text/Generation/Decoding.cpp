//===- Decoding.cpp - Greedy decoding and sampling ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the options, chooses a search, and runs greedy decoding and sampling. Each sequence is a
// row. Once some rows have ended, waiting sequences take their place. If no sequence waits, the
// batch shrinks once half of its rows have ended, so that long sequences do not pay for short ones.
#include "Search.h"
#include "TokenRules.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace heddle;

namespace {

/// A row of the batch. An ended row remains in the batch, unused, until another sequence takes it
/// or the batch shrinks.
struct Row {
  size_t sequence;
  int32_t token; ///< input of the next step
  bool ended;
  int64_t steps = 0; ///< steps that the row took, also after its end
};

/// Greedy decoding or sampling of `count` sequences.
class Walk {
public:
  Walk(StepModel &model, size_t count, const DecodingOptions &options, const ChooseToken &choose)
      : model(model), options(options), choose(choose), rules(options, model.givesProbabilities()),
        sequences(count), most(options.rows ? std::min(options.rows, count) : count) {}

  Expected<std::vector<TokenIds>> run() {
    HEDDLE_TRY(settle());
    while (!rows.empty()) {
      std::vector<int32_t> tokens;
      for (const Row &row : rows)
        tokens.push_back(row.token);
      auto scores = HEDDLE_TRY(model.step(tokens));
      for (Row &row : rows)
        ++row.steps;
      for (size_t r = 0; r < rows.size(); ++r)
        if (!rows[r].ended)
          HEDDLE_TRY(advance(rows[r], rowOf(scores, r, rows.size())));
      HEDDLE_TRY(settle());
    }
    return std::move(sequences);
  }

private:
  static std::span<const float> rowOf(std::span<const float> scores, size_t row, size_t rows) {
    const size_t classes = scores.size() / rows;
    return scores.subspan(row * classes, classes);
  }

  /// Chooses the next token of a row.
  Status advance(Row &row, std::span<const float> scores) {
    TokenIds &said = sequences[row.sequence];
    scores = rules.apply(scores, row.sequence, said);
    const Candidate chosen = HEDDLE_TRY(choose(scores, row.sequence, std::ssize(said)));
    row.token = chosen.token;
    if (options.onProbability)
      options.onProbability(row.sequence, chosen.logProbability);
    row.ended = endsSequence(options, row.token);
    if (row.ended)
      return {};
    said.push_back(row.token);
    row.ended = std::ssize(said) >= limitOf(options, row.sequence);
    if (options.onToken && !HEDDLE_TRY(options.onToken(row.sequence, row.token)))
      row.ended = true;
    return {};
  }

  size_t alive() const { return static_cast<size_t>(std::ranges::count(rows, false, &Row::ended)); }

  /// True if an ended row has no room for another step. The model does not read the last token at
  /// the limit, so a row has room for one step less than its limit.
  bool isFull(const Row &row) const {
    return row.ended && !options.limits.empty() && row.steps + 1 >= options.limits[row.sequence];
  }

  /// Assigns rows to waiting sequences, or shrinks the batch. Shrinking copies caches. The copy
  /// pays off once half of the rows have ended, and is necessary once an ended row is full.
  Status settle() {
    while (waiting < sequences.size() && alive() * 4 <= most * 3)
      HEDDLE_TRY(fill());
    const bool isHalf = waiting == sequences.size() && alive() * 2 <= rows.size();
    if (isHalf || std::ranges::any_of(rows, [this](const Row &row) { return isFull(row); }))
      HEDDLE_TRY(shrink());
    return {};
  }

  Status fill() {
    std::vector<Row> next;
    std::vector<int32_t> parents;
    std::vector<size_t> joining, places;
    for (size_t r = 0; r < most; ++r) {
      const bool stays = r < rows.size() && !rows[r].ended;
      if (!stays && waiting == sequences.size())
        continue;
      parents.push_back(stays ? static_cast<int32_t>(r) : -1);
      next.push_back(stays ? rows[r] : Row{waiting, 0, false});
      if (stays)
        continue;
      places.push_back(next.size() - 1);
      joining.push_back(waiting++);
    }
    auto scores = HEDDLE_TRY(model.admit(parents, joining));
    rows = std::move(next);
    for (size_t i = 0; i < places.size(); ++i)
      HEDDLE_TRY(advance(rows[places[i]], rowOf(scores, i, places.size())));
    return {};
  }

  Status shrink() {
    std::vector<int32_t> parents;
    for (size_t r = 0; r < rows.size(); ++r)
      if (!rows[r].ended)
        parents.push_back(static_cast<int32_t>(r));
    std::erase_if(rows, [](const Row &row) { return row.ended; });
    return rows.empty() ? Status() : model.reorder(parents);
  }

  StepModel &model;
  const DecodingOptions &options;
  const ChooseToken &choose;
  TokenRules rules;
  std::vector<TokenIds> sequences;
  size_t most, waiting = 0; ///< maximum rows of a batch; the first sequence that has not begun
  std::vector<Row> rows;
};

} // namespace

StepModel::~StepModel() = default;

bool heddle::endsSequence(const DecodingOptions &options, int32_t token) {
  return std::ranges::find(options.ends, token) != options.ends.end();
}

int64_t heddle::limitOf(const DecodingOptions &options, size_t sequence) {
  return options.limits.empty() ? options.limit : std::min(options.limit, options.limits[sequence]);
}

/// True if a search with these options uses the option `name`.
static bool uses(const DecodingOptions &options, std::string_view name) {
  if (isOfSampling(name))
    return options.sample;
  for (const char *ofBeams : {"beam-rule", "length-penalty", "renormalize"})
    if (name == ofBeams)
      return options.beams > 1;
  return true;
}

Status heddle::checkRefused(const DecodingOptions &options) {
  for (const RefusedSetting &setting : options.refused)
    if (uses(options, setting.option))
      return inputError(setting.error);
  return {};
}

Error heddle::outsideRange(const char *name, const std::string &range, double found) {
  return usageError(std::string(name) + ": expected " + range + ", found " +
                    formatted("%.15g", found));
}

Status heddle::checkDecoding(const DecodingOptions &options) {
  HEDDLE_TRY(checkRefused(options));
  if (options.beams < 1 || options.beams > maximumBeam)
    return outsideRange("beam", "1 to " + std::to_string(maximumBeam),
                        static_cast<double>(options.beams));
  if (!std::isfinite(options.lengthPenalty))
    return outsideRange("length-penalty", "a finite number", options.lengthPenalty);
  HEDDLE_TRY(checkSampling(options));
  if (!std::isfinite(options.repetitionPenalty) || options.repetitionPenalty <= 0)
    return outsideRange("repetition-penalty", "a number above 0", options.repetitionPenalty);
  if (options.least < 0)
    return outsideRange("least", "at least 0", static_cast<double>(options.least));
  if (options.noRepeat < 0)
    return outsideRange("no-repeat", "at least 0", static_cast<double>(options.noRepeat));
  if (options.beams > 1 && options.sample)
    return usageError("sample: expected a beam of 1, found " + std::to_string(options.beams));
  if (options.beams > 1 && options.onToken)
    return usageError("stream: expected a beam of 1, found " + std::to_string(options.beams));
  return {};
}

Expected<std::vector<TokenIds>> heddle::walkRows(StepModel &model, size_t count,
                                                 const DecodingOptions &options,
                                                 const ChooseToken &choose) {
  return Walk(model, count, options, choose).run();
}

Expected<std::vector<TokenIds>> heddle::decodeSequences(StepModel &model, size_t sequences,
                                                        const DecodingOptions &options) {
  HEDDLE_TRY(checkDecoding(options));
  for (auto [name, count] : {std::pair("limits: expected ", options.limits.size()),
                             std::pair("before: expected ", options.before.size())})
    if (count != 0 && count != sequences)
      return usageError(name + std::to_string(sequences) + " values, one a sequence, found " +
                        std::to_string(count));
  if (options.repetitionPenalty != 1 && model.givesProbabilities())
    return usageError("repetition-penalty: expected a model that gives logits, found one that "
                      "gives probabilities");
  if (sequences == 0 || options.limit <= 0)
    return std::vector<TokenIds>(sequences);
  if (options.beams > 1)
    return beamSearch(model, sequences, options);
  if (!options.sample)
    return walkRows(model, sequences, options,
                    [&](std::span<const float> scores, size_t, int64_t) -> Expected<Candidate> {
                      const int32_t token = HEDDLE_TRY(argmax(scores));
                      const bool isAsked = static_cast<bool>(options.onProbability);
                      return Candidate{
                          isAsked ? logProbability(scores, model.givesProbabilities(), token) : 0,
                          token};
                    });
  return walkRows(model, sequences, options,
                  [&](std::span<const float> scores, size_t sequence, int64_t step) {
                    return sampleToken(scores, model.givesProbabilities(), options, sequence, step);
                  });
}
