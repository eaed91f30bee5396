//===- TextModel.cpp - Text settings of a model -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the files that the facts of a model name. A compiled file may be damaged or foreign, so
// every special id is checked against the vocabulary.
#include "heddle/Generation/TextModel.h"

#include "Conversation.h"
#include "heddle/Templates/Strings.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

/// Checks that special ids are ids of the vocabulary.
Status checkIds(const TextSide &side) {
  const std::pair<const char *, std::optional<int32_t>> ids[] = {
      {"padding", side.padding}, {"unknown", side.unknown}, {"start", side.start}};
  std::vector<std::pair<const char *, std::optional<int32_t>>> all(std::begin(ids), std::end(ids));
  for (int32_t end : side.ends)
    all.emplace_back("end", end);
  for (auto &[key, id] : all)
    if (id && *id >= side.vocabulary->size())
      return inputError(side.name + "." + key + ": expected an id below " +
                        std::to_string(side.vocabulary->size()) + ", the tokens of " +
                        side.vocabulary->name() + ", found " + std::to_string(*id));
  return {};
}

/// Reads the vocabulary in a member.
Expected<Vocabulary> readTokens(const std::string &file, const MemberReader &readMember) {
  auto text = HEDDLE_TRY(readMember(file));
  return Vocabulary::parse(text, file);
}

/// Reads the files of a side. `shared` is the tokenizer if it has been read for the other side.
Expected<TextSide> readSide(SideFacts facts, const std::string &name,
                            const std::optional<Tokenizer> &shared,
                            const MemberReader &readMember) {
  TextSide side{std::move(facts)};
  side.name = name;
  if (const std::string &file = side.preprocessorFile; !file.empty()) {
    side.images = HEDDLE_TRY(ImageProcessor::fromJson(HEDDLE_TRY(readMember(file)), file));
  } else if (const std::string &file = side.logMelFile; !file.empty()) {
    side.sound = HEDDLE_TRY(LogMel::fromJson(HEDDLE_TRY(readMember(file)), file));
  } else if (const std::string &file = side.tokenizerFile; !file.empty()) {
    side.tokenizer =
        shared ? *shared : HEDDLE_TRY(Tokenizer::fromJson(HEDDLE_TRY(readMember(file)), file));
    if (!side.chatTemplateFile.empty()) {
      const ChatTemplate chat = HEDDLE_TRY(
          ChatTemplate::fromJson(HEDDLE_TRY(readMember(side.chatTemplateFile)), "chat template"));
      side.chat = std::make_shared<const ChatTemplate>(
          side.pairMessages ? HEDDLE_TRY(chat.forPairs()) : chat);
    }
  } else if (!side.vocabularyFile.empty()) {
    side.vocabulary = HEDDLE_TRY(readTokens(side.vocabularyFile, readMember));
    HEDDLE_TRY(checkIds(side));
  }
  return side;
}

Status readSides(ModelFacts &facts, TextModel &model, const MemberReader &readMember) {
  if (facts.source)
    model.source = HEDDLE_TRY(readSide(std::move(*facts.source), "source", {}, readMember));
  if (facts.image)
    model.image = HEDDLE_TRY(readSide(std::move(*facts.image), "image", {}, readMember));
  if (!facts.target)
    return {};
  std::optional<Tokenizer> shared; // a common tokenizer is read once
  if (model.source && model.source->tokenizerFile == facts.target->tokenizerFile)
    shared = model.source->tokenizer;
  model.target = HEDDLE_TRY(readSide(std::move(*facts.target), "target", shared, readMember));
  return {};
}

Status readLabels(TextModel &model, const MemberReader &readMember) {
  const std::string &file = model.labelsFile;
  if (file.empty())
    return {};
  if (file != "labels.json") { // one label a line
    model.labels = HEDDLE_TRY(readTokens(file, readMember));
    return {};
  }
  const Json list = HEDDLE_TRY(parseJson(HEDDLE_TRY(readMember(file)), file));
  std::vector<std::string> labels;
  for (const Json &label : list)
    labels.push_back(label.is_string() ? label.get<std::string>() : "");
  model.labels = Vocabulary::of(std::move(labels), file);
  return {};
}

/// Checks that the tokens of languages are tokens of the source's tokenizer. Without a tokenizer
/// there are no languages.
Status checkLanguages(TextModel &model) {
  if (!model.source || !model.target || !model.source->tokenizer)
    model.languages = {};
  for (const auto &[name, token] : model.languages.tokens) {
    if (!model.source->tokenizer->idToToken(token))
      return inputError("text.languages.tokens." + printable(name) +
                        ": expected the id of a token of the source's tokenizer, found " +
                        std::to_string(token));
    model.source->languages.push_back(token);
  }
  return {};
}

} // namespace

/// Checks the settings and reads vocabularies. A prompt of a decoder-only model must fit into the
/// caches together with the start token.
Expected<TextModel> heddle::readTextModel(std::string_view json, const MemberReader &readMember) {
  if (json.empty())
    return inputError("expected a model with text sides, found one without a description");
  ModelFacts facts = HEDDLE_TRY(modelFactsFromJson(json));
  if (facts.text.kind.empty())
    return inputError("expected a described model with texts, found one without a kind (dialect "
                      "text has no vocabularies)");
  TextModel model{std::move(facts.text)};
  HEDDLE_TRY(readSides(facts, model, readMember));
  if (!model.source && !model.target)
    return inputError("expected a model with text sides, found none");
  if (!model.source)
    model.target->most = model.target->limit - (model.target->start ? 1 : 0);
  HEDDLE_TRY(readLabels(model, readMember));
  HEDDLE_TRY(checkLanguages(model));
  return model;
}
