//===- TokenizerSettings.cpp - Tokenizer settings of a folder -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Tokenizers/TokenizerSettings.h"

#include "heddle/Tokenizers/FolderFiles.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <charconv>

namespace heddle::tokenizers {

namespace {

constexpr const char *addedTokensKey = "added_tokens_decoder";
/// Two names of the same list; Transformers 5 writes the second.
constexpr const char *extraKeys[] = {"additional_special_tokens", "extra_special_tokens"};
constexpr const char *namedTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};

/// Keys that Heddle follows: here, in tokenizer classes, in chat templates, or in folder import.
constexpr const char *followedKeys[] = {
    "add_bos_token",
    "add_eos_token",
    "add_prefix_space",
    "added_tokens_decoder",
    "auto_map",
    "chat_template",
    "clean_up_tokenization_spaces",
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
    "do_lower_case",
    "extra_ids",
    "extra_special_tokens",
    "additional_special_tokens",
    "keep_accents",
    "language_codes",
    "legacy",
    "legacy_behaviour",
    "mask_token_sent",
    "max_len",
    "model_input_names",
    "model_max_length",
    "model_specific_special_tokens",
    "offset",
    "remove_space",
    "separate_vocabs",
    "split_by_punct",
    "split_special_tokens",
    "src_lang",
    "strip_accents",
    "subword_tokenizer_type",
    "tokenize_chinese_chars",
    "tokenizer_class",
    "truncation_side",
    "word_tokenizer_type"};

/// Keys that do not change results. They hold names of files and versions, padding (rows are not
/// padded) or training settings, or the Rust tokenizers of Transformers 4 and 5 do not read them.
constexpr const char *harmlessKeys[] = {"__version__",
                                        "_commit_hash",
                                        "additional_special_tokens_ids",
                                        "backend",
                                        "chat_control_tokens",
                                        "device_map",
                                        "do_basic_tokenize",
                                        "errors",
                                        "fast_tokenizer_files",
                                        "files_loaded",
                                        "from_slow",
                                        "full_tokenizer_file",
                                        "init_inputs",
                                        "is_fast",
                                        "is_local",
                                        "local_files_only",
                                        "max_length",
                                        "mecab_kwargs",
                                        "name_or_path",
                                        "never_split",
                                        "num_madeup_words",
                                        "pad_to_multiple_of",
                                        "pad_token_type_id",
                                        "padding",
                                        "padding_side",
                                        "processor_class",
                                        "response_schema",
                                        "response_template",
                                        "return_token_type_ids",
                                        "single_word",
                                        "sp_model_kwargs",
                                        "spaces_between_special_tokens",
                                        "special_tokens_map_file",
                                        "stride",
                                        "target_lang",
                                        "target_vocab_file",
                                        "tgt_lang",
                                        "tokenizer_file",
                                        "tokenizer_object",
                                        "torch_dtype",
                                        "transformers_version",
                                        "trim_offsets",
                                        "trim_content",
                                        "truncation",
                                        "truncation_strategy",
                                        "trust_remote_code",
                                        "unk_id",
                                        "use_default_system_prompt",
                                        "use_fast",
                                        "verbose",
                                        "vocab_file",
                                        "vocab_size",
                                        "vocab_type"};

bool contains(auto &list, const std::string &word) {
  return std::ranges::find(list, word) != std::end(list);
}

std::optional<int64_t> parseId(const std::string &text) {
  int64_t id = 0;
  const char *end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, id);
  const bool isId = failure == std::errc() && rest == end && id >= 0 && id <= INT32_MAX;
  return isId ? std::optional(id) : std::nullopt;
}

/// The text of a key; empty if there is none.
std::string textAt(const Json &json, const char *key) {
  auto at = json.find(key);
  const auto *text = at == json.end() ? nullptr : at->get_ptr<const std::string *>();
  return text ? *text : std::string();
}

/// The elements of a list of tokens, or of an object of named tokens.
std::vector<const Json *> listed(const Json &tokens) {
  std::vector<const Json *> list;
  if (tokens.is_array() || tokens.is_object())
    for (const Json &token : tokens)
      list.push_back(&token);
  return list;
}

} // namespace

bool namesToken(const std::string &key) { return key.ends_with("_token"); }

Json FolderToken::toJson() const {
  return {{"content", content},  {"special", isSpecial}, {"normalized", isNormalized},
          {"lstrip", leftStrip}, {"rstrip", rightStrip}, {"single_word", singleWord}};
}

FolderToken TokenizerSettings::tokenOf(const Json &value) const {
  FolderToken token{.content = *tokenText(value)};
  const auto known = std::ranges::find(added, token.content, &FolderToken::content);
  if (known != added.end()) {
    token = *known;
    token.isSpecial = true;
    return token;
  }
  auto flag = [&](const char *key, bool otherwise) {
    const Json given = value.is_object() ? value.value(key, Json()) : Json();
    return given.is_boolean() ? given.get<bool>() : otherwise;
  };
  token.isNormalized = flag("normalized", false);
  token.leftStrip = flag("lstrip", false);
  token.rightStrip = flag("rstrip", false);
  token.singleWord = flag("single_word", false);
  return token;
}

std::optional<FolderToken> TokenizerSettings::special(const std::string &key) const {
  auto at = config.find(key);
  if (at == config.end() || !tokenText(*at))
    return std::nullopt;
  return tokenOf(*at);
}

std::string TokenizerSettings::specialText(const std::string &key,
                                           const std::string &otherwise) const {
  const auto token = special(key);
  return token ? token->content : otherwise;
}

bool TokenizerSettings::isNull(const std::string &key) const {
  return config.contains(key) && config[key].is_null();
}

bool TokenizerSettings::isPassedOver(const std::string &key) const {
  const auto extra = config.find(extraKeys[1]);
  return key == extraKeys[0] && extra != config.end() && extra->is_array() && !extra->empty();
}

std::vector<std::string> TokenizerSettings::passedOverTokens() const {
  std::vector<std::string> texts;
  const auto given = config.find(extraKeys[0]);
  if (given == config.end() || !isPassedOver(extraKeys[0]))
    return texts;
  for (const Json *token : listed(*given))
    if (const std::string *text = tokenText(*token))
      texts.push_back(*text);
  return texts;
}

bool TokenizerSettings::listsTokens(const Json &config) {
  const auto extra = config.find(extraKeys[1]);
  if (extra != config.end() && !extra->is_object())
    return true;
  return config.contains(extraKeys[0]) && (extra == config.end() || extra->empty());
}

bool TokenizerSettings::isListedInMap(const std::string &content) const {
  return contains(listedInMap, content) && !isNamedSpecial(content);
}

std::vector<FolderToken> TokenizerSettings::specialTokens(const DefaultTokens &defaults) const {
  std::vector<FolderToken> tokens;
  auto isNew = [&](const std::string &text) {
    return !text.empty() && std::ranges::find(tokens, text, &FolderToken::content) == tokens.end();
  };
  auto add = [&](const Json &value) {
    if (const std::string *text = tokenText(value); text && isNew(*text))
      tokens.push_back(tokenOf(value));
  };
  for (const char *key : namedTokens) {
    if (auto at = config.find(key); at != config.end()) {
      add(*at);
      continue;
    }
    for (const auto &[name, token] : defaults)
      if (name == std::string_view(key) && isNew(token.content))
        tokens.push_back(token);
  }
  for (const auto &[key, value] : config.items())
    if (namesToken(key) && !contains(namedTokens, key))
      add(value);
  // Transformers 5 takes the tokens of an object before those of a list.
  std::vector<const char *> lists = {extraKeys[0], extraKeys[1], "model_specific_special_tokens"};
  std::ranges::stable_partition(lists, [&](const char *key) {
    const auto at = config.find(key);
    return at != config.end() && at->is_object();
  });
  for (const char *key : lists)
    if (auto at = config.find(key); at != config.end() && !isPassedOver(key))
      for (const Json *token : listed(*at))
        add(*token);
  for (const auto &[key, token] : defaults)
    if (key == std::string_view(extraKeys[0]) && !listsTokens(config) && isNew(token.content))
      tokens.push_back(token);
  return tokens;
}

//===- Files ---------------------------------------------------------------===//

std::vector<std::string> TokenizerSettings::gatherFiles(const Json &json, const std::string &path) {
  std::vector<std::string> further;
  for (const auto &[key, value] : json.items()) {
    if (const std::string *text = namesToken(key) ? tokenText(value) : nullptr)
      namedIn.emplace(*text, path);
    if (contains(extraKeys, key))
      for (const Json *token : listed(value))
        if (const std::string *text = tokenText(*token)) {
          namedIn.emplace(*text, path);
          further.push_back(*text);
        }
  }
  return further;
}

/// True if a token of added_tokens.json is special: a key such as bos_token names it in either
/// file, or a list in tokenizer_config.json has it. As in Transformers 5, lists in
/// special_tokens_map.json do not count.
bool TokenizerSettings::isNamedSpecial(const std::string &content) const {
  auto isIt = [&](const Json &value) {
    const std::string *text = tokenText(value);
    return text && *text == content;
  };
  for (const char *key : namedTokens)
    if (auto at = config.find(key); at != config.end() && isIt(*at))
      return true;
  return std::ranges::find(listedFirst, content) != listedFirst.end();
}

/// Merges special_tokens_map.json over tokenizer_config.json, unless that has added_tokens_decoder.
/// Later versions of Transformers write this key and read tokenizer_config.json alone.
Status TokenizerSettings::mergeSpecialTokens() {
  const std::string path = (root / "special_tokens_map.json").string();
  const Json map = HEDDLE_TRY(readObject(path));
  listedFirst = gatherFiles(config, file);
  listsFirst = listsTokens(config);
  const std::vector<std::string> mapped = gatherFiles(map, path);
  if (config.contains(addedTokensKey))
    return {};
  listedInMap = mapped;
  for (const auto &[key, value] : map.items()) {
    Json &place = config[key];
    if (!contains(extraKeys, key) || !place.is_array() || !value.is_array()) {
      place = value;
      continue;
    }
    for (const Json &token : value)
      if (std::ranges::find(place, token) == place.end())
        place.push_back(token);
  }
  return {};
}

Status TokenizerSettings::readAddedTokens() {
  auto hasText = [](const Json &value) {
    const std::string *text = tokenText(value);
    return text && !text->empty();
  };
  if (auto own = field().find(addedTokensKey)) {
    HEDDLE_TRY(own->checkObject());
    for (const auto &[id, value] : own->value().items()) {
      const auto number = parseId(id);
      if (!hasText(value) || !number)
        return own->expected("tokens by their ids");
      FolderToken token = tokenOf(value);
      token.id = number;
      const Json special = value.is_object() ? value.value("special", Json(false)) : Json(false);
      token.isSpecial = special == true;
      // The default of Hugging Face's AddedToken.
      if (!value.is_object() || !value.contains("normalized"))
        token.isNormalized = !token.isSpecial;
      added.push_back(std::move(token));
    }
  } else {
    const std::string path = (root / "added_tokens.json").string();
    const Json tokens = HEDDLE_TRY(readObject(path));
    for (const auto &[content, id] : tokens.items()) {
      FolderToken token{.content = content};
      token.id = HEDDLE_TRY(JsonField(id, path, content).number(0, INT32_MAX));
      token.isSpecial = isNamedSpecial(content);
      token.isNormalized = !token.isSpecial;
      if (!content.empty())
        added.push_back(std::move(token));
    }
  }
  std::ranges::stable_sort(added, {}, &FolderToken::id);
  return {};
}

Status TokenizerSettings::nameClass() {
  const std::string path = (root / "config.json").string();
  const Json model = HEDDLE_TRY(readObject(path));
  constexpr const char *key = "tokenizer_class";
  name = HEDDLE_TRY(field().textOr(key, ""));
  namedAt = file + ": " + key;
  if (name.empty()) {
    name = HEDDLE_TRY(JsonField(model, path).textOr(key, ""));
    namedAt = path + ": " + key;
  }
  type = textAt(model, "model_type");
  if (name.empty())
    namedAt = path + ": model_type";
  constexpr std::string_view fast = "Fast";
  if (name.ends_with(fast) && name != "PreTrainedTokenizerFast")
    name.resize(name.size() - fast.size());
  return {};
}

Expected<TokenizerSettings> TokenizerSettings::read(const std::filesystem::path &folder) {
  TokenizerSettings settings;
  settings.root = folder;
  settings.file = (folder / tokenizerConfigName).string();
  settings.config = HEDDLE_TRY(readObject(settings.file));
  HEDDLE_TRY(settings.mergeSpecialTokens());
  HEDDLE_TRY(settings.readAddedTokens());
  HEDDLE_TRY(settings.nameClass());
  return settings;
}

std::vector<std::string> TokenizerSettings::unknownKeys() const {
  std::vector<std::string> keys;
  for (const auto &[key, value] : config.items())
    if (!value.is_null() && !(key == "predict_timestamps" && value == false) && !namesToken(key) &&
        !contains(followedKeys, key) && !contains(harmlessKeys, key))
      keys.push_back(key);
  return keys;
}

} // namespace heddle::tokenizers
