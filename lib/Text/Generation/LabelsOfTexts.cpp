//===- LabelsOfTexts.cpp - Zero-shot classification -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each pair of a text and a hypothesis has a number of entailment. The
// probabilities of a text's labels are the softmax over the entailment of all
// its pairs. If labels are not mutually exclusive, they are the softmax over
// entailment and contradiction of each pair.
#include "LabelsOfTexts.h"

#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <array>
#include <map>

using namespace heddle;

namespace {

constexpr std::string_view gap = "{}";

/// The class of entailment, found by its name.
Expected<size_t> entailmentOf(const OpenedEncoder &opened) {
  const std::optional<Vocabulary> &labels = opened.model.labels;
  constexpr std::string_view word = "entail"; // in any case of letters
  std::string names;
  for (int32_t id = 0; labels && id < labels->size(); ++id) {
    const std::string &name = labels->token(id);
    const bool entails = name.size() >= word.size() &&
                         std::ranges::equal(word, name.substr(0, word.size()),
                                            [](char a, char b) { return a == (b | 0x20); });
    if (entails && id < opened.encoder->columns())
      return static_cast<size_t>(id);
    names += (names.empty() ? "" : ", ") + name;
  }
  return inputError("expected a model with a class of entailment for --labels, found " +
                    (names.empty() ? "classes without names" : "the classes " + names));
}

/// Gathers the pairs of each text.
class LabelScores {
public:
  LabelScores(const ClassifyCommand &command, size_t entailment, size_t classes)
      : command(command), entailment(entailment), contradiction(entailment == 0 ? classes - 1 : 0) {
  }

  /// Takes a pair. Returns the lines of its text with the last pair, and nothing before.
  std::string take(const EncodedAnswer &pair) {
    const size_t count = command.labels.size();
    const uint64_t number = pair.number / count;
    auto &scores = waiting[number];
    scores.resize(count);
    scores[pair.number % count] = {pair.values[contradiction], pair.values[entailment]};
    if (++taken[number] < count)
      return {};
    const std::string lines = labelsAnswer(command, number, pair.text, probabilities(scores));
    waiting.erase(number);
    taken.erase(number);
    return lines;
  }

private:
  std::vector<double> probabilities(const std::vector<std::array<float, 2>> &scores) const {
    std::vector<double> result;
    if (!command.manyLabels && scores.size() > 1) {
      std::vector<float> entailments;
      for (const auto &score : scores)
        entailments.push_back(score[1]);
      return softmax(entailments);
    }
    for (const auto &score : scores)
      result.push_back(softmax(score)[1]);
    return result;
  }

  const ClassifyCommand &command;
  size_t entailment, contradiction;
  std::map<uint64_t, std::vector<std::array<float, 2>>> waiting;
  std::map<uint64_t, size_t> taken;
};

} // namespace

std::string heddle::labelsJson(const std::string &text, const std::vector<ScoredLabel> &labels,
                               bool all) {
  auto fields = [](const ScoredLabel &label) {
    return "\"label\": " + jsonText(label.label) + ", \"score\": " + jsonNumber(label.score);
  };
  std::string line = "{\"text\": " + jsonText(text);
  if (!all)
    return line + (labels.empty() ? "" : ", " + fields(labels[0])) + "}\n";
  std::string list;
  for (const ScoredLabel &label : labels)
    list += (list.empty() ? "{" : ", {") + fields(label) + "}";
  return line + ", \"labels\": [" + list + "]}\n";
}

std::string heddle::hypothesisOf(const ClassifyCommand &command, const std::string &label,
                                 const char *usual) {
  std::string text = command.hypothesis.value_or(usual);
  return text.replace(text.find(gap), gap.size(), label);
}

std::string heddle::labelsAnswer(const ClassifyCommand &command, uint64_t number,
                                 const std::string &text, const std::vector<double> &scores) {
  const std::vector<size_t> order = bestOf(scores, command.all ? scores.size() : 1);
  if (command.run.text.json) {
    std::vector<ScoredLabel> labels;
    for (size_t best : order)
      labels.push_back({command.labels[best], scores[best]});
    return labelsJson(text, labels, command.all);
  }
  const std::string whose = whoseLine(command.run.text, text);
  std::string lines = command.all && number > 0 ? "\n" : "";
  for (size_t best : order)
    lines += command.labels[best] + "\t" + scoreText(scores[best]) + whose + "\n";
  return lines;
}

std::string heddle::skippedAnswer(const ClassifyCommand &command, uint64_t number,
                                  const std::string &message) {
  const bool json = command.run.text.json;
  return json || !command.all || number > 0 ? skippedLine(json, message) : std::string();
}

Status heddle::checkLabels(const ClassifyCommand &command) {
  for (const std::string &label : command.labels) {
    if (label.empty())
      return usageError("--labels: expected labels with commas between them, found an empty one");
    HEDDLE_TRY(tokenizers::checkUtf8(label, "--labels"));
  }
  if (command.hypothesis) {
    HEDDLE_TRY(tokenizers::checkUtf8(*command.hypothesis, "--hypothesis"));
    if (command.hypothesis->find(gap) == std::string::npos)
      return usageError("--hypothesis: expected a sentence with {} where a label stands, found " +
                        quotedText(*command.hypothesis));
    if (command.labels.empty())
      return usageError("--hypothesis: expected --labels with it, found none");
  }
  if (command.pair && !command.labels.empty())
    return usageError("--pair: expected no --labels with it, found some");
  if (command.manyLabels && command.labels.empty())
    return usageError("--many: expected --labels with it, found none");
  return {};
}

Status heddle::classifyByLabels(OpenedEncoder &opened, const ClassifyCommand &command,
                                std::istream &in, std::ostream &out, std::ostream &notes) {
  auto entailment = entailmentOf(opened);
  if (!entailment)
    return ofModel(opened.encoder->usedSession(), entailment.takeError());
  std::vector<std::string> hypotheses;
  for (const std::string &label : command.labels)
    hypotheses.push_back(hypothesisOf(command, label, "This example is {}."));
  std::vector<TextContext> contexts;
  for (const std::string &hypothesis : hypotheses)
    contexts.push_back({.pair = hypothesis});
  LabelScores scores(command, *entailment, static_cast<size_t>(opened.encoder->columns()));
  return encodeTexts(
      opened, command.run, contexts, in, out, notes,
      [&](const EncodedAnswer &pair) { return scores.take(pair); },
      [&](uint64_t number, const std::string &message) {
        return skippedAnswer(command, number, message);
      });
}
