//===- SpeechTokens.cpp - Special tokens of speech models ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

constexpr int32_t mostTokens = 1 << 24;

bool isToken(const Json &value) {
  return value.is_number_integer() && value >= 0 && value < mostTokens;
}

Expected<int32_t> tokenOf(const JsonField &field) {
  if (!isToken(field.value()))
    return field.expected("a token");
  return field.value().get<int32_t>();
}

/// None where the key is missing or null.
Expected<std::optional<int32_t>> maybeToken(const JsonField &keys, const char *key) {
  const auto field = keys.find(key);
  if (!field)
    return std::optional<int32_t>();
  return std::optional(HEDDLE_TRY(tokenOf(*field)));
}

/// Tokens by name; none where the key is missing.
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

/// The end, or the first of several.
Expected<int32_t> endOf(const JsonField &keys) {
  const JsonField field = HEDDLE_TRY(keys.get("eos_token_id"));
  const bool isList = field.value().is_array() && !field.value().empty();
  return tokenOf(isList ? field.element(0) : field);
}

/// What old files do not name stands last but one among the tokens that are never said.
Expected<std::optional<int32_t>> previousOf(const JsonField &keys) {
  const auto named = HEDDLE_TRY(maybeToken(keys, "prev_sot_token_id"));
  const auto field = keys.find("suppress_tokens");
  if (named || !field || !field->value().is_array() || field->value().size() < 2)
    return named;
  const Json &token = field->value()[field->value().size() - 2];
  return isToken(token) ? std::optional(token.get<int32_t>()) : std::nullopt;
}

/// Tokens behind the start that old files force: pairs of a place and a token or null.
Expected<std::vector<int32_t>> forcedBy(const JsonField &keys) {
  std::vector<int32_t> tokens;
  const auto field = keys.find("forced_decoder_ids");
  if (!field)
    return tokens;
  for (const JsonField &pair : HEDDLE_TRY(field->list())) {
    const Json &value = pair.value();
    if (!value.is_array() || value.size() != 2 || !isToken(value[0]) ||
        !(value[1].is_null() || isToken(value[1])))
      return pair.expected("a place and a token");
    if (!value[1].is_null())
      tokens.push_back(value[1].get<int32_t>());
  }
  return tokens;
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
  tokens.rules.none = HEDDLE_TRY(tokenOf(HEDDLE_TRY(keys.get("no_timestamps_token_id"))));
  tokens.rules.first = tokens.rules.none + 1;
  tokens.rules.end = HEDDLE_TRY(endOf(keys));
  tokens.rules.latestStart = HEDDLE_TRY(maybeToken(keys, "max_initial_timestamp_index"));
  tokens.previous = HEDDLE_TRY(previousOf(keys));
  tokens.mostNew = HEDDLE_TRY(maybeToken(keys, "max_new_tokens"));
  tokens.mostInAll = HEDDLE_TRY(maybeToken(keys, "max_length"));
  if (!HEDDLE_TRY(keys.flagAt("is_multilingual", true)))
    return tokens;
  tokens.tasks = HEDDLE_TRY(tokensAt(keys, "task_to_id"));
  for (const auto &[name, token] : HEDDLE_TRY(tokensAt(keys, "lang_to_id")))
    tokens.languages[bare(name)] = token;
  const std::vector<int32_t> forced = HEDDLE_TRY(forcedBy(keys));
  const std::string ownLanguage = HEDDLE_TRY(keys.textOr("language", ""));
  const std::string ownTask = HEDDLE_TRY(keys.textOr("task", ""));
  HEDDLE_TRY(tokens.setUsual(forced, ownLanguage, ownTask, fileName));
  return tokens;
}

/// `language` and `task`, or where they say nothing, what old files force behind the start.
Status SpeechTokens::setUsual(std::span<const int32_t> forced, const std::string &ownName,
                              const std::string &ownTask, const std::string &fileName) {
  const auto translate = tasks.find("translate");
  for (int32_t token : forced) {
    if (std::ranges::any_of(languages, [&](const auto &l) { return l.second == token; }))
      ownLanguage = token;
    translatesItself |= translate != tasks.end() && translate->second == token;
  }
  if (!ownName.empty()) {
    const auto named = language(ownName);
    if (!named)
      return inputError(fileName + ": language: expected a language of lang_to_id, found " +
                        quotedText(ownName));
    ownLanguage = *named;
  }
  if (ownTask.empty())
    return {};
  if (ownTask != "transcribe" && !(ownTask == "translate" && translate != tasks.end()))
    return inputError(fileName + ": task: expected a task of task_to_id, found " +
                      quotedText(ownTask));
  translatesItself = ownTask == "translate";
  return {};
}

int64_t SpeechTokens::mostBehind(int64_t prompt, int64_t positions) const {
  // The last token is not read.
  int64_t most = positions - prompt + 1;
  if (mostNew)
    most = std::min<int64_t>(most, *mostNew);
  else if (mostInAll)
    most = std::min(most, *mostInAll - prompt);
  return std::max<int64_t>(most, 0);
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
  if (auto found = tasks.find(task); found != tasks.end())
    tokens.push_back(found->second);
  else if (translates)
    return usageError("--task: expected transcribe, the only one, found translate");
  if (!timestamps)
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
