//===- TextModel.cpp - Text settings of a model -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler writes the JSON, but a file may be damaged or foreign: every key's
// type is checked, and every special id against the vocabulary.
#include "heddle/Generation/TextModel.h"

#include "Conversation.h"
#include "heddle/Templates/Strings.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

/// Reads the keys of one side and keeps the first error.
class SideReader {
public:
  SideReader(const Json &json, std::string name) : json(json), name(std::move(name)) {}

  std::optional<int64_t> integer(const char *key, std::optional<int64_t> fallback) {
    auto found = json.find(key);
    if (found == json.end())
      return fallback;
    if (found->is_null())
      return std::nullopt;
    if (!found->is_number_integer() || *found < 0 || *found > INT32_MAX)
      return fail(key, "expected an id or a count", *found);
    return found->get<int64_t>();
  }
  std::optional<int32_t> id(const char *key, std::optional<int64_t> fallback) {
    const std::optional<int64_t> value = integer(key, fallback);
    if (!value)
      return std::nullopt;
    return static_cast<int32_t>(*value);
  }
  std::string word(const char *key, std::string fallback,
                   std::initializer_list<const char *> allowed) {
    auto found = json.find(key);
    if (found == json.end())
      return fallback;
    if (found->is_string() &&
        std::find(allowed.begin(), allowed.end(), found->get<std::string>()) != allowed.end())
      return found->get<std::string>();
    fail(key, "expected one of " + listText(allowed), *found);
    return fallback;
  }
  /// A list of ids, or a single id.
  std::vector<int32_t> ids(const char *key, std::vector<int32_t> fallback) {
    auto found = json.find(key);
    if (found == json.end())
      return fallback;
    std::vector<int32_t> list;
    for (const Json &id : found->is_array() || found->is_null() ? *found : Json::array({*found}))
      if (id.is_number_integer() && id >= 0 && id <= INT32_MAX)
        list.push_back(id.get<int32_t>());
      else
        fail(key, "expected a list of ids", *found);
    return list;
  }
  /// A list of lists of ids.
  std::vector<std::vector<int32_t>> words(const char *key) {
    std::vector<std::vector<int32_t>> list;
    for (const Json &word : json.value(key, Json::array())) {
      const Json one = {{key, word}};
      SideReader reader(one, name);
      list.push_back(reader.ids(key, {}));
      if (status)
        status = std::move(reader.status);
    }
    return list;
  }
  /// Pairs of texts: an option, and the error of its setting.
  std::vector<RefusedSetting> refused(const char *key) {
    std::vector<RefusedSetting> list;
    for (const Json &pair : json.value(key, Json::array()))
      if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string())
        list.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
      else
        fail(key, "expected pairs of texts", pair);
    return list;
  }
  std::optional<double> number(const char *key) {
    auto found = json.find(key);
    if (found == json.end())
      return std::nullopt;
    if (!found->is_number())
      return fail(key, "expected a number", *found);
    return found->get<double>();
  }
  bool flag(const char *key, bool fallback) {
    auto found = json.find(key);
    if (found == json.end() || found->is_boolean())
      return found == json.end() ? fallback : found->get<bool>();
    fail(key, "expected true or false", *found);
    return fallback;
  }

  Status status;

private:
  std::nullopt_t fail(const char *key, const std::string &expected, const Json &found) {
    if (status)
      status = inputError(name + "." + key + ": " + expected + ", found " +
                          (found.is_string() ? quotedText(found.get_ref<const std::string &>())
                                             : found.dump().substr(0, 60)));
    return std::nullopt;
  }
  const Json &json;
  std::string name;
};

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

/// Reads the vocabulary in the member that `file` names.
Expected<Vocabulary> readTokens(const Json &file, const MemberReader &readMember) {
  auto name = file.get<std::string>();
  auto text = HEDDLE_TRY(readMember(name));
  return Vocabulary::parse(text, name);
}

Status readGeneration(const Json &json, const std::string &name, GenerationDefaults &defaults) {
  auto found = json.find("generation");
  if (found == json.end() || !found->is_object())
    return {};
  SideReader reader(*found, name + ".generation");
  defaults.sample = reader.flag("sample", false);
  defaults.temperature = reader.number("temperature");
  defaults.topK = reader.integer("top-k", std::nullopt);
  defaults.topP = reader.number("top-p");
  defaults.minP = reader.number("min-p");
  defaults.repetitionPenalty = reader.number("repetition-penalty");
  defaults.limit = reader.integer("limit", std::nullopt);
  defaults.limitInAll = reader.integer("limit-in-all", std::nullopt);
  defaults.beams = reader.integer("beams", std::nullopt);
  defaults.lengthPenalty = reader.number("length-penalty");
  const std::string rule = reader.word("beam-rule", "own", {"own", "full", "likely", "sure"});
  defaults.beamRule = rule == "full"     ? BeamRule::Full
                      : rule == "likely" ? BeamRule::Likely
                      : rule == "sure"   ? BeamRule::Sure
                                         : BeamRule::Own;
  defaults.begin = reader.id("begin", std::nullopt);
  defaults.first = reader.id("first", std::nullopt);
  defaults.last = reader.id("last", std::nullopt);
  defaults.suppressed = reader.ids("suppressed", {});
  defaults.suppressedFirst = reader.ids("suppressed-first", {});
  defaults.badWords = reader.words("bad-words");
  defaults.refused = reader.refused("refused");
  defaults.least = reader.integer("least", 0).value_or(0);
  defaults.leastInAll = reader.integer("least-in-all", 0).value_or(0);
  defaults.noRepeat = reader.integer("no-repeat", 0).value_or(0);
  defaults.renormalizes = reader.flag("renormalize", false);
  return std::move(reader.status);
}

Expected<TextSide> readSide(const Json &json, const std::string &name,
                            const MemberReader &readMember) {
  if (!json.is_object())
    return inputError(name + ": expected an object, found " + json.type_name());
  TextSide side;
  side.name = name;
  SideReader reader(json, name);
  side.split = reader.word("split", "space", {"space", "character"}) == "space" ? Split::Space
                                                                                : Split::Character;
  side.padding = reader.id("padding", 0).value_or(0);
  side.unknown = reader.id("unknown", 1);
  side.start = reader.id("start", 2);
  side.ends = reader.ids("end", {3});
  side.add = reader.flag("add", false);
  side.length = reader.integer("length", std::nullopt);
  side.most = reader.integer("most", std::nullopt);
  side.cut = reader.word("too-long", "error", {"error", "cut"}) == "cut";
  side.limit = reader.integer("limit", 256).value_or(256);
  if (!reader.status)
    return reader.status.takeError();
  HEDDLE_TRY(readGeneration(json, name, side.generation));
  if (auto member = json.find("preprocessor"); member != json.end() && member->is_string()) {
    auto file = member->get<std::string>();
    std::string text = HEDDLE_TRY(readMember(file));
    side.images = HEDDLE_TRY(ImageProcessor::fromJson(text, file));
    return side;
  }
  if (auto member = json.find("log-mel"); member != json.end() && member->is_string()) {
    auto file = member->get<std::string>();
    std::string text = HEDDLE_TRY(readMember(file));
    side.sound = HEDDLE_TRY(LogMel::fromJson(text, file));
    return side;
  }
  if (auto member = json.find("tokenizer"); member != json.end() && member->is_string()) {
    auto file = member->get<std::string>();
    std::string text = HEDDLE_TRY(readMember(file));
    side.tokenizer = HEDDLE_TRY(Tokenizer::fromJson(text, file));
    if (auto chat = json.find("chat-template"); chat != json.end() && chat->is_string()) {
      auto chatFile = chat->get<std::string>();
      side.chat = std::make_shared<const ChatTemplate>(
          HEDDLE_TRY(ChatTemplate::fromJson(HEDDLE_TRY(readMember(chatFile)), "chat template")));
    }
    return side;
  }
  auto file = json.find("vocabulary");
  if (file == json.end() || !file->is_string())
    return side;
  side.vocabulary = HEDDLE_TRY(readTokens(*file, readMember));
  HEDDLE_TRY(checkIds(side));
  return side;
}

/// The text of a key; empty if there is none.
std::string textOf(const Json &json, const char *key) {
  auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Status readSides(const Json &facts, TextModel &model, const MemberReader &readMember) {
  std::string sourceFile;
  for (auto [name, side] :
       {std::pair{"source", &model.source}, std::pair{"target", &model.target}}) {
    auto found = facts.find(name);
    if (found == facts.end() || found->is_null())
      continue;
    Json own = *found;
    const std::string file = own.is_object() ? textOf(own, "tokenizer") : "";
    const bool isShared = !file.empty() && file == sourceFile;
    if (isShared) // it is read once
      own.erase("tokenizer");
    *side = HEDDLE_TRY(readSide(own, name, readMember));
    if (isShared)
      (*side)->tokenizer = model.source->tokenizer;
    sourceFile = file;
  }
  return {};
}

/// Reads the special tokens and settings of a speech model.
Status readSpeech(const Json &facts, TextModel &model, const MemberReader &readMember) {
  const std::string file = textOf(facts, "speech");
  if (!file.empty())
    model.speech = HEDDLE_TRY(SpeechTokens::fromJson(HEDDLE_TRY(readMember(file)), file));
  return {};
}

Status readLabels(const Json &facts, TextModel &model, const MemberReader &readMember) {
  auto classifier = facts.find("classifier");
  if (classifier == facts.end() || !classifier->is_object())
    return {};
  auto file = classifier->find("labels");
  if (file == classifier->end() || !file->is_string())
    return {};
  if (*file != "labels.json") { // one label a line
    model.labels = HEDDLE_TRY(readTokens(*file, readMember));
    return {};
  }
  const Json list = HEDDLE_TRY(parseJson(HEDDLE_TRY(readMember(*file)), *file));
  std::vector<std::string> labels;
  for (const Json &label : list)
    labels.push_back(label.is_string() ? label.get<std::string>() : "");
  model.labels = Vocabulary::of(std::move(labels), *file);
  return {};
}

/// Reads languages by name. Their tokens must be tokens of the source's tokenizer.
Status readLanguageTokens(const Json &tokens, TextModel &model) {
  for (const auto &[name, token] : tokens.items()) {
    const bool isId = token.is_number_integer() && token >= 0 && token <= INT32_MAX;
    if (!isId || !model.source->tokenizer->idToToken(token.get<int32_t>()))
      return inputError("languages.tokens." + printable(name) +
                        ": expected the id of a token of the source's tokenizer, found " +
                        token.dump().substr(0, 60));
    model.languages.tokens.emplace_back(name, token.get<int32_t>());
    model.source->languages.push_back(token.get<int32_t>());
  }
  return {};
}

/// Reads the languages and tasks from which a translation chooses.
Status readLanguages(const Json &facts, TextModel &model) {
  using Wanted = Languages::Wanted;
  if (auto found = facts.find("languages"); found != facts.end() && found->is_object()) {
    const std::string wanted = textOf(*found, "wanted");
    model.languages.wanted = wanted == "front"   ? Wanted::Front
                             : wanted == "start" ? Wanted::Start
                                                 : Wanted::First;
    model.languages.namesSource = found->value("names-source", Json()) == true;
    if (!model.source || !model.target || !model.source->tokenizer)
      model.languages = {}; // languages need a tokenizer
    else
      HEDDLE_TRY(readLanguageTokens(found->value("tokens", Json::object()), model));
  }
  auto tasks = facts.find("tasks");
  if (tasks == facts.end() || !tasks->is_object())
    return {};
  for (const auto &[name, own] : tasks->items()) {
    TextTask &task = model.tasks.emplace_back();
    task.name = name;
    task.prefix = textOf(own, "prefix");
    HEDDLE_TRY(readGeneration(own, "tasks." + name, task.generation));
  }
  return {};
}

/// Reads settings that only some commands need. A value of another type counts as missing, since
/// the compiler writes the settings and each has a default.
void readTask(const Json &facts, TextModel &model) {
  auto is = [&](const char *key, bool value) {
    auto found = facts.find(key);
    return found != facts.end() && *found == value;
  };
  if (model.source)
    model.source->pairMessages = is("pair-messages", true);
  model.packed = is("packed", true);
  model.unitLength = is("unit-length", true);
  model.promptIsPooled = !is("pooled-prompt", false);
  model.poolsParts = is("pool-parts", true);
  model.sigmoidScores = !is("sigmoid-scores", false);
  model.head = textOf(facts, "head");
  if (std::string problem = textOf(facts, "problem"); !problem.empty())
    model.problem = problem == "many-classes" ? Problem::ManyClasses
                    : problem == "numbers"    ? Problem::Numbers
                                              : Problem::OneClass;
  if (auto mask = facts.find("mask-token"); mask != facts.end() && mask->is_number_integer())
    model.maskToken = mask->get<int32_t>();
  if (auto prompts = facts.find("prompts"); prompts != facts.end() && prompts->is_object())
    for (const auto &[name, text] : prompts->items())
      if (text.is_string())
        model.prompts.emplace_back(name, text.get<std::string>());
  model.defaultPrompt = textOf(facts, "default-prompt");
  if (auto count = facts.find("dimensions"); count != facts.end() && count->is_number_integer())
    model.dimensions = count->get<int64_t>();
  const std::string similarity = textOf(facts, "similarity");
  model.similarity = similarity == "dot"         ? Similarity::Dot
                     : similarity == "euclidean" ? Similarity::Euclidean
                     : similarity == "manhattan" ? Similarity::Manhattan
                                                 : Similarity::Cosine;
}

} // namespace

/// Checks the settings and reads vocabularies. A prompt of a decoder-only model must fit into the
/// caches together with the start token.
Expected<TextModel> heddle::readTextModel(std::string_view json, const MemberReader &readMember) {
  if (json.empty())
    return inputError("expected a model with text sides, found one without a description");
  auto parsed = HEDDLE_TRY(parseJson(json, "model facts"));
  const Json &facts = parsed;
  if (!facts.is_object())
    return inputError(std::string("model facts: expected an object, found ") + facts.type_name());
  auto kind = facts.find("kind"), layout = facts.find("layout");
  if (kind == facts.end() || !kind->is_string())
    return inputError("expected a described model with texts, found one without a kind (dialect "
                      "text has no vocabularies)");
  TextModel model;
  model.kind = kind->get<std::string>();
  model.sequenceFirst = layout != facts.end() && *layout == "sequence-first";
  auto padded = facts.find("padded");
  model.padded = padded != facts.end() && *padded == true;
  HEDDLE_TRY(readSides(facts, model, readMember));
  if (!model.source && !model.target)
    return inputError("expected a model with text sides, found none");
  if (!model.source)
    model.target->most = model.target->limit - (model.target->start ? 1 : 0);
  HEDDLE_TRY(readLabels(facts, model, readMember));
  HEDDLE_TRY(readSpeech(facts, model, readMember));
  HEDDLE_TRY(readLanguages(facts, model));
  readTask(facts, model);
  return model;
}
