//===- PerplexityCommand.cpp - The command perplexity -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text may be longer than the model's context, so windows over it overlap.
// Each window scores the tokens that the previous one did not reach. The tokens
// before them in the window are their context.
#include "RowScores.h"
#include "TextBatches.h"
#include "heddle/Generation/TextInputs.h"

#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <ostream>

using namespace heddle;

namespace {

constexpr int64_t usualWindow = 512, mostBytes = int64_t{1} << 30;

/// The tokens that a window reads, and the ones that it scores.
struct ScoredWindow {
  size_t begin, scored, end;
};

/// The windows over `count` tokens. Every token but the first is scored once.
std::vector<ScoredWindow> windowsOf(size_t count, size_t window, size_t stride) {
  std::vector<ScoredWindow> windows;
  for (size_t begin = 0, scored = 1; scored < count; begin += stride) {
    const size_t end = std::min(begin + window, count);
    windows.push_back({begin, scored, end});
    scored = end;
  }
  return windows;
}

/// Sums the log probabilities of a text's tokens.
class TextScore {
public:
  static Expected<TextScore> create(Session &session, const TextModel &model) {
    if (model.kind != "decoder")
      return inputError("expected a model of kind decoder, found " + model.kind);
    if (!model.target->takesText())
      return inputError("target.vocabulary: expected a file of tokens, found none");
    HEDDLE_TRY(checkInputs(session, "decode", {"target", "target.lengths"}));
    TextScore score(session, model);
    score.takesLengths = HEDDLE_TRY(takesInput(session, "decode", "target.lengths"));
    score.output = HEDDLE_TRY(scoresName(session, "decode"));
    return score;
  }

  Status add(const TokenIds &tokens, const ScoredWindow &window) {
    const TokenIds ids(tokens.begin() + static_cast<ptrdiff_t>(window.begin),
                       tokens.begin() + static_cast<ptrdiff_t>(window.end));
    const Tensor row = padRows({ids}, 0, model->sequenceFirst);
    const Tensor length = Tensor::i32({1}, std::vector{static_cast<int32_t>(ids.size())});
    NamedInputs inputs = {{"target", row}};
    if (takesLengths)
      inputs.emplace_back("target.lengths", length);
    HEDDLE_TRY(session->run("decode", inputs, results));
    const std::span<const float> scores = HEDDLE_TRY(results.values<float>(output));
    const size_t classes = scores.size() / ids.size();
    for (size_t t = window.scored; t < window.end; ++t) {
      const auto row = scores.subspan((t - 1 - window.begin) * classes, classes);
      const double log = logProbability(row, output == "probabilities", tokens[t]);
      if (std::isnan(log))
        return inputError("decode: expected numbers as the scores of token " + std::to_string(t) +
                          ", found NaN");
      sum += log;
    }
    return {};
  }

  double logProbabilities() const { return sum; }

private:
  TextScore(Session &session, const TextModel &model) : session(&session), model(&model) {}

  Session *session;
  const TextModel *model;
  bool takesLengths = false;
  std::string output; ///< "logits" or "probabilities"
  NamedTensors results;
  double sum = 0;
};

} // namespace

/// Ids of a file, after the model's start token.
static Expected<TokenIds> tokensOf(const std::string &file, const TextSide &target) {
  const std::string text = HEDDLE_TRY(readTextFile(file, mostBytes));
  EncodedText encoded = HEDDLE_TRY(target.encode(text, file, {.uncut = true}));
  if (target.start)
    encoded.ids.insert(encoded.ids.begin(), *target.start);
  if (encoded.ids.size() < 2)
    return inputError(file + ": expected a text of at least two tokens, found " +
                      (encoded.ids.empty() ? "none" : "one"));
  return std::move(encoded.ids);
}

Status heddle::checkPerplexity(const PerplexityCommand &command) {
  if (command.window && *command.window < 2)
    return usageError("--window: expected at least 2, found " + std::to_string(*command.window));
  if (command.stride && *command.stride < 1)
    return usageError("--stride: expected at least 1, found " + std::to_string(*command.stride));
  return {};
}

Status heddle::perplexityCommand(Session &session, const PerplexityCommand &command,
                                 std::ostream &out) {
  HEDDLE_TRY(checkPerplexity(command));
  const TextModel model = HEDDLE_TRY(textModelOf(session, TextCommand()));
  auto score = TextScore::create(session, model);
  if (!score)
    return ofModel(session, score.takeError());
  const int64_t room = model.target->limit;
  if (room < 2)
    return ofModel(session, inputError("expected a context of at least 2 tokens, found " +
                                       std::to_string(room)));
  const int64_t window = command.window.value_or(std::min(room, usualWindow));
  if (window > room)
    return usageError("--window: expected at most " + std::to_string(room) +
                      ", the model's context, found " + std::to_string(window));
  const int64_t stride = command.stride.value_or(std::max<int64_t>(window / 2, 1));
  if (stride >= window)
    return usageError("--stride: expected less than the window of " + std::to_string(window) +
                      " tokens, found " + std::to_string(stride));
  const TokenIds tokens = HEDDLE_TRY(tokensOf(command.file, *model.target));
  for (const ScoredWindow &part :
       windowsOf(tokens.size(), static_cast<size_t>(window), static_cast<size_t>(stride)))
    HEDDLE_TRY(score->add(tokens, part));
  const size_t scored = tokens.size() - 1;
  out << "perplexity "
      << formatted("%.4f", std::exp(-score->logProbabilities() / static_cast<double>(scored)))
      << " of " << scored << (scored == 1 ? " token" : " tokens") << ", window " << window
      << ", stride " << stride << '\n';
  return written(out);
}
