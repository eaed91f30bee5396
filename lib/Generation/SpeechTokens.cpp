//===- SpeechTokens.cpp - Special tokens of speech models ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SpeechNumbers.h"

#include "heddle/Generation/Speech.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/JsonField.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <nlohmann/json.hpp>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

struct LanguageName {
  std::string_view code, name;
};
/// English names of Whisper's languages, and other names of some.
constexpr LanguageName languageNames[] = {
    {"en", "english"},        {"zh", "chinese"},     {"de", "german"},        {"es", "spanish"},
    {"ru", "russian"},        {"ko", "korean"},      {"fr", "french"},        {"ja", "japanese"},
    {"pt", "portuguese"},     {"tr", "turkish"},     {"pl", "polish"},        {"ca", "catalan"},
    {"nl", "dutch"},          {"ar", "arabic"},      {"sv", "swedish"},       {"it", "italian"},
    {"id", "indonesian"},     {"hi", "hindi"},       {"fi", "finnish"},       {"vi", "vietnamese"},
    {"he", "hebrew"},         {"uk", "ukrainian"},   {"el", "greek"},         {"ms", "malay"},
    {"cs", "czech"},          {"ro", "romanian"},    {"da", "danish"},        {"hu", "hungarian"},
    {"ta", "tamil"},          {"no", "norwegian"},   {"th", "thai"},          {"ur", "urdu"},
    {"hr", "croatian"},       {"bg", "bulgarian"},   {"lt", "lithuanian"},    {"la", "latin"},
    {"mi", "maori"},          {"ml", "malayalam"},   {"cy", "welsh"},         {"sk", "slovak"},
    {"te", "telugu"},         {"fa", "persian"},     {"lv", "latvian"},       {"bn", "bengali"},
    {"sr", "serbian"},        {"az", "azerbaijani"}, {"sl", "slovenian"},     {"kn", "kannada"},
    {"et", "estonian"},       {"mk", "macedonian"},  {"br", "breton"},        {"eu", "basque"},
    {"is", "icelandic"},      {"hy", "armenian"},    {"ne", "nepali"},        {"mn", "mongolian"},
    {"bs", "bosnian"},        {"kk", "kazakh"},      {"sq", "albanian"},      {"sw", "swahili"},
    {"gl", "galician"},       {"mr", "marathi"},     {"pa", "punjabi"},       {"si", "sinhala"},
    {"km", "khmer"},          {"sn", "shona"},       {"yo", "yoruba"},        {"so", "somali"},
    {"af", "afrikaans"},      {"oc", "occitan"},     {"ka", "georgian"},      {"be", "belarusian"},
    {"tg", "tajik"},          {"sd", "sindhi"},      {"gu", "gujarati"},      {"am", "amharic"},
    {"yi", "yiddish"},        {"lo", "lao"},         {"uz", "uzbek"},         {"fo", "faroese"},
    {"ht", "haitian creole"}, {"ps", "pashto"},      {"tk", "turkmen"},       {"nn", "nynorsk"},
    {"mt", "maltese"},        {"sa", "sanskrit"},    {"lb", "luxembourgish"}, {"my", "myanmar"},
    {"bo", "tibetan"},        {"tl", "tagalog"},     {"mg", "malagasy"},      {"as", "assamese"},
    {"tt", "tatar"},          {"haw", "hawaiian"},   {"ln", "lingala"},       {"ha", "hausa"},
    {"ba", "bashkir"},        {"jw", "javanese"},    {"su", "sundanese"},     {"yue", "cantonese"},
    {"my", "burmese"},        {"ca", "valencian"},   {"nl", "flemish"},       {"ht", "haitian"},
    {"lb", "letzeburgesch"},  {"ps", "pushto"},      {"pa", "panjabi"},       {"ro", "moldavian"},
    {"ro", "moldovan"},       {"si", "sinhalese"},   {"es", "castilian"},     {"zh", "mandarin"}};

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

/// The code of a token such as <|en|>.
std::string bare(const std::string &token) {
  const bool isMarked = token.starts_with("<|") && token.ends_with("|>") && token.size() > 4;
  return isMarked ? token.substr(2, token.size() - 4) : token;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

} // namespace

Expected<SpeechTokens> SpeechTokens::fromJson(std::string_view text, const std::string &fileName) {
  const Json json = HEDDLE_TRY(parseJson(text, fileName));
  const JsonField keys(json, fileName);
  SpeechTokens tokens;
  tokens.start = HEDDLE_TRY(tokenOf(HEDDLE_TRY(keys.get("decoder_start_token_id"))));
  HEDDLE_TRY(tokens.setTimes(keys));
  tokens.rules.end = HEDDLE_TRY(endOf(keys));
  tokens.rules.latestStart = HEDDLE_TRY(maybeNumber(keys, "max_initial_timestamp_index"));
  tokens.previous = HEDDLE_TRY(previousOf(keys));
  HEDDLE_TRY(checkFollowed(keys));
  HEDDLE_TRY(tokens.setLengthsAndChecks(keys));
  HEDDLE_TRY(tokens.setLanguages(keys));
  return tokens;
}

/// Sets the token for "no timestamps" and the first timestamp. Old files do not name them: no token
/// is a timestamp then, as in Transformers. The tokenizer's own token for "no timestamps" still
/// follows the token of silence.
Status SpeechTokens::setTimes(const JsonField &keys) {
  knowsTimes = keys.find("no_timestamps_token_id").has_value();
  if (knowsTimes) {
    rules.none = HEDDLE_TRY(tokenOf(HEDDLE_TRY(keys.get("no_timestamps_token_id"))));
    rules.first = rules.none + 1;
    return {};
  }
  const auto names = HEDDLE_TRY(tokensAt(keys, tokenNamesKey));
  const auto named = names.find("<|notimestamps|>");
  rules.none = named == names.end() ? 0 : named->second;
  rules.first = std::numeric_limits<int32_t>::max();
  return {};
}

Status SpeechTokens::checkTimes() const {
  if (knowsTimes)
    return {};
  return inputError("no_timestamps_token_id: expected a token of the folder's settings where times "
                    "are told, as of all audio beyond one window, found none");
}

/// Sets languages and tasks, and the folder's defaults; none in a model of English only.
Status SpeechTokens::setLanguages(const JsonField &keys) {
  detects = keys.find("lang_to_id").has_value();
  tellsTask = keys.find("task_to_id").has_value();
  const auto names = HEDDLE_TRY(tokensAt(keys, tokenNamesKey));
  tasks = HEDDLE_TRY(tokensAt(keys, "task_to_id"));
  for (const char *task : {"transcribe", "translate"})
    if (auto token = names.find("<|" + std::string(task) + "|>");
        !tellsTask && token != names.end())
      tasks[task] = token->second;
  for (const auto &[name, token] : HEDDLE_TRY(tokensAt(keys, "lang_to_id")))
    languages[bare(name)] = token;
  for (const LanguageName &language : languageNames)
    if (auto token = names.find("<|" + std::string(language.code) + "|>");
        !detects && token != names.end())
      languages[std::string(language.code)] = token->second;
  HEDDLE_TRY(setForced(keys));
  if (HEDDLE_TRY(keys.flagAt("is_multilingual", true)))
    return setNamed(keys);
  tasks.clear();
  languages.clear();
  ownLanguage.reset();
  translatesItself = false;
  return {};
}

/// Applies the tokens that old files force after the start, pairs of a place and a token or null.
/// The tokens are a language, a task and the token for "no timestamps", in this order and each
/// optional.
Status SpeechTokens::setForced(const JsonField &keys) {
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
    const int32_t kind = isOne(languages, token) ? 1
                         : isOne(tasks, token)   ? 2
                         : token == rules.none   ? 3
                                                 : 0;
    if (kind <= last)
      return pair.element(1).expected(
          "a language, a task and no_timestamps_token_id, in this order");
    last = kind;
    tellsTask |= kind == 2;
    forcesNoTimes |= kind == 3;
    if (kind == 1)
      ownLanguage = token;
    translatesItself |= kind == 2 && tasks.contains("translate") && tasks["translate"] == token;
  }
  return {};
}

/// Applies `language` and `task`, which override the tokens that old files force.
Status SpeechTokens::setNamed(const JsonField &keys) {
  const std::string ownName = HEDDLE_TRY(keys.textOr("language", "")),
                    ownTask = HEDDLE_TRY(keys.textOr("task", ""));
  if (!ownName.empty()) {
    const auto named = language(ownName);
    if (!named)
      return keys.find("language")->expected("a language of lang_to_id");
    ownLanguage = *named;
  }
  if (ownTask.empty())
    return {};
  if (ownTask != "transcribe" && !(ownTask == "translate" && tasks.contains("translate")))
    return keys.find("task")->expected("a task of task_to_id");
  translatesItself = ownTask == "translate";
  return {};
}

Expected<std::optional<int32_t>> SpeechTokens::language(std::string_view name) const {
  std::string code = bare(lower(name));
  auto named = std::ranges::find(languageNames, std::string_view(code), &LanguageName::name);
  if (named != std::end(languageNames))
    code = named->code;
  if (languages.empty() && code == "en")
    return std::optional<int32_t>();
  auto found = languages.find(code);
  if (found != languages.end())
    return std::optional(found->second);
  const std::string known =
      languages.empty() ? "en, the only one"
                        : "one of " + listText(languages, [](const auto &l) { return l.first; });
  return usageError("--language: expected " + known + ", found " + quotedText(name));
}

std::optional<int32_t> SpeechTokens::likeliestLanguage(std::span<const float> scores) const {
  std::optional<int32_t> best;
  if (!detects)
    return best;
  for (const auto &[code, token] : languages) {
    if (static_cast<size_t>(token) >= scores.size())
      continue;
    const float score = scores[static_cast<size_t>(token)];
    const float most = best ? scores[static_cast<size_t>(*best)] : score;
    if (!best || score > most || (score == most && token < *best))
      best = token;
  }
  return best;
}

std::string SpeechTokens::codeOf(std::optional<int32_t> language) const {
  for (const auto &[code, token] : languages)
    if (token == language)
      return code;
  return "en";
}

Expected<TokenIds> SpeechTokens::prompt(std::optional<int32_t> language, bool translates,
                                        bool timestamps) const {
  TokenIds tokens{start};
  if (language)
    tokens.push_back(*language);
  const char *task = translates ? "translate" : "transcribe";
  const auto found = tasks.find(task);
  if (translates && found == tasks.end())
    return usageError("--task: expected transcribe, the only one, found translate");
  if (found != tasks.end() && (tellsTask || translates || language))
    tokens.push_back(found->second);
  if (!timestamps && (knowsTimes || forcesNoTimes))
    tokens.push_back(rules.none);
  return tokens;
}

TokenIds SpeechTokens::behind(std::span<const int32_t> before, const TokenIds &prompt,
                              int64_t positions) const {
  const auto most = static_cast<size_t>(std::max<int64_t>(positions / 2 - 1, 0));
  TokenIds tokens;
  if (previous && !before.empty())
    tokens.push_back(*previous);
  const auto kept = before.last(std::min(before.size(), most));
  tokens.insert(tokens.end(), kept.begin(), kept.end());
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  return tokens;
}
