//===- TokenVectors.cpp - Folders with a vector a token -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules follow MultiVectorEncoder of Sentence-Transformers 6, which reads the folders of PyLate
// too.

#include "TokenVectors.h"

#include "SentenceModules.h"

#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/FolderFiles.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include "llvm/ADT/STLExtras.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

static Status readLength(const Json &config, const char *key, const std::string &path,
                         std::optional<int64_t> &length) {
  const Json value = config.value(key, Json());
  if (value.is_null())
    return {};
  if (!value.is_number_integer() || value < 1)
    return inputError(path + ": " + key + ": expected a number above 0, found " + shown(value));
  length = value.get<int64_t>();
  return {};
}

/// Reads a key that is true or false.
static Status readFlag(const Json &config, const char *key, const std::string &path, bool &flag) {
  const Json value = config.value(key, Json());
  if (value.is_null())
    return {};
  if (!value.is_boolean())
    return inputError(path + ": " + key + ": expected true or false, found " + shown(value));
  flag = value.get<bool>();
  return {};
}

static Expected<std::vector<std::string>> wordsOf(const Json &list, const std::string &place) {
  if (!list.is_array() || !llvm::all_of(list, [](const Json &word) { return word.is_string(); }))
    return inputError(place + ": expected a list of texts, found " + shown(list));
  return list.get<std::vector<std::string>>();
}

/// Reads the tokens that are added to queries.
static Status readExpansion(const Json &config, const std::string &file, TokenSettings &settings) {
  const Json expansion = config.value("query_expansion", Json());
  if (expansion.is_null())
    return {};
  const std::string path = file + ": query_expansion";
  if (!expansion.is_object())
    return inputError(path + ": expected an object, found " + shown(expansion));
  if (expansion.value("strategy", Json()) != "fixed")
    return inputError(path + ".strategy: expected fixed, found " +
                      shown(expansion.value("strategy", Json())));
  HEDDLE_TRY(readLength(expansion, "length", path, settings.expandedLength));
  if (!settings.expandedLength)
    return inputError(path + ".length: expected a number above 0, found none");
  HEDDLE_TRY(readFlag(expansion, "attend", path, settings.seesAdded));
  const Json token = expansion.value("token", Json());
  if (!token.is_null() && !token.is_string())
    return inputError(path + ".token: expected a token, found " + shown(token));
  if (token.is_string())
    settings.added = token.get<std::string>();
  return {};
}

Status heddle::readTokenSettings(const Json &config, const std::string &path,
                                 TokenSettings &settings) {
  HEDDLE_TRY(readLength(config, "query_length", path, settings.queryLength));
  HEDDLE_TRY(readLength(config, "document_length", path, settings.documentLength));
  HEDDLE_TRY(readExpansion(config, path, settings));
  if (const Json words = config.value("skiplist_words", Json()); !words.is_null())
    settings.skipped = HEDDLE_TRY(wordsOf(words, path + ": skiplist_words"));
  if (const Json tasks = config.value("skiplist_tasks", Json()); !tasks.is_null()) {
    for (const std::string &task : HEDDLE_TRY(wordsOf(tasks, path + ": skiplist_tasks")))
      if (task == "query")
        settings.skipsInQueries = true;
      else if (task != "document")
        return inputError(path + ": skiplist_tasks: expected query and document, found " +
                          quotedText(task));
    if (llvm::none_of(tasks, [](const Json &task) { return task == "document"; }))
      return inputError(path + ": skiplist_tasks: expected document among them, found " +
                        shown(tasks));
  }
  if (const Json kept = config.value("keep_only_token_ids", Json()); !kept.is_null())
    return inputError(path + ": keep_only_token_ids: expected null, found " + shown(kept) +
                      ", which is not supported");
  return {};
}

/// ASCII characters that are neither letters nor digits nor blanks, which PyLate skips.
static std::vector<std::string> punctuation() {
  std::vector<std::string> words;
  for (char c : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
    words.emplace_back(1, c);
  return words;
}

Status heddle::readPylate(const std::string &folder, SentenceModules &modules,
                          std::vector<std::string> &files) {
  const std::string path = (fs::path(folder) / "config_sentence_transformers.json").string();
  if (!isThere(path))
    return {};
  const Json config = HEDDLE_TRY(readJsonObject(path));
  constexpr const char *keys[] = {
      "query_length", "document_length", "do_query_expansion", "attend_to_expansion_tokens",
      "query_prefix", "document_prefix", "skiplist_words"};
  const bool isOfPylate = config.value("model_type", Json()) == "ColBERT";
  if (!isOfPylate && !(modules.perToken &&
                       llvm::any_of(keys, [&](const char *key) { return config.contains(key); })))
    return {};
  files.push_back(path);
  modules.perToken = true;
  TokenSettings &settings = modules.tokens;
  HEDDLE_TRY(readTokenSettings(config, path, settings));
  bool expands = true;
  HEDDLE_TRY(readFlag(config, "do_query_expansion", path, expands));
  HEDDLE_TRY(readFlag(config, "attend_to_expansion_tokens", path, settings.seesAdded));
  constexpr int64_t usualLength = 32;
  if (expands && !settings.expandedLength)
    settings.expandedLength = settings.queryLength.value_or(usualLength);
  for (const char *name : {"query", "document"})
    if (const Json prefix = config.value(std::string(name) + "_prefix", Json()); prefix.is_string())
      settings.prefixes.emplace_back(name, prefix.get<std::string>());
    else if (!prefix.is_null())
      return inputError(path + ": " + name + "_prefix: expected a text, found " + shown(prefix));
  if (!isOfPylate)
    return {};
  if (!settings.skipped)
    settings.skipped = punctuation();
  if (modules.output.empty() || modules.output.back() != "normalize")
    modules.output.push_back("normalize");
  return {};
}

static Expected<std::optional<Tokenizer>> tokenizerOf(const Description &of) {
  auto member = of.source ? of.texts.find(of.source->tokenizerFile) : of.texts.end();
  if (member == of.texts.end())
    return std::optional<Tokenizer>();
  return std::optional(HEDDLE_TRY(Tokenizer::fromJson(member->second, member->first)));
}

Expected<std::optional<int32_t>> heddle::maskTokenOf(const std::string &folder,
                                                     const Description &of,
                                                     std::vector<std::string> &files) {
  const std::optional<Tokenizer> tokenizer = HEDDLE_TRY(tokenizerOf(of));
  if (!tokenizer)
    return std::optional<int32_t>();
  std::vector<std::string> names;
  for (const char *file : {tokenizers::tokenizerConfigName, "special_tokens_map.json"}) {
    const std::string path = (fs::path(folder) / file).string();
    if (!isThere(path))
      continue;
    const Json json = HEDDLE_TRY(readJsonObject(path));
    files.push_back(path);
    const Json token = json.value("mask_token", Json());
    if (const std::string *text = tokenizers::tokenText(token))
      names.push_back(*text);
  }
  names.insert(names.end(), {"[MASK]", "<mask>"});
  for (const std::string &name : names)
    if (std::optional<int32_t> id = tokenizer->tokenToId(name))
      return id;
  return std::optional<int32_t>();
}

/// Makes a token special in the text of a tokenizer.json, so that no step before the model splits it.
static std::string withSpecial(const std::string &tokenizer, const std::string &token, int32_t id) {
  Json json = Json::parse(tokenizer); // the tokenizer was read from it
  Json &added = json["added_tokens"];
  if (!added.is_array())
    added = Json::array();
  auto found =
      llvm::find_if(added, [&](const Json &entry) { return entry.value("content", "") == token; });
  if (found == added.end()) {
    added.push_back({{"id", id}, {"content", token}});
    found = std::prev(added.end());
  }
  for (const char *key : {"single_word", "lstrip", "rstrip", "normalized"})
    (*found)[key] = false;
  (*found)["special"] = true;
  return json.dump();
}

/// Keeps a prefix whole that is a token of the vocabulary, or begins with one: PyLate adds its id to
/// texts.
static Status keepPrefix(const std::string &whole, Description &description) {
  const Tokenizer tokenizer = *HEDDLE_TRY(tokenizerOf(description));
  for (const std::string &prefix : {whole, whole.substr(0, whole.find(' '))}) {
    const std::optional<int32_t> id = tokenizer.tokenToId(prefix);
    if (!id)
      continue;
    const TokenEncoding tokens = HEDDLE_TRY(tokenizer.encode(prefix, {.specialTokens = false}));
    std::string &member = description.texts[description.source->tokenizerFile];
    if (tokens.ids != std::vector<int32_t>{*id})
      member = withSpecial(member, prefix, *id);
    return {};
  }
  return {};
}

/// Limits queries and documents. A query has no more rows than the model has positions.
static Status limitTokens(const std::string &place, const TokenSettings &settings,
                          TokenVectorFacts &facts, Description &description) {
  std::optional<int64_t> &most = description.source->most;
  facts.queryLength = settings.expandedLength ? settings.expandedLength : settings.queryLength;
  if (facts.queryLength && facts.queryLength > most.value_or(*facts.queryLength))
    return inputError(place + ": expected queries of at most " + std::to_string(*most) +
                      " tokens, the positions of the model, found " +
                      std::to_string(*facts.queryLength));
  if (settings.documentLength)
    most = std::min(most.value_or(*settings.documentLength), *settings.documentLength);
  return {};
}

Status heddle::addTokenVectors(const std::string &folder, const std::string &place,
                               const TokenSettings &settings, Description &description) {
  const std::optional<Tokenizer> tokenizer = HEDDLE_TRY(tokenizerOf(description));
  if (!tokenizer)
    return {};
  TokenVectorFacts &facts = description.facts.perToken.emplace();
  for (const auto &[name, prefix] : settings.prefixes)
    if (!prefix.empty())
      HEDDLE_TRY(keepPrefix(prefix, description));
  std::vector<std::string> unknown;
  for (const std::string &word : settings.skipped.value_or(std::vector<std::string>()))
    if (std::optional<int32_t> id = tokenizer->tokenToId(word))
      facts.skipped.push_back(*id);
    else
      unknown.push_back(quotedText(word));
  if (!unknown.empty())
    description.warnings.push_back(place +
                                   ": skiplist_words: expected tokens of the tokenizer, found " +
                                   firstText(unknown, 5) + ", which are left out");
  facts.skipsInQueries = settings.skipsInQueries;
  facts.seesAdded = settings.seesAdded;
  HEDDLE_TRY(limitTokens(place, settings, facts, description));
  if (!settings.expandedLength)
    return {};
  facts.added = settings.added ? tokenizer->tokenToId(*settings.added)
                               : HEDDLE_TRY(maskTokenOf(folder, description, description.files));
  if (!facts.added)
    return inputError(configPath(folder) + ": expected a tokenizer with the token " +
                      settings.added.value_or("[MASK]") +
                      ", which is added to queries, found none");
  return {};
}
