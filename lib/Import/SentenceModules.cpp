//===- SentenceModules.cpp - modules.json of a folder ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module has a type (`sentence_transformers.models.Pooling`) and a folder with its own
// config.json.

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

/// Warns of keys that are neither read nor harmless; "a*" matches every key with that prefix.
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
/// A pooling: its older key, its value of `pooling_mode` and its word in `encoder.pool`.
struct PoolingMode {
  const char *key, *mode, *word;
};
} // namespace

/// In the order in which their vectors are concatenated.
static constexpr PoolingMode poolings[] = {
    {"pooling_mode_cls_token", "cls", "cls"},
    {"pooling_mode_max_tokens", "max", "max"},
    {"pooling_mode_mean_tokens", "mean", "mean"},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", "mean-sqrt"},
    {"pooling_mode_weightedmean_tokens", "weightedmean", "weighted-mean"},
    {"pooling_mode_lasttoken", "lasttoken", "last"},
};

/// Reads `pooling_mode`, a word or a list of words.
static Expected<std::vector<std::string>> namedPoolings(const Json &modes,
                                                        const std::string &path) {
  std::vector<std::string> words;
  for (const Json &mode : modes.is_array() ? modes : Json::array({modes})) {
    const auto *pooling =
        llvm::find_if(poolings, [&](const PoolingMode &known) { return mode == known.mode; });
    if (pooling == std::end(poolings))
      return inputError(path +
                        ": pooling_mode: expected cls, max, mean, mean_sqrt_len_tokens, "
                        "weightedmean or lasttoken, or a list of them, found " +
                        shown(mode));
    words.push_back(pooling->word);
  }
  return words;
}

/// Reads the words of `encoder.pool`. A missing older key is false; if no key is true, the pooling
/// is the mean.
static Expected<std::vector<std::string>> poolingsOf(const Json &config, const std::string &path) {
  std::vector<std::string> words;
  if (Json modes = config.value("pooling_mode", Json()); !modes.is_null())
    words = HEDDLE_TRY(namedPoolings(modes, path));
  else {
    for (const auto &[key, value] : config.items())
      if (llvm::StringRef(key).starts_with("pooling_mode_") && value == true &&
          llvm::none_of(poolings, [&](const PoolingMode &known) { return key == known.key; }))
        return inputError(path + ": " + printable(key) +
                          ": expected a pooling that Heddle has, found another one");
    for (const PoolingMode &pooling : poolings) {
      const Json chosen = config.value(pooling.key, Json(false));
      if (!chosen.is_boolean() && !chosen.is_null())
        return inputError(path + ": " + pooling.key + ": expected true or false, found " +
                          shown(chosen));
      if (chosen == true)
        words.push_back(pooling.word);
    }
  }
  if (words.empty())
    words.push_back("mean");
  return words;
}

/// Reads whether a stage takes the text's vector or those of its tokens.
static Status readPlace(const Json &config, const std::string &path, SentenceModules &modules) {
  for (const char *key : {"module_input_name", "module_output_name"}) {
    const Json place = config.value(key, Json());
    modules.perToken |= place == "token_embeddings";
    modules.perText |= place == "sentence_embedding";
    if (!place.is_null() && place != "token_embeddings" && place != "sentence_embedding")
      return inputError(path + ": " + key +
                        ": expected sentence_embedding or token_embeddings, found " + shown(place) +
                        ", which is not supported");
  }
  return {};
}

/// Reads a linear layer as a stage of `encoder.output`; activations are named by PyTorch classes.
static Expected<Json> denseOf(const Json &config, const std::string &path) {
  if (const Json residual = config.value("use_residual", Json(false)); residual != false)
    return inputError(path + ": use_residual: expected false, found " + shown(residual) +
                      ", which is not supported");
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
  Json name = config.value("activation_function", Json("torch.nn.modules.activation.Tanh"));
  const llvm::StringRef type =
      name.is_string() ? llvm::StringRef(name.get_ref<const std::string &>()) : llvm::StringRef();
  const llvm::StringRef last = type.starts_with("torch.") ? type.rsplit('.').second : "";
  for (const auto &[torch, word] : activations)
    if (last == torch) {
      if (word)
        dense["activation"] = word;
      return Json{{"dense", dense}};
    }
  return inputError(path +
                    ": activation_function: expected Identity, Tanh, ReLU, GELU, SiLU or "
                    "Sigmoid of torch, found " +
                    shown(name));
}

/// Reads a token id, or none.
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

/// Reads a pooling of logits to a sparse vector.
static Expected<SparseFacts> sparseOf(const Json &config, const std::string &path) {
  const Json strategy = config.value("pooling_strategy", Json("max"));
  if (strategy != "max" && strategy != "sum")
    return inputError(path + ": pooling_strategy: expected max or sum, found " + shown(strategy));
  const Json activation = config.value("activation_function", Json("relu"));
  if (activation != "relu" && activation != "log1p_relu")
    return inputError(path + ": activation_function: expected relu or log1p_relu, found " +
                      shown(activation));
  return SparseFacts{.sums = strategy == "sum", .logTwice = activation == "log1p_relu", .most = {}};
}

/// Adds a pooling of the model's rows.
static Status addPooling(const std::string &path, SentenceModules &modules,
                         std::vector<std::string> &files) {
  if (!modules.pool.empty() || !modules.output.empty() || modules.first != FirstModule::Transformer)
    return inputError("type: expected one Pooling, before Dense and Normalize, found it after "
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
  return {};
}

/// Adds one module after the model.
static Status addModule(llvm::StringRef type, const std::string &folder, SentenceModules &modules,
                        std::vector<std::string> &files) {
  std::string path = configPath(folder);
  if (modules.score || modules.sparse)
    return inputError(std::string("type: expected no module after ") +
                      (modules.score ? "LogitScore" : "SpladePooling") + ", found " +
                      quotedText(type.str()));
  if (type == "SpladePooling" && (!modules.pool.empty() || !modules.output.empty()))
    return inputError("type: expected SpladePooling after the Transformer, found it after another "
                      "module");
  if (type == "LogitScore") {
    if (!modules.pool.empty() || !modules.output.empty())
      return inputError("type: expected LogitScore after the Transformer, found it after another "
                        "module");
    Json config = HEDDLE_TRY(readObject(path, files));
    warnOfOthers(config, path, {"true_token_id", "false_token_id", "module_input_name"}, modules);
    modules.score = HEDDLE_TRY(scoreOf(config, path));
  } else if (type == "MultiVectorMask") {
    Json config = HEDDLE_TRY(readObject(path, files));
    warnOfOthers(config, path, {"skiplist_words", "skiplist_tasks", "keep_only_token_ids"},
                 modules);
    modules.perToken = true;
    HEDDLE_TRY(readTokenSettings(config, path, modules.tokens));
  } else if (type == "SpladePooling") {
    Json config = HEDDLE_TRY(readObject(path, files));
    warnOfOthers(config, path,
                 {"pooling_strategy", "activation_function", "word_embedding_dimension",
                  "embedding_dimension", "chunk_size"},
                 modules);
    modules.sparse = HEDDLE_TRY(sparseOf(config, path));
  } else if (type == "Normalize") {
    if (isThere(path)) {
      Json config = HEDDLE_TRY(readObject(path, files));
      warnOfOthers(config, path, {"module_input_name", "module_output_name"}, modules);
      HEDDLE_TRY(readPlace(config, path, modules));
    }
    modules.output.push_back("normalize");
  } else if (type == "Dense") {
    Json config = HEDDLE_TRY(readObject(path, files));
    warnOfOthers(config, path,
                 {"in_features", "out_features", "bias", "activation_function", "use_residual",
                  "module_input_name", "module_output_name"},
                 modules);
    HEDDLE_TRY(readPlace(config, path, modules));
    modules.folders[modules.output.size()] = folder;
    modules.output.push_back(HEDDLE_TRY(denseOf(config, path)));
  } else if (type == "Pooling") {
    HEDDLE_TRY(addPooling(path, modules, files));
  } else if (type != "Dropout") { // no effect at inference
    return inputError("type: expected Transformer, Pooling, Dense, Normalize, LogitScore, "
                      "SpladePooling, MultiVectorMask or Dropout, found " +
                      quotedText(type.str()) + ", which is not supported");
  }
  return {};
}

/// File names of model settings in versions 1 and 2.
static constexpr const char *modelSettings[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

/// Reads a token count; none if it is missing or means no limit.
static Expected<std::optional<int64_t>> lengthAt(const Json &config, const char *key,
                                                 const std::string &path) {
  const Json length = config.value(key, Json());
  // Transformers writes 1e30, as an integer or not, for no limit.
  constexpr double unlimited = 1e18;
  if (length.is_null() || (length.is_number() && length.get<double>() >= unlimited))
    return std::optional<int64_t>();
  if (!length.is_number_integer() || length < 1)
    return inputError(path + ": " + key + ": expected a number above 0, found " + shown(length));
  return std::optional(length.get<int64_t>());
}

Expected<std::optional<int64_t>> heddle::tokenizerLength(const std::string &folder) {
  const std::string path = (fs::path(folder) / "tokenizer_config.json").string();
  if (!isThere(path))
    return std::optional<int64_t>();
  const Json config = HEDDLE_TRY(readJsonObject(path));
  const char *key = config.contains("model_max_length") ? "model_max_length" : "max_len";
  return lengthAt(config, key, path);
}

/// Returns whether the model takes texts rather than chat messages.
static bool takesTexts(const Json &config) {
  const Json inputs = config.value("modality_config", Json());
  return !inputs.is_object() || inputs.contains("text");
}

/// Refuses an output of the model that its modules do not get here.
static Status checkOutput(const Json &config, const std::string &path) {
  const Json inputs = config.value("modality_config", Json());
  const Json text = inputs.is_object() ? inputs.value("text", Json()) : Json();
  if (!text.is_object() || text.value("method", Json("forward")) != "forward")
    return {};
  const Json output = text.value("method_output_name", Json());
  constexpr const char *known[] = {"last_hidden_state", "logits", "embeddings"};
  if (output.is_null() || std::ranges::find(known, output) != std::end(known))
    return {};
  return inputError(path +
                    ": modality_config.text.method_output_name: expected last_hidden_state, " +
                    "logits or embeddings, found " + shown(output));
}

/// The settings of a model of Transformers.
static Status readModelSettings(const std::string &folder, SentenceModules &modules,
                                std::vector<std::string> &files) {
  std::string path;
  for (const char *name : modelSettings)
    if (path.empty() && isThere(fs::path(folder) / name))
      path = (fs::path(folder) / name).string();
  if (path.empty())
    return {};
  Json config = HEDDLE_TRY(readObject(path, files));
  // The remaining keys select Transformers' classes and inputs, like config.json.
  warnOfOthers(config, path,
               {"max_seq_length", "do_lower_case", "transformer_task", "modality_config",
                "module_output_name", "unpad_inputs", "query_length", "document_length",
                "query_expansion"},
               modules);
  HEDDLE_TRY(readTokenSettings(config, path, modules.tokens));
  modules.ofHead = config.value("transformer_task", Json()) == "sequence-classification";
  modules.givesLogits |= config.value("transformer_task", Json()) == "fill-mask";
  const Json lower = config.value("do_lower_case", Json(false));
  if (!lower.is_boolean() && !lower.is_null())
    return inputError(path + ": do_lower_case: expected true or false, found " + shown(lower));
  modules.lowers = lower == true;
  const bool givesRows =
      config.value("transformer_task", Json("feature-extraction")) == "feature-extraction";
  if ((givesRows || modules.ofHead || modules.givesLogits) && !takesTexts(config))
    return inputError(path + ": modality_config: expected texts, found " +
                      shown(config["modality_config"]));
  HEDDLE_TRY(checkOutput(config, path));
  modules.longest = HEDDLE_TRY(lengthAt(config, "max_seq_length", path));
  return {};
}

/// Reads the length limit in tokenizer.json, which applies to a table of word vectors.
static Status readStaticLength(const std::string &folder, SentenceModules &modules) {
  const std::string path = (fs::path(folder) / "tokenizer.json").string();
  const Json tokenizer = HEDDLE_TRY(readJsonObject(path));
  if (const Json cut = tokenizer.value("truncation", Json()); cut.is_object())
    modules.longest = HEDDLE_TRY(lengthAt(cut, "max_length", path + ": truncation"));
  return {};
}

/// Reads the first module, which takes the texts.
static Status readFirst(llvm::StringRef type, const std::string &folder, SentenceModules &modules,
                        std::vector<std::string> &files) {
  modules.modelFolder = folder;
  modules.givesLogits = type == "MLMTransformer";
  if (type == "Transformer" || modules.givesLogits)
    return readModelSettings(folder, modules, files);
  if (type == "CLIPModel") {
    modules.first = FirstModule::Clip;
    return {};
  }
  if (type == "StaticEmbedding") {
    modules.first = FirstModule::Static;
    modules.pool = {"mean"};
    return readStaticLength(folder, modules);
  }
  return inputError("type: expected Transformer, MLMTransformer, CLIPModel or StaticEmbedding "
                    "first, found " +
                    quotedText(type.str()) + ", which is not supported");
}

/// Checks that the modules fit together: logits of masked words meet the module that reads them, and
/// stages read either the vector of a text or those of its tokens.
static Status checkModules(const SentenceModules &modules, const std::string &path) {
  if (modules.perToken && (modules.perText || !modules.pool.empty()))
    return inputError(path + ": expected modules of a text's vector or of its tokens' vectors, "
                             "found both");
  if (modules.sparse && !modules.givesLogits)
    return inputError(path + ": expected MLMTransformer, or Transformer with the transformer_task "
                             "fill-mask, before SpladePooling, found another module");
  if (modules.givesLogits && !modules.sparse)
    return inputError(path + ": expected SpladePooling after a model for masked words, found none");
  return {};
}

Expected<std::optional<SentenceModules>>
heddle::readSentenceModules(const std::string &folder, std::vector<std::string> &files) {
  std::string path = (fs::path(folder) / "modules.json").string();
  if (!isThere(path))
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
    if (!type.starts_with("sentence_transformers.") && type != "pylate.models.Dense.Dense")
      return inputError(place + "type: expected a class of sentence_transformers, found " +
                        quotedText(type.str()) + ", which is code that Heddle does not run");
    type = type.rsplit('.').second;
    // A hostile list must not name folders elsewhere.
    if (!staysInFolder(module.value("path", "")))
      return inputError(place + "path: expected a folder in this one, found " +
                        quotedText(module.value("path", "")));
    std::string inner = (fs::path(folder) / module.value("path", "")).lexically_normal().string();
    Status added = index == 0 ? readFirst(type, inner, modules, files)
                              : addModule(type, inner, modules, files);
    if (!added)
      return inputError((added.error().message.starts_with("type") ? place : "") +
                        added.error().message);
  }
  HEDDLE_TRY(readPylate(folder, modules, files));
  HEDDLE_TRY(checkModules(modules, path));
  if (!modules.perToken && modules.tokens.hasLengths())
    modules.warnings.push_back(path + ": expected query_length, document_length and "
                                      "query_expansion only with vectors of tokens, found a model "
                                      "of texts' vectors, which does not follow them");
  modules.ofHead &= modules.pool.empty() && modules.output.empty() && !modules.score;
  if (modules.pool.empty() && !modules.score && !modules.sparse && !modules.perToken &&
      !modules.ofHead && modules.first == FirstModule::Transformer)
    return inputError(path +
                      ": expected a module Pooling, SpladePooling or LogitScore, found none");
  return std::optional(std::move(modules));
}
