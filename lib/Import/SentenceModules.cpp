//===- SentenceModules.cpp - modules.json of a folder ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module is a type (`sentence_transformers.models.Pooling`) and a folder with a
// config.json of its own.

#include "SentenceModules.h"

#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

static Expected<Json> readObject(const std::string &path, std::vector<std::string> &files) {
  files.push_back(path);
  return readJsonObject(path);
}

/// Warns of keys that are neither read nor known to change nothing; "a*" is any key that begins so.
static void warnOfOthers(const Json &config, const std::string &path,
                         std::initializer_list<llvm::StringRef> known, SentenceModules &modules) {
  std::vector<std::string> others;
  for (const auto &[key, value] : config.items())
    if (!value.is_null() &&
        !llvm::any_of(known, [key = llvm::StringRef(key)](llvm::StringRef word) {
          return word.consume_back("*") ? key.starts_with(word) : key == word;
        }))
      others.push_back(quotedText(key));
  if (!others.empty())
    modules.warnings.push_back(path + ": expected only " + listText(known, &llvm::StringRef::str) +
                               ", found " + firstText(others, 5));
}

namespace {
/// A pooling by its key in the configuration, and as the value of `pooling_mode`; without a word of
/// ours it is not supported.
struct PoolingMode {
  const char *key, *mode, *word;
};
} // namespace

/// In the order in which their vectors stand side by side.
static constexpr PoolingMode poolings[] = {
    {"pooling_mode_cls_token", "cls", "cls"},
    {"pooling_mode_max_tokens", "max", "max"},
    {"pooling_mode_mean_tokens", "mean", "mean"},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", ""},
    {"pooling_mode_weightedmean_tokens", "weightedmean", "weighted-mean"},
    {"pooling_mode_lasttoken", "lasttoken", "last"},
};

static Expected<std::string> wordOf(const PoolingMode &pooling, const std::string &place,
                                    const char *found) {
  if (*pooling.word)
    return std::string(pooling.word);
  return inputError(place + ": expected another pooling, found " + found +
                    ", which is not supported yet");
}

/// `pooling_mode`: a word, or a list of them.
static Expected<std::vector<std::string>> namedPoolings(const Json &modes,
                                                        const std::string &path) {
  std::vector<std::string> words;
  for (const Json &mode : modes.is_array() ? modes : Json::array({modes})) {
    const auto *pooling =
        llvm::find_if(poolings, [&](const PoolingMode &known) { return mode == known.mode; });
    if (pooling == std::end(poolings))
      return inputError(path +
                        ": pooling_mode: expected cls, max, mean, weightedmean or "
                        "lasttoken, or a list of them, found " +
                        shown(mode));
    words.push_back(HEDDLE_TRY(wordOf(*pooling, path + ": pooling_mode", pooling->mode)));
  }
  return words;
}

/// Words of `encoder.pool`. Only the mean is on where its key is left out.
static Expected<std::vector<std::string>> poolingsOf(const Json &config, const std::string &path) {
  std::vector<std::string> words;
  if (Json modes = config.value("pooling_mode", Json()); !modes.is_null())
    words = HEDDLE_TRY(namedPoolings(modes, path));
  else
    for (const PoolingMode &pooling : poolings)
      if (config.value(pooling.key, Json(pooling.word == std::string_view("mean"))) == true)
        words.push_back(HEDDLE_TRY(wordOf(pooling, path + ": " + pooling.key, "true")));
  if (words.empty())
    return inputError(path + ": expected a pooling_mode that is true, found none");
  return words;
}

/// A linear layer as a stage of `encoder.output`; activations by the class of PyTorch.
static Expected<Json> denseOf(const Json &config, const std::string &path) {
  static constexpr std::pair<const char *, const char *> activations[] = {
      {"Identity", nullptr}, {"Tanh", "tanh"}, {"ReLU", "relu"},
      {"GELU", "gelu"},      {"SiLU", "silu"}, {"Sigmoid", "sigmoid"}};
  Json size = config.value("out_features", Json());
  if (!size.is_number_integer())
    return inputError(path + ": out_features: expected a number, found " + shown(size));
  Json bias = config.value("bias", Json(true));
  if (!bias.is_boolean())
    return inputError(path + ": bias: expected true or false, found " + shown(bias));
  Json dense = {{"size", size}, {"bias", bias}};
  Json name = config.value("activation_function", Json("Tanh"));
  llvm::StringRef last =
      name.is_string() ? llvm::StringRef(name.get_ref<const std::string &>()).rsplit('.').second
                       : llvm::StringRef();
  if (last.empty() && name.is_string())
    last = name.get_ref<const std::string &>();
  for (const auto &[torch, word] : activations)
    if (last == torch) {
      if (word)
        dense["activation"] = word;
      return Json{{"dense", dense}};
    }
  return inputError(path +
                    ": activation_function: expected Identity, Tanh, ReLU, GELU, SiLU or "
                    "Sigmoid, found " +
                    shown(name));
}

/// A number of a token, or none.
static Expected<std::optional<int64_t>> tokenOf(const Json &config, const char *key,
                                                const std::string &path) {
  const Json token = config.value(key, Json());
  if (token.is_null())
    return std::optional<int64_t>();
  if (!token.is_number_integer())
    return inputError(path + ": " + key + ": expected the id of a token, found " + shown(token));
  return std::optional(token.get<int64_t>());
}

static Expected<LogitScore> scoreOf(const Json &config, const std::string &path) {
  LogitScore score{.file = path};
  const auto yes = HEDDLE_TRY(tokenOf(config, "true_token_id", path));
  if (!yes)
    return inputError(path + ": true_token_id: expected the id of a token, found none");
  score.yes = *yes;
  score.no = HEDDLE_TRY(tokenOf(config, "false_token_id", path));
  if (const Json input = config.value("module_input_name", Json("causal_logits"));
      input != "causal_logits")
    return inputError(path + ": module_input_name: expected causal_logits, found " + shown(input));
  return score;
}

/// Adds one module behind the model.
static Status addModule(llvm::StringRef type, const std::string &folder, SentenceModules &modules,
                        std::vector<std::string> &files) {
  std::string path = configPath(folder);
  if (modules.score)
    return inputError("type: expected no module behind LogitScore, found " +
                      quotedText(type.str()));
  if (type == "LogitScore") {
    if (!modules.pool.empty() || !modules.output.empty())
      return inputError("type: expected LogitScore behind the Transformer, found it behind another "
                        "module");
    Json config = HEDDLE_TRY(readObject(path, files));
    warnOfOthers(config, path, {"true_token_id", "false_token_id", "module_input_name"}, modules);
    modules.score = HEDDLE_TRY(scoreOf(config, path));
  } else if (type == "Normalize") {
    modules.output.push_back("normalize");
  } else if (type == "Dense") {
    Json config = HEDDLE_TRY(readObject(path, files));
    warnOfOthers(config, path,
                 {"in_features", "out_features", "bias", "activation_function", "module_*"},
                 modules);
    modules.folders[modules.output.size()] = folder;
    modules.output.push_back(HEDDLE_TRY(denseOf(config, path)));
  } else if (type == "Pooling") {
    if (!modules.pool.empty() || !modules.output.empty())
      return inputError("type: expected one Pooling, before Dense and Normalize, found it behind "
                        "another module");
    Json config = HEDDLE_TRY(readObject(path, files));
    warnOfOthers(
        config, path,
        {"word_embedding_dimension", "embedding_dimension", "pooling_mode*", "include_prompt"},
        modules);
    modules.pool = HEDDLE_TRY(poolingsOf(config, path));
    const Json prompt = config.value("include_prompt", Json(true));
    if (!prompt.is_boolean())
      return inputError(path + ": include_prompt: expected true or false, found " + shown(prompt));
    modules.promptIsPooled = prompt == true;
  } else if (type != "Dropout") { // which does nothing but in training
    return inputError("type: expected Transformer, Pooling, Dense, Normalize, LogitScore or "
                      "Dropout, found " +
                      quotedText(type.str()) + ", which is not supported");
  }
  return {};
}

static Status readLongest(const std::string &folder, SentenceModules &modules,
                          std::vector<std::string> &files) {
  std::string path = (fs::path(folder) / "sentence_bert_config.json").string();
  if (std::error_code none; !fs::exists(path, none))
    return {};
  Json config = HEDDLE_TRY(readObject(path, files));
  // The others say which of Transformers' classes and inputs the folder is for, as config.json does.
  warnOfOthers(config, path,
               {"max_seq_length", "do_lower_case", "transformer_task", "modality_config",
                "module_output_name", "unpad_inputs"},
               modules);
  modules.ofHead = config.value("transformer_task", Json()) == "sequence-classification";
  if (const Json lower = config.value("do_lower_case", Json(false)); lower != false)
    modules.warnings.push_back(path + ": do_lower_case: expected false, found " + shown(lower) +
                               ": letters become small by the tokenizer alone");
  Json longest = config.value("max_seq_length", Json());
  if (longest.is_null())
    return {};
  if (!longest.is_number_integer() || longest < 1)
    return inputError(path + ": max_seq_length: expected a number above 0, found " +
                      shown(longest));
  modules.longest = longest.get<int64_t>();
  return {};
}

Expected<std::optional<SentenceModules>>
heddle::readSentenceModules(const std::string &folder, std::vector<std::string> &files) {
  std::string path = (fs::path(folder) / "modules.json").string();
  if (std::error_code none; !fs::exists(path, none))
    return std::optional<SentenceModules>();
  files.push_back(path);
  Json list = HEDDLE_TRY(readJsonFile(path));
  if (!list.is_array() || list.empty())
    return inputError(path + ": expected a list of modules, found " + shown(list));
  SentenceModules modules;
  for (const auto &[index, module] : llvm::enumerate(list)) {
    std::string place = path + ": " + std::to_string(index) + ": ";
    if (!module.is_object() || !module.value("type", Json()).is_string() ||
        !module.value("path", Json("")).is_string())
      return inputError(place + "expected an object with a type and a path, found " +
                        shown(module));
    llvm::StringRef type = module["type"].get_ref<const std::string &>();
    type = type.rsplit('.').second;
    // A hostile list must not name folders elsewhere.
    if (!staysInFolder(module.value("path", "")))
      return inputError(place + "path: expected a folder in this one, found " +
                        quotedText(module.value("path", "")));
    std::string inner = (fs::path(folder) / module.value("path", "")).lexically_normal().string();
    if (index == 0) {
      if (type != "Transformer" || !module.value("path", "").empty())
        return inputError(place + "expected the type Transformer with an empty path first, found " +
                          shown(module));
      HEDDLE_TRY(readLongest(folder, modules, files));
      continue;
    }
    if (Status added = addModule(type, inner, modules, files); !added)
      return inputError((added.error().message.starts_with("type") ? place : "") +
                        added.error().message);
  }
  if (modules.ofHead && modules.pool.empty() && modules.output.empty() && !modules.score)
    return std::optional<SentenceModules>();
  if (modules.pool.empty() && !modules.score)
    return inputError(path + ": expected a module Pooling or LogitScore, found none");
  return std::optional(std::move(modules));
}
