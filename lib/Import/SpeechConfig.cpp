//===- SpeechConfig.cpp - Speech settings of a folder ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads generation_config.json of a speech model as Transformers does for Whisper.

#include "SpeechConfig.h"

#include "GenerationKeys.h"

#include "heddle/Support/JsonField.h"
#include "heddle/Support/SpeechLanguages.h"
#include "heddle/Support/Try.h"

using namespace heddle;

namespace {

bool isToken(const Json &value) {
  constexpr int32_t most = 1 << 24;
  return value.is_number_integer() && value >= 0 && value < most;
}

Expected<int32_t> tokenOf(const JsonField &field) {
  if (!isToken(field.value()))
    return field.expected("a token");
  return field.value().get<int32_t>();
}

/// A token, or a number of tokens; none if the key is missing or null.
Expected<std::optional<int32_t>> maybeNumber(const JsonField &keys, const char *key) {
  const auto field = keys.find(key);
  if (!field)
    return std::optional<int32_t>();
  return std::optional(HEDDLE_TRY(tokenOf(*field)));
}

/// Tokens by name; none if the key is missing.
Expected<std::map<std::string, int32_t>> tokensAt(const JsonField &keys, const char *key) {
  std::map<std::string, int32_t> tokens;
  const auto field = keys.find(key);
  if (!field)
    return tokens;
  HEDDLE_TRY(field->checkObject());
  for (const auto &[name, token] : field->value().items())
    tokens[name] = HEDDLE_TRY(tokenOf(HEDDLE_TRY(field->get(name))));
  return tokens;
}

/// The end token, or the first of several.
Expected<int32_t> endOf(const JsonField &keys) {
  const JsonField field = HEDDLE_TRY(keys.get("eos_token_id"));
  const bool isList = field.value().is_array() && !field.value().empty();
  return tokenOf(isList ? field.element(0) : field);
}

/// The token that precedes earlier text. Old files do not name it; it is the last but one of their
/// suppressed tokens.
Expected<std::optional<int32_t>> previousOf(const JsonField &keys) {
  const auto named = HEDDLE_TRY(maybeNumber(keys, "prev_sot_token_id"));
  const auto field = keys.find("suppress_tokens");
  if (named || !field || !field->value().is_array() || field->value().size() < 2)
    return named;
  const Json &token = field->value()[field->value().size() - 2];
  return isToken(token) ? std::optional(token.get<int32_t>()) : std::nullopt;
}

/// A number; `otherwise` if the key is missing or null.
Expected<double> numberOr(const JsonField &keys, const char *key, double otherwise) {
  const auto field = keys.find(key);
  if (!field)
    return otherwise;
  if (!field->value().is_number())
    return field->expected("a number");
  return field->value().get<double>();
}

Error notFollowed(const JsonField &field, const std::string &expected) {
  return field.error(expected, foundText(field.value()) + ", which is not followed");
}

} // namespace

/// Returns an error for settings that would change the text and are not followed. Null and false
/// change nothing, except that false is a value of a switch.
static Status checkFollowed(const JsonField &keys) {
  for (const auto &[key, without] : unfollowedOfSpeech())
    if (const auto field = keys.find(key);
        field && field->value() != without && (field->value() != false || without.is_boolean()))
      return notFollowed(*field, foundText(without));
  const auto last = keys.find("forced_eos_token_id");
  const bool isOne = last && last->value().is_array() && last->value().size() == 1;
  if (last && !isOne && !isToken(last->value()))
    return notFollowed(*last, "one token");
  return {};
}

/// Reads the token for "no timestamps". If an old file does not name it, the tokenizer's own token
/// still follows the token of silence.
static Status setTimes(const JsonField &keys, SpeechFacts &facts) {
  facts.namesTimestamps = keys.find("no_timestamps_token_id").has_value();
  if (facts.namesTimestamps) {
    facts.noTimestamps = HEDDLE_TRY(tokenOf(HEDDLE_TRY(keys.get("no_timestamps_token_id"))));
    return {};
  }
  const auto names = HEDDLE_TRY(tokensAt(keys, tokenNamesKey));
  if (const auto named = names.find("<|notimestamps|>"); named != names.end())
    facts.noTimestamps = named->second;
  return {};
}

static Status setLengthsAndChecks(const JsonField &keys, SpeechFacts &facts) {
  facts.mostNew = HEDDLE_TRY(maybeNumber(keys, "max_new_tokens"));
  facts.mostInAll = HEDDLE_TRY(maybeNumber(keys, "max_length"));
  facts.leastNew = HEDDLE_TRY(maybeNumber(keys, "min_new_tokens"));
  facts.leastInAll = HEDDLE_TRY(maybeNumber(keys, "min_length"));
  facts.timestamps = HEDDLE_TRY(keys.flagAt("return_timestamps", false));
  facts.usesEarlierText = HEDDLE_TRY(keys.flagAt("condition_on_prev_tokens", true));
  facts.mostCompression =
      HEDDLE_TRY(numberOr(keys, "compression_ratio_threshold", facts.mostCompression));
  facts.leastLogProbability =
      HEDDLE_TRY(numberOr(keys, "logprob_threshold", facts.leastLogProbability));
  facts.silence = HEDDLE_TRY(numberOr(keys, "no_speech_threshold", facts.silence));
  return {};
}

/// Applies the tokens that old files force after the start, pairs of a place and a token or null.
/// The tokens are a language, a task and the token for "no timestamps", in this order and each
/// optional.
static Status setForced(const JsonField &keys, SpeechFacts &facts) {
  const auto field = keys.find("forced_decoder_ids");
  if (!field)
    return {};
  auto isOne = [](const std::map<std::string, int32_t> &names, int32_t token) {
    return std::ranges::any_of(names, [&](const auto &named) { return named.second == token; });
  };
  int32_t place = 0, last = 0;
  for (const JsonField &pair : HEDDLE_TRY(field->list())) {
    const Json &value = pair.value();
    if (!value.is_array() || value.size() != 2 || !isToken(value[0]) ||
        !(value[1].is_null() || isToken(value[1])))
      return pair.expected("a place and a token");
    if (value[0] != ++place)
      return pair.element(0).expected("place " + std::to_string(place));
    if (value[1].is_null())
      continue;
    const auto token = value[1].get<int32_t>();
    const int32_t kind = isOne(facts.languages, token) ? 1
                         : isOne(facts.tasks, token)   ? 2
                         : token == facts.noTimestamps ? 3
                                                       : 0;
    if (kind <= last)
      return pair.element(1).expected(
          "a language, a task and no_timestamps_token_id, in this order");
    last = kind;
    facts.namesTasks |= kind == 2;
    facts.forcesNoTimestamps |= kind == 3;
    if (kind == 1)
      facts.language = token;
    facts.translates |=
        kind == 2 && facts.tasks.contains("translate") && facts.tasks["translate"] == token;
  }
  return {};
}

/// The token of the language that a file names; none in a model of English only.
static Expected<std::optional<int32_t>> namedLanguage(const JsonField &field,
                                                      const SpeechFacts &facts) {
  const std::string code = speechLanguageCode(field.value().get<std::string>());
  if (auto token = facts.languages.find(code); token != facts.languages.end())
    return std::optional(token->second);
  if (facts.languages.empty() && code == "en")
    return std::optional<int32_t>();
  return field.expected("a language of lang_to_id");
}

/// Applies `language` and `task`, which override the tokens that old files force.
static Status setNamed(const JsonField &keys, SpeechFacts &facts) {
  const std::string language = HEDDLE_TRY(keys.textOr("language", "")),
                    task = HEDDLE_TRY(keys.textOr("task", ""));
  if (!language.empty())
    facts.language = HEDDLE_TRY(namedLanguage(*keys.find("language"), facts));
  if (task.empty())
    return {};
  if (task != "transcribe" && !(task == "translate" && facts.tasks.contains("translate")))
    return keys.find("task")->expected("a task of task_to_id");
  facts.translates = task == "translate";
  return {};
}

/// Reads languages and tasks, and the folder's defaults; none in a model of English only.
static Status setLanguages(const JsonField &keys, SpeechFacts &facts) {
  facts.namesLanguages = keys.find("lang_to_id").has_value();
  facts.namesTasks = keys.find("task_to_id").has_value();
  const auto names = HEDDLE_TRY(tokensAt(keys, tokenNamesKey));
  facts.tasks = HEDDLE_TRY(tokensAt(keys, "task_to_id"));
  for (const char *task : {"transcribe", "translate"})
    if (auto token = names.find("<|" + std::string(task) + "|>");
        !facts.namesTasks && token != names.end())
      facts.tasks[task] = token->second;
  for (const auto &[name, token] : HEDDLE_TRY(tokensAt(keys, "lang_to_id")))
    facts.languages[insideToken(name)] = token;
  for (const SpeechLanguage &language : speechLanguages())
    if (auto token = names.find("<|" + std::string(language.code) + "|>");
        !facts.namesLanguages && token != names.end())
      facts.languages[std::string(language.code)] = token->second;
  HEDDLE_TRY(setForced(keys, facts));
  if (HEDDLE_TRY(keys.flagAt("is_multilingual", true)))
    return setNamed(keys, facts);
  facts.tasks.clear();
  facts.languages.clear();
  facts.language.reset();
  facts.translates = false;
  return {};
}

Expected<SpeechFacts> heddle::readSpeechFacts(const Json &settings, const std::string &fileName) {
  const JsonField keys(settings, fileName);
  SpeechFacts facts;
  facts.start = HEDDLE_TRY(tokenOf(HEDDLE_TRY(keys.get("decoder_start_token_id"))));
  HEDDLE_TRY(setTimes(keys, facts));
  facts.end = HEDDLE_TRY(endOf(keys));
  facts.latestStart = HEDDLE_TRY(maybeNumber(keys, "max_initial_timestamp_index"));
  facts.previous = HEDDLE_TRY(previousOf(keys));
  HEDDLE_TRY(checkFollowed(keys));
  HEDDLE_TRY(setLengthsAndChecks(keys, facts));
  HEDDLE_TRY(setLanguages(keys, facts));
  return facts;
}
