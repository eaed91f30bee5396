//===- RerankCommand.cpp - Texts ranked by a query ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cross-encoder reads the query with each text and gives a number. For a
// model that gives vectors, the number is the similarity of two vectors.
#include "Conversation.h"
#include "TextVectors.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <map>
#include <ostream>

using namespace heddle;

namespace {

/// The score of a text, given its rows of the model.
using ScoreOf = std::function<double(const EncodedAnswer &text)>;

/// Gives the answers in order or, with --top, the best at the end.
class Ranking {
public:
  Ranking(const RerankCommand &command, std::ostream &out) : command(command), out(out) {}

  std::string take(const EncodedAnswer &text, double score) {
    if (!command.top)
      return line(score, text.text);
    byNumber[text.number] = {score, text.text};
    return {};
  }
  std::string skip(const std::string &message) {
    skips += command.top ? 1 : 0; // skipped texts are not among the best
    return command.top ? std::string() : skippedLine(command.run.text.json, message);
  }
  /// Writes the best texts after all are taken, even if some were skipped.
  Status finish(Status done) {
    if (!done && skips == 0)
      return done;
    std::vector<std::pair<double, std::string>> ranked;
    for (auto &[number, text] : byNumber)
      ranked.push_back(std::move(text));
    std::ranges::stable_sort(ranked, LargestFirst(), &std::pair<double, std::string>::first);
    for (size_t i = 0; command.top && i < ranked.size() && static_cast<int64_t>(i) < *command.top;
         ++i)
      out << line(ranked[i].first, ranked[i].second);
    return both(std::move(done), written(out << std::flush));
  }

private:
  std::string line(double score, const std::string &text) const {
    return command.run.text.json
               ? "{\"score\": " + jsonNumber(score) + ", \"text\": " + jsonText(text) + "}\n"
               : scoreText(score) + "\t" + lastColumn(text) + "\n";
  }

  const RerankCommand &command;
  std::ostream &out;
  std::map<uint64_t, std::pair<double, std::string>> byNumber; ///< for --top
  size_t skips = 0;
};

/// The streams of a command.
struct Streams {
  std::istream &in;
  std::ostream &out, &notes;
};

Status rank(OpenedEncoder &opened, const RerankCommand &command, const TextContext &context,
            const ScoreOf &scoreOf, const Streams &streams) {
  Ranking ranking(command, streams.out);
  return ranking.finish(encodeTexts(
      opened, command.run, context, streams.in, streams.out, streams.notes,
      [&](const EncodedAnswer &text) -> Expected<std::string> {
        return ranking.take(text, scoreOf(text));
      },
      [&](uint64_t, const std::string &message) { return ranking.skip(message); }));
}

//===- Pairs -------------------------------------------------------------===//

/// Puts the model's prompt before pairs. The prompt begins the query or, if a language model scores
/// the pairs, is a message of its own.
Status addPrompt(const TextModel &model, const RerankCommand &command, std::string &query,
                 TextContext &context) {
  const TextSide &side = model.input();
  if (!command.prompt.value_or("").empty() && !side.pairMessages && model.prompts.empty())
    return usageError("--prompt: expected a model with prompts, found one without");
  if (side.pairMessages && !side.chat)
    return inputError("expected a chat template, which makes one text of two, found none");
  const std::string_view prompt = HEDDLE_TRY(model.prompt(command.prompt));
  if (side.pairMessages)
    context.before = prompt;
  else
    query.insert(0, prompt);
  context.pair = query;
  return side.pairMessages ? checkPairs(*side.chat) : Status();
}

Status rankByPairs(OpenedEncoder &opened, const RerankCommand &command, const Streams &streams) {
  const Session &session = opened.encoder->usedSession();
  HEDDLE_TRY(checkClasses(opened, true, "that scores pairs of texts"));
  const bool asksTokens = opened.model.input().pairMessages; // "yes" and "no"
  if (opened.encoder->columns() != 1 && !(asksTokens && opened.encoder->columns() == 2))
    return ofModel(session,
                   inputError("expected a model with one number for a pair of texts, found " +
                              std::to_string(opened.encoder->columns()) + " classes"));
  const bool sigmoidal = opened.model.sigmoidScores && !opened.encoder->givesProbabilities();
  std::string query = command.query;
  TextContext context{.pairFirst = true};
  if (Status checked = addPrompt(opened.model, command, query, context); !checked)
    return ofModel(session, checked.takeError());
  auto scoreOf = [&](const EncodedAnswer &text) {
    const std::span<const float> row = text.values;
    const float number = row.size() == 2 ? row[0] - row[1] : row[0];
    return sigmoidal ? sigmoid(number) : static_cast<double>(number);
  };
  return rank(opened, command, context, scoreOf, streams);
}

//===- Vectors -----------------------------------------------------------===//

/// The first of `names` for which the model has a prompt; none: its default. Prompts are chosen as
/// in encode_query and encode_document of Sentence-Transformers.
std::optional<std::string> promptOf(const TextModel &model,
                                    std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    for (const auto &[own, text] : model.prompts)
      if (own == name && !text.empty())
        return own;
  return std::nullopt;
}

/// The query's tokens, and its rows of the model.
struct Query {
  EncodedText tokens;
  std::vector<float> rows;
};

Expected<Query> readQuery(OpenedEncoder &opened, const RerankCommand &command) {
  const TextModel &model = opened.model;
  const std::string place = "--query";
  const TextContext context = HEDDLE_TRY(
      model.contextAfterPrompt(command.prompt ? command.prompt : promptOf(model, {"query"})));
  Query query{HEDDLE_TRY(model.input().encode(command.query, place, context)), {}};
  HEDDLE_TRY(opened.encoder->checkTokens(query.tokens, place));
  if (model.perToken)
    HEDDLE_TRY(makeQuery(opened, place, query.tokens));
  if (opened.encoder->isLeftOut(query.tokens))
    return query;
  const EncodedText *texts[] = {&query.tokens};
  auto rows = HEDDLE_TRY(opened.encoder->encode(texts));
  query.rows.assign(rows[0].begin(), rows[0].end());
  return query;
}

/// Ranks texts by their vectors, or by the vectors of their tokens. --prompt applies to the query; an empty name removes the prompt of
/// the texts too.
Status rankByVectors(OpenedEncoder &opened, const RerankCommand &command, const Streams &streams) {
  const Session &session = opened.encoder->usedSession();
  if (opened.encoder->takesImages())
    return ofModel(session, inputError("expected a model of texts, found one of images"));
  if (!opened.model.perToken)
    HEDDLE_TRY(checkPooled(opened));
  auto query = readQuery(opened, command);
  if (!query)
    return ofModel(session, query.takeError());
  const bool hasNone = command.prompt && command.prompt->empty();
  auto context = opened.model.contextAfterPrompt(
      hasNone ? command.prompt : promptOf(opened.model, {"document", "passage", "corpus"}));
  if (!context)
    return ofModel(session, context.takeError());
  if (opened.model.perToken) {
    const auto rows = tokenRows(opened, query->tokens, query->rows);
    return rank(
        opened, command, *context,
        [&](const EncodedAnswer &text) {
          return lateScore(rows, tokenRows(opened, text.tokens, text.values));
        },
        streams);
  }
  const std::vector<float> vector = vectorOf(opened, query->rows);
  auto scoreOf = [&](const EncodedAnswer &text) {
    return similarityOf(opened.model.similarity, vector, vectorOf(opened, text.values));
  };
  return rank(opened, command, *context, scoreOf, streams);
}

/// Checks --by against the model.
Status checkBy(const RerankCommand &command, const OpenedEncoder &opened) {
  constexpr const char *words[] = {"dense", "late", "cross"};
  if (!command.by.empty() && std::ranges::find(words, command.by) == std::end(words))
    return usageError("--by: expected dense, late or cross, found " + quotedText(command.by));
  const std::string own = opened.encoder->classifies() ? "cross"
                          : opened.model.perToken      ? "late"
                                                       : "dense";
  return command.by.empty() || command.by == own
             ? Status()
             : usageError("--by: expected " + own + ", for which the model is made, found " +
                          command.by);
}

} // namespace

Status heddle::rerankCommand(Session &session, const RerankCommand &command, std::istream &in,
                             std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkEncoder(command.run));
  OpenedEncoder opened;
  HEDDLE_TRY(openEncoder(session, command.run, opened));
  HEDDLE_TRY(checkBy(command, opened));
  return opened.encoder->classifies() ? rankByPairs(opened, command, {in, out, notes})
                                      : rankByVectors(opened, command, {in, out, notes});
}
