//===- TextModel.cpp - Text settings of a model -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler writes the JSON, but a file may be damaged or foreign: every key's
// type is checked, and every special id against the vocabulary.
#include "heddle/Generation/TextModel.h"

#include "Conversation.h"
#include "Strings.h"
#include "Utf8.h"

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
  /// A list of ids, or one.
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

/// Vocabulary in the member that `file` names.
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
  defaults.beams = reader.integer("beams", std::nullopt);
  defaults.lengthPenalty = reader.number("length-penalty");
  const std::string rule = reader.word("beam-rule", "own", {"own", "full", "likely", "sure"});
  defaults.beamRule = rule == "full"     ? BeamRule::Full
                      : rule == "likely" ? BeamRule::Likely
                      : rule == "sure"   ? BeamRule::Sure
                                         : BeamRule::Own;
  defaults.first = reader.id("first", std::nullopt);
  defaults.last = reader.id("last", std::nullopt);
  defaults.suppressed = reader.ids("suppressed", {});
  defaults.suppressedFirst = reader.ids("suppressed-first", {});
  defaults.least = reader.integer("least", 0).value_or(0);
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
      side.chat =
          HEDDLE_TRY(ChatTemplate::fromJson(HEDDLE_TRY(readMember(chatFile)), "chat template"));
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

/// A text under a key; empty: none.
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

/// What a model that hears is told, and what it says beside text.
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
  model.labels = HEDDLE_TRY(readTokens(*file, readMember));
  return {};
}

/// Languages by name: tokens of what the source is cut with.
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

/// Languages and tasks, which a translation chooses among.
Status readLanguages(const Json &facts, TextModel &model) {
  using Wanted = Languages::Wanted;
  if (auto found = facts.find("languages"); found != facts.end() && found->is_object()) {
    const std::string wanted = textOf(*found, "wanted");
    model.languages.wanted = wanted == "front"   ? Wanted::Front
                             : wanted == "start" ? Wanted::Start
                                                 : Wanted::First;
    model.languages.namesSource = found->value("names-source", Json()) == true;
    if (!model.source || !model.target || !model.source->tokenizer)
      model.languages = {}; // without a tokenizer nothing is said
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

/// Reads what only some commands ask for. A value of another type counts as none: the compiler
/// writes them, and each has a default.
void readTask(const Json &facts, TextModel &model) {
  auto is = [&](const char *key, bool value) {
    auto found = facts.find(key);
    return found != facts.end() && *found == value;
  };
  if (model.source)
    model.source->strip = is("strip", true);
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

Expected<std::string_view> TextModel::prompt(const std::optional<std::string> &wanted) const {
  const std::string &name = wanted ? *wanted : defaultPrompt;
  if (name.empty())
    return std::string_view();
  auto found = std::ranges::find(prompts, name, &std::pair<std::string, std::string>::first);
  if (found == prompts.end())
    return usageError("--prompt: expected a prompt of the model (" +
                      listText(prompts, [](const auto &prompt) { return prompt.first; }) +
                      "), found " + quotedText(name));
  if (!promptIsPooled && !poolsParts && !found->second.empty())
    return inputError("include_prompt: expected true beside the prompt " + quotedText(name) +
                      ", found false: only mean and max of rows that are masked, or cls or last "
                      "alone, are supported without the prompt's tokens");
  return std::string_view(found->second);
}

/// A text without the blanks around it, which are looked for in UTF-8.
static Expected<std::string_view> stripped(std::string_view text, std::string_view place) {
  HEDDLE_TRY(tokenizers::checkUtf8(text, place));
  return templates::stripEnd(templates::stripStart(text));
}

Expected<TextContext> TextModel::behindPrompt(const std::optional<std::string> &wanted) const {
  TextContext context{.before = HEDDLE_TRY(prompt(wanted))};
  if (promptIsPooled || context.before.empty() || !input().tokenizer)
    return context;
  // As Sentence-Transformers counts them: all tokens of the prompt alone but a special one behind it.
  const std::string_view text =
      input().strip ? HEDDLE_TRY(stripped(context.before, "prompt")) : context.before;
  TokenEncoding tokens = HEDDLE_TRY(input().tokenizer->encode(text, {}, "prompt"));
  context.leftOut = static_cast<int64_t>(tokens.size());
  if (tokens.size() > 0 && tokens.special.back())
    --context.leftOut;
  return context;
}

bool TextSide::isSpecial(int32_t id) const {
  return id == padding || id == unknown || id == start || std::ranges::find(ends, id) != ends.end();
}

Expected<std::vector<int32_t>> heddle::parseIds(std::string_view line, const Tokenizer &tokenizer,
                                                const std::string &place) {
  std::vector<int32_t> ids;
  constexpr const char *blanks = " \t\r";
  for (size_t at = 0; (at = line.find_first_not_of(blanks, at)) != line.npos;) {
    const size_t end = std::min(line.find_first_of(blanks, at), line.size());
    const std::string_view word = line.substr(at, end - at);
    int32_t id = -1;
    const auto [rest, failure] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (failure != std::errc() || rest != word.data() + word.size() || !tokenizer.idToToken(id))
      return inputError(place + ": expected ids of the tokenizer's " +
                        std::to_string(tokenizer.size()) + " tokens, found " + quotedText(word));
    ids.push_back(id);
    at = end;
  }
  return ids;
}

/// Refuses a row that is too long, where it may not be cut.
static Status checkLength(const TextSide &side, int64_t count, std::string_view place) {
  const int64_t room = side.longest().value_or(count);
  if (count <= room || side.cut)
    return {};
  return inputError(std::string(place) + ": expected at most " + std::to_string(room) +
                    " tokens, found " + std::to_string(count) + "; --truncate cuts a text");
}

/// A row of ids as it is.
static Expected<EncodedText> givenIds(const TextSide &side, std::string_view line,
                                      std::string_view place) {
  if (!side.tokenizer)
    return inputError(std::string(place) + ": expected a model with a tokenizer for ids, found one "
                                           "with a vocabulary");
  EncodedText encoded;
  encoded.ids = HEDDLE_TRY(parseIds(line, *side.tokenizer, std::string(place)));
  encoded.empty = encoded.ids.empty();
  const int64_t count = static_cast<int64_t>(encoded.ids.size());
  HEDDLE_TRY(checkLength(side, count, place));
  encoded.cut = std::max<int64_t>(0, count - side.longest().value_or(count));
  encoded.ids.resize(static_cast<size_t>(count - encoded.cut));
  return encoded;
}

/// Whether none of a row's tokens is one of the text itself, which begins `before` bytes behind the
/// beginning of text number `own`.
static bool isEmpty(const TokenEncoding &tokens, int8_t own, size_t before) {
  for (size_t i = 0; i < tokens.size(); ++i)
    if (!tokens.special[i] && tokens.sequences[i] == own && tokens.spans[i].end > before)
      return false;
  return true;
}

/// By the tokenizer, which cuts a text between the tokens that it adds.
static Expected<EncodedText> tokenized(const TextSide &side, std::string_view text,
                                       std::string_view place, const TextContext &context) {
  const std::string joined = std::string(context.before) + std::string(text);
  const std::string_view whole = side.strip ? HEDDLE_TRY(stripped(joined, place)) : joined;
  const size_t atFront = whole.empty() ? 0 : static_cast<size_t>(whole.data() - joined.data());
  const size_t before = context.before.size() - std::min(atFront, context.before.size());
  auto encode = [&](const EncodeOptions &options) {
    if (!context.pair)
      return side.tokenizer->encode(whole, options, place);
    return context.pairFirst ? side.tokenizer->encode(*context.pair, whole, options, place)
                             : side.tokenizer->encode(whole, *context.pair, options, place);
  };
  TokenEncoding tokens = HEDDLE_TRY(encode({.specialTokens = !context.whole}));
  EncodedText encoded;
  encoded.empty = isEmpty(tokens, context.pair && context.pairFirst, before);
  const int64_t count = static_cast<int64_t>(tokens.size());
  if (!context.uncut)
    HEDDLE_TRY(checkLength(side, count, place));
  if (int64_t room = side.longest().value_or(count); count > room && !context.uncut) {
    tokens = HEDDLE_TRY(
        encode({.specialTokens = !context.whole, .truncation = Truncation{.length = room}}));
    encoded.cut = count - static_cast<int64_t>(tokens.size());
  }
  for (size_t i = 0; side.language && i < tokens.size(); ++i)
    if (tokens.special[i] && std::ranges::count(side.languages, tokens.ids[i]))
      tokens.ids[i] = *side.language;
  encoded.ids = std::move(tokens.ids);
  encoded.leftOut = std::min(context.leftOut, static_cast<int64_t>(encoded.ids.size()));
  encoded.tokens = std::move(tokens);
  return encoded;
}

/// A pair as a chat template writes it, a query and a document, of which the end is cut where they
/// are too long.
static Expected<EncodedText> pairOfMessages(const TextSide &side, std::string_view text,
                                            std::string_view place, const TextContext &context) {
  const auto [query, whole] =
      context.pairFirst ? std::pair(*context.pair, text) : std::pair(text, *context.pair);
  std::string document(whole);
  EncodedText encoded;
  encoded.empty = text.empty();
  for (;;) {
    const std::string messages =
        HEDDLE_TRY(pairText(*side.chat, std::string(context.before), std::string(query), document));
    TokenEncoding tokens =
        HEDDLE_TRY(side.tokenizer->encode(messages, {.specialTokens = false}, place));
    const int64_t count = static_cast<int64_t>(tokens.size());
    const int64_t beyond = count - side.longest().value_or(count);
    HEDDLE_TRY(checkLength(side, count, place));
    if (beyond <= 0) {
      encoded.ids = std::move(tokens.ids);
      encoded.tokens = std::move(tokens);
      return encoded;
    }
    const TokenEncoding own =
        HEDDLE_TRY(side.tokenizer->encode(document, {.specialTokens = false}, place));
    if (static_cast<int64_t>(own.size()) <= beyond)
      return inputError(std::string(place) +
                        ": expected a query with room behind it for a text, "
                        "found one of which the messages alone have more than " +
                        std::to_string(*side.longest()) + " tokens");
    document.resize(own.spans[own.size() - static_cast<size_t>(beyond)].begin);
    encoded.cut += beyond;
  }
}

Expected<EncodedText> TextSide::encode(std::string_view text, std::string_view place,
                                       const TextContext &context) const {
  if (context.ids)
    return givenIds(*this, text, place);
  if (context.pair && pairMessages && tokenizer && chat)
    return pairOfMessages(*this, text, place, context);
  if (tokenizer)
    return tokenized(*this, text, place, context);
  if (context.pair)
    return inputError(std::string(place) +
                      ": expected a model with a tokenizer for pairs of texts, "
                      "found one with a vocabulary");
  auto tokens = HEDDLE_TRY(splitText(text, split, place));
  EncodedText encoded;
  encoded.empty = tokens.empty();
  if (add && start)
    encoded.ids.push_back(*start);
  for (const std::string &token : tokens) {
    const std::optional<int32_t> id = vocabulary->find(token);
    if (!id && !unknown)
      return inputError(std::string(place) + ": expected words of " + vocabulary->name() +
                        ", found " + quotedText(token));
    encoded.ids.push_back(id ? *id : *unknown);
  }
  if (add && !ends.empty())
    encoded.ids.push_back(ends.front());
  if (context.uncut)
    return encoded;
  const int64_t count = static_cast<int64_t>(encoded.ids.size());
  HEDDLE_TRY(checkLength(*this, count, place));
  const int64_t room = longest().value_or(count);
  encoded.cut = std::max<int64_t>(0, count - room);
  encoded.ids.resize(static_cast<size_t>(length.value_or(std::min(count, room))), padding);
  return encoded;
}

std::string TextSide::decode(std::span<const int32_t> ids) const {
  if (tokenizer) {
    std::vector<int32_t> known;
    std::ranges::copy_if(ids, std::back_inserter(known),
                         [&](int32_t id) { return tokenizer->idToToken(id).has_value(); });
    Expected<std::string> text = tokenizer->decode(known);
    return text ? *text : std::string();
  }
  std::string text;
  for (int32_t id : ids) {
    if (isSpecial(id))
      continue;
    if (!text.empty() && split == Split::Space)
      text += ' ';
    text += vocabulary->token(id);
  }
  return text;
}
