//===- FolderLanguages.cpp - Languages and tasks of a folder --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placement of language tokens, by family, for a German source and an English target:
//   mBART       A </s> de_DE          the decoder starts with the target language
//   mBART-50    de_DE A </s>          the target language is the first token
//   M2M-100     __de__ A </s>         as mBART-50
//   NLLB        deu_Latn A </s>       as mBART-50
//   Marian      >>eng<< A </s>        the target language precedes the source

#include "FolderLanguages.h"

#include "GenerationConfig.h"

#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

using namespace heddle;
using llvm::StringRef;

namespace {

/// Spelling of language tokens in one family.
struct Spelling {
  StringRef modelType, before, behind;
  /// Number of letters of the language and of the part after `_`; 0: any.
  size_t letters, rest;
};

constexpr Spelling spellings[] = {
    {"mbart", "", "", 2, 2},
    {"m2m_100", "__", "__", 0, 0},
    {"m2m_100", "", "", 3, 4},
    {"marian", ">>", "<<", 0, 0},
};

} // namespace

/// Parses a token as a language.
static std::optional<std::string> languageOf(const Spelling &spelling, StringRef token) {
  if (!token.consume_front(spelling.before) || !token.consume_back(spelling.behind) ||
      token.empty())
    return std::nullopt;
  if (spelling.letters > 0) {
    auto [language, rest] = token.split('_');
    if (language.size() != spelling.letters || rest.size() != spelling.rest ||
        !llvm::all_of(language, llvm::isLower) || !llvm::all_of(rest, llvm::isAlpha))
      return std::nullopt;
  }
  return token.str();
}

/// Names of languages and the ids of their tokens.
static std::vector<std::pair<std::string, int32_t>> languagesOf(const Tokenizer &tokenizer,
                                                                const Json &modelType) {
  std::vector<std::pair<std::string, int32_t>> tokens;
  for (const Spelling &spelling : spellings) {
    // Ids may have gaps.
    for (int64_t id = 0, found = 0; modelType == spelling.modelType.str() &&
                                    found < tokenizer.size() && id < 2 * tokenizer.size();
         ++id) {
      std::optional<std::string> token = tokenizer.idToToken(static_cast<int32_t>(id));
      found += token.has_value();
      // Marian's language tokens are ordinary tokens of its vocabulary.
      if (!token || (modelType != "marian" && !tokenizer.isSpecial(static_cast<int32_t>(id))))
        continue;
      if (std::optional<std::string> language = languageOf(spelling, *token))
        tokens.emplace_back(*language, static_cast<int32_t>(id));
    }
    if (!tokens.empty())
      break;
  }
  return tokens;
}

/// Position at which the tokenizer puts the language of a text; negative if it puts none.
static Expected<int64_t> placeOf(const Tokenizer &tokenizer, const Languages &languages) {
  TokenEncoding around = HEDDLE_TRY(tokenizer.encode("a", {}, "a text"));
  for (size_t i = 0; i < around.size(); ++i)
    if (around.special[i] &&
        llvm::is_contained(llvm::make_second_range(languages.tokens), around.ids[i]))
      return static_cast<int64_t>(i);
  return -1;
}

Status heddle::addLanguages(const Json &config, Description &description) {
  auto member = description.source ? description.texts.find(description.source->tokenizerFile)
                                   : description.texts.end();
  const Json type = config.value("model_type", Json());
  if (!description.isEncoderDecoder() || member == description.texts.end() ||
      llvm::none_of(spellings, [&](const Spelling &s) { return type == s.modelType.str(); }))
    return {};
  Tokenizer tokenizer = HEDDLE_TRY(Tokenizer::fromJson(member->second, member->first));
  Languages languages{.tokens = languagesOf(tokenizer, type)};
  if (languages.tokens.empty())
    return {};
  const int64_t place = HEDDLE_TRY(placeOf(tokenizer, languages));
  languages.wanted = type == "marian"               ? Languages::Wanted::Front
                     : type == "mbart" && place > 0 ? Languages::Wanted::Start
                                                    : Languages::Wanted::First;
  languages.namesSource = place >= 0;
  description.facts.languages = std::move(languages);
  return {};
}

Status heddle::addTasks(const std::string &folder, const Json &config, Description &description) {
  const Json tasks = config.value("task_specific_params", Json());
  if (!description.isEncoderDecoder() || tasks.is_null())
    return {};
  const std::string path = configPath(folder) + ": task_specific_params: ";
  if (!tasks.is_object())
    return inputError(path + "expected an object, found " + shown(tasks));
  const Json usual = config.value("prefix", Json());
  for (const auto &[name, settings] : tasks.items()) {
    if (!settings.is_object())
      return inputError(path + name + ": expected an object, found " + shown(settings));
    const Json prefix = settings.value("prefix", usual);
    if (!prefix.is_string() && !prefix.is_null())
      return inputError(path + name + ".prefix: expected a text, found " + shown(prefix));
    TextTask &task = description.facts.tasks.emplace_back();
    task.name = name;
    task.prefix = prefix.is_null() ? "" : prefix.get<std::string>();
    task.generation =
        HEDDLE_TRY(taskGeneration(folder, config, settings, path + name, description.target->size));
  }
  return {};
}
