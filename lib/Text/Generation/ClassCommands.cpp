//===- ClassCommands.cpp - Classes of texts, pairs and tokens -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `classify`, `fill-mask` and `answer` interpret the numbers of a classifier, a
// row for each text or for each of its tokens.
#include "EncoderTexts.h"
#include "LabelsOfTexts.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <ostream>

using namespace heddle;

namespace {

/// Scores of the classes, by the model's kind of problem.
std::vector<double> scoresOf(std::span<const float> row, const OpenedEncoder &opened) {
  if (!opened.encoder->givesProbabilities() && opened.model.problem == Problem::OneClass)
    return softmax(row);
  std::vector<double> scores(row.begin(), row.end());
  if (!opened.encoder->givesProbabilities() && opened.model.problem == Problem::ManyClasses)
    std::ranges::transform(row, scores.begin(), sigmoid);
  return scores;
}

//===- classify ----------------------------------------------------------===//

class Classifier {
public:
  Classifier(const OpenedEncoder &opened, const ClassifyCommand &command)
      : opened(opened), texts(command.run.text), all(command.all), json(texts.json) {}

  /// Returns an error for a model whose classes are not labels, or whose labels are not one a
  /// class.
  Status check() const {
    const TextModel &model = opened.model;
    for (auto [head, command] :
         {std::pair("ForMaskedLM", "fill-mask"), {"ForQuestionAnswering", "answer"}})
      if (model.head == head)
        return inputError(std::string("expected a model with labels, found one for the command ") +
                          command);
    if (model.labels && model.labels->size() != opened.encoder->columns())
      return inputError(model.labels->name() + ": expected " +
                        std::to_string(opened.encoder->columns()) + " labels, one a class, found " +
                        std::to_string(model.labels->size()));
    return {};
  }

  Expected<std::string> answer(const EncodedAnswer &text) const {
    if (!opened.encoder->pooled())
      return ofTokens(text);
    if (json)
      return classesJson(text);
    const std::string lines = all && text.number > 0 ? "\n" : "";
    if (text.values.empty())
      return lines + (all ? "" : "\n");
    return lines + classes("", text.values, whoseLine(texts, text.text));
  }

private:
  std::string classes(const std::string &before, std::span<const float> row,
                      const std::string &after) const {
    const std::vector<double> scores = scoresOf(row, opened);
    std::string lines;
    for (size_t best : bestOf(scores, all ? scores.size() : 1))
      lines += before + label(best) + "\t" + scoreText(scores[best]) + after + "\n";
    return lines;
  }
  std::string classesJson(const EncodedAnswer &text) const {
    std::vector<ScoredLabel> labels;
    if (!text.values.empty())
      for (const std::vector<double> scores = scoresOf(text.values, opened);
           size_t best : bestOf(scores, all ? scores.size() : 1))
        labels.push_back({rawLabel(best), scores[best]});
    return labelsJson(text.text, labels, all);
  }
  /// `{"word": …, "label": …, "score": …}` for a word; with --all, one object for each label.
  std::string wordJson(const std::string &word, std::span<const float> row) const {
    const std::vector<double> scores = scoresOf(row, opened);
    std::string list;
    for (size_t best : bestOf(scores, all ? scores.size() : 1))
      list += (list.empty() ? "" : ", ") + ("{\"word\": " + jsonText(word)) +
              ", \"label\": " + jsonText(rawLabel(best)) +
              ", \"score\": " + jsonNumber(scores[best]) + "}";
    return list;
  }
  /// A label as one column of a line, with control characters escaped.
  std::string label(size_t number) const { return printable(rawLabel(number)); }
  std::string rawLabel(size_t number) const {
    return opened.model.labels ? opened.model.labels->token(static_cast<int32_t>(number))
                               : std::to_string(number);
  }

  /// A line for each word, from the numbers of its first token.
  Expected<std::string> ofTokens(const EncodedAnswer &text) const {
    std::string lines = !json && text.number > 0 ? "\n" : "", list;
    std::vector<std::pair<std::string, size_t>> words;
    if (!text.values.empty())
      words = HEDDLE_TRY(wordsOf(opened.model.input(), text));
    for (const auto &[word, token] : words) {
      const auto columns = static_cast<size_t>(opened.encoder->columns());
      const auto row = text.values.subspan(token * columns, columns);
      if (json)
        list += (list.empty() ? "" : ", ") + wordJson(word, row);
      else
        lines += classes(printable(word) + "\t", row, "");
    }
    return json ? "{\"text\": " + jsonText(text.text) + ", \"words\": [" + list + "]}\n" : lines;
  }

  /// Words of a text, or of the first text of a pair, with the index of their first token.
  static Expected<std::vector<std::pair<std::string, size_t>>> wordsOf(const TextSide &side,
                                                                       const EncodedAnswer &text) {
    std::vector<std::pair<std::string, size_t>> words;
    if (!side.tokenizer) {
      const size_t first = side.add && side.start ? 1 : 0;
      for (const std::string &word : HEDDLE_TRY(splitText(text.text, side.split, "text")))
        if (first + words.size() < text.tokens.ids.size())
          words.emplace_back(word, first + words.size());
      return words;
    }
    const TokenEncoding &tokens = text.tokens.tokens;
    for (size_t i = 0; i < text.tokens.ids.size();) {
      size_t end = i + 1;
      if (!tokens.special[i] && tokens.sequences[i] == 0) {
        while (end < text.tokens.ids.size() && !tokens.special[end] && tokens.sequences[end] == 0 &&
               tokens.words[end] == tokens.words[i])
          ++end;
        std::string word = text.text.substr(tokens.spans[i].begin,
                                            tokens.spans[end - 1].end - tokens.spans[i].begin);
        // Pieces of some tokenizers begin with the blank before the word.
        word.erase(0, std::min(word.find_first_not_of(" \t\r\n"), word.size()));
        if (!word.empty())
          words.emplace_back(std::move(word), i);
      }
      i = end;
    }
    return words;
  }

  const OpenedEncoder &opened;
  const TextCommand &texts;
  bool all, json;
};

/// Lines of skipped texts, for answers that are blocks with an empty line between them.
AnswerSkipped skippedBlock(const EncoderCommand &command) {
  return [json = command.text.json](uint64_t number, const std::string &message) {
    return json || number > 0 ? skippedLine(json, message) : std::string();
  };
}

} // namespace

Status heddle::checkClassify(const ClassifyCommand &command) {
  HEDDLE_TRY(checkEncoder(command.run));
  return checkLabels(command);
}

Status heddle::classifyCommand(Session &session, const ClassifyCommand &command, std::istream &in,
                               std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkClassify(command));
  OpenedEncoder opened;
  HEDDLE_TRY(openEncoder(session, command.run, opened));
  if (!command.labels.empty() && opened.model.image)
    return classifyImagesByLabels(opened, command, in, out, notes);
  HEDDLE_TRY(checkClasses(opened, command.labels.empty() ? std::nullopt : std::optional(true),
                          "with a classifier"));
  if (!command.labels.empty())
    return classifyByLabels(opened, command, in, out, notes);
  const Classifier classifier(opened, command);
  if (Status checked = classifier.check(); !checked)
    return ofModel(session, checked.takeError());
  TextContext context;
  if (command.pair)
    context.pair = *command.pair;
  return encodeTexts(
      opened, command.run, context, in, out, notes,
      [&](const EncodedAnswer &text) { return classifier.answer(text); },
      command.all || !opened.encoder->pooled() ? skippedBlock(command.run) : AnswerSkipped());
}

//===- fill-mask ---------------------------------------------------------===//

Status heddle::fillMaskCommand(Session &session, const FillMaskCommand &command, std::istream &in,
                               std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkEncoder(command.run));
  OpenedEncoder opened;
  HEDDLE_TRY(openClasses(session, command.run, false, "for masked words", opened));
  const TextModel &model = opened.model;
  if (!model.maskToken || !model.input().tokenizer)
    return ofModel(session, inputError("expected a model for masked words and a tokenizer with a "
                                       "mask token, found none"));
  const Tokenizer &tokenizer = *model.input().tokenizer;
  const std::string maskText = tokenizer.idToToken(*model.maskToken).value_or("");
  const bool json = command.run.text.json;
  auto answer = [&](const EncodedAnswer &text) -> Expected<std::string> {
    const auto columns = static_cast<size_t>(opened.encoder->columns());
    std::string lines, masks;
    bool first = text.number == 0 || json, found = false;
    for (size_t i = 0; i < text.tokens.ids.size(); ++i) {
      if (text.tokens.ids[i] != *model.maskToken)
        continue;
      found = true;
      std::string mask;
      const std::vector<double> scores = softmax(text.values.subspan(i * columns, columns));
      lines += std::exchange(first, false) ? "" : "\n";
      for (size_t best : bestOf(scores, static_cast<size_t>(command.top))) {
        const int32_t ids[] = {static_cast<int32_t>(best)};
        const std::string token = HEDDLE_TRY(tokenizer.decode(ids, /*skipSpecial=*/false));
        if (json)
          mask += (mask.empty() ? "" : ", ") + ("{\"token\": " + jsonText(token)) +
                  ", \"score\": " + jsonNumber(scores[best]) + "}";
        else
          lines += printable(token) + "\t" + scoreText(scores[best]) + "\n";
      }
      masks += (masks.empty() ? "[" : ", [") + mask + "]";
    }
    if (!found)
      return inputError("text " + std::to_string(text.number + 1) + ": expected the mask token " +
                        maskText + " in it, found none");
    return json ? "{\"tokens\": [" + masks + "]}\n" : lines;
  };
  return encodeTexts(opened, command.run, {.ids = command.ids}, in, out, notes, answer,
                     skippedBlock(command.run));
}

//===- answer ------------------------------------------------------------===//

namespace {

/// The likeliest span of a text, of at most 15 tokens. As in Transformers, its score is the product
/// of the probabilities of its first and its last token.
struct AnswerSpan {
  double score = 0;
  size_t begin = 0, end = 0; ///< bytes of the text
};

/// Number of code points before a byte.
std::string charactersBefore(const std::string &text, size_t byte) {
  const auto end = text.begin() + static_cast<ptrdiff_t>(byte);
  return std::to_string(
      std::count_if(text.begin(), end, [](char c) { return (c & 0xC0) != 0x80; }));
}

AnswerSpan bestSpan(const EncodedAnswer &text) {
  constexpr size_t longest = 15;
  const TokenEncoding &tokens = text.tokens.tokens;
  std::vector<size_t> places;
  std::vector<float> starts, ends;
  for (size_t i = 0; i < text.tokens.ids.size(); ++i)
    if (!tokens.special[i] && tokens.sequences[i] == 1) {
      places.push_back(i);
      starts.push_back(text.values[2 * i]);
      ends.push_back(text.values[2 * i + 1]);
    }
  const std::vector<double> start = softmax(starts), end = softmax(ends);
  AnswerSpan best;
  for (size_t i = 0; i < places.size(); ++i)
    for (size_t j = i; j < std::min(places.size(), i + longest); ++j)
      if (start[i] * end[j] > best.score)
        best = {start[i] * end[j], tokens.spans[places[i]].begin, tokens.spans[places[j]].end};
  return best;
}

} // namespace

Status heddle::answerCommand(Session &session, const AnswerCommand &command, std::istream &in,
                             std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkEncoder(command.run));
  OpenedEncoder opened;
  HEDDLE_TRY(openClasses(session, command.run, false, "that answers questions", opened));
  if (opened.model.head != "ForQuestionAnswering" || opened.encoder->columns() != 2)
    return ofModel(session, inputError("expected a model that answers questions, found one with "
                                       "classes for tokens"));
  auto answer = [&](const EncodedAnswer &text) -> Expected<std::string> {
    const AnswerSpan span = bestSpan(text);
    const std::string words = text.text.substr(span.begin, span.end - span.begin);
    if (!command.run.text.json)
      return scoreText(span.score) + "\t" + lastColumn(words) + "\n";
    return "{\"answer\": " + jsonText(words) + ", \"score\": " + jsonNumber(span.score) +
           ", \"start\": " + charactersBefore(text.text, span.begin) +
           ", \"end\": " + charactersBefore(text.text, span.end) + "}\n";
  };
  TextContext context{.pair = command.question, .pairFirst = true};
  return encodeTexts(opened, command.run, context, in, out, notes, answer);
}
