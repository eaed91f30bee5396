//===- FolderTask.cpp - Task facts of a folder ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules follow the pipelines of Transformers and CrossEncoder of Sentence-Transformers.

#include "FolderTask.h"

#include "heddle/Tokenizers/FolderFiles.h"

#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

/// Reads an object from a file of the folder; an empty object if there is no such file.
static Expected<Json> readOptional(const std::string &folder, const char *name,
                                   std::vector<std::string> &files) {
  std::string path = (fs::path(folder) / name).string();
  if (!isThere(path))
    return Json::object();
  Json json = HEDDLE_TRY(readJsonObject(path));
  files.push_back(path);
  return json;
}

/// Adds how the scores of classes are interpreted.
static Status addProblem(const Json &config, const std::string &path, Description &description) {
  Json problem = config.value("problem_type", Json());
  const bool one = description.classifier && description.classifier->size == 1;
  if (problem == "regression")
    description.facts.problem = Problem::Numbers;
  else if (problem == "multi_label_classification" || (problem.is_null() && one))
    description.facts.problem = Problem::ManyClasses;
  else if (!problem.is_null() && problem != "single_label_classification")
    return inputError(path +
                      ": problem_type: expected regression, single_label_classification or "
                      "multi_label_classification, found " +
                      shown(problem));
  return {};
}

static constexpr const char *sentenceConfig = "config_sentence_transformers.json";

/// Adds the activation of a cross-encoder, under the keys of old and new versions. The newest file
/// counts only next to modules.json. Classes outside PyTorch would be code of the folder.
static Status addScoreActivation(const std::string &root, const std::string &folder,
                                 const Json &config, bool hasModules, Description &description) {
  std::string path = configPath(folder);
  Json name = config.value("sbert_ce_default_activation_function", Json());
  if (Json own = config.value("sentence_transformers", Json::object()); own.is_object())
    name = own.value("activation_fn", name);
  Json newest = Json::object();
  if (hasModules)
    newest = HEDDLE_TRY(readOptional(root, sentenceConfig, description.files));
  if (newest.value("activation_fn", Json()).is_string()) {
    name = newest["activation_fn"];
    path = (fs::path(root) / sentenceConfig).string();
  }
  if (!name.is_string())
    return {};
  const llvm::StringRef type = name.get_ref<const std::string &>();
  const llvm::StringRef last = type.starts_with("torch.") ? type.rsplit('.').second : "";
  if (last == "Identity")
    description.facts.sigmoidScores = false;
  else if (last != "Sigmoid")
    description.warnings.push_back(path +
                                   ": expected Sigmoid or Identity of torch as a cross-encoder's "
                                   "activation, found " +
                                   shown(name) + "; rerank takes Sigmoid");
  return {};
}

/// Returns whether TokenVectors.h reads a key.
static bool isOfPylate(llvm::StringRef key) {
  constexpr llvm::StringLiteral keys[] = {"query_prefix",       "document_prefix",
                                          "query_length",       "document_length",
                                          "do_query_expansion", "attend_to_expansion_tokens",
                                          "skiplist_words"};
  return llvm::is_contained(keys, key);
}

/// Adds how vectors are truncated and compared; warns of unknown keys.
static Status addComparison(const Json &config, const std::string &path,
                            const SentenceModules &modules, Description &description) {
  const Json name = config.value("similarity_fn_name", Json());
  if (modules.perToken && name == "meanmaxsim")
    return inputError(path +
                      ": similarity_fn_name: expected maxsim, found meanmaxsim, which is not "
                      "supported");
  // Other words, such as maxsim, are for other kinds of models; cosine is the default.
  if (name == "dot_score" || (name.is_null() && description.facts.sparse))
    description.facts.similarity = Similarity::Dot;
  else if (name.is_string())
    parseWord(name.get_ref<const std::string &>(), description.facts.similarity);
  const Json cut = config.value("truncate_dim", Json());
  if (!cut.is_null() && (!cut.is_number_integer() || cut < 1))
    return inputError(path + ": truncate_dim: expected a number above 0, found " + shown(cut));
  if (!cut.is_null())
    description.facts.dimensions = cut.get<int64_t>();
  if (std::optional<SparseFacts> &sparse = description.facts.sparse) {
    const Json most = config.value("max_active_dims", Json());
    if (!most.is_null() && (!most.is_number_integer() || most < 1))
      return inputError(path + ": max_active_dims: expected a number above 0, found " +
                        shown(most));
    if (!most.is_null())
      sparse->most = most.get<int64_t>();
  }
  constexpr llvm::StringLiteral known[] = {"__version__",         "prompts",
                                           "default_prompt_name", "similarity_fn_name",
                                           "truncate_dim",        "model_type",
                                           "activation_fn",       "requirements",
                                           "model_card",          "keep_in_fp32_modules"};
  for (const auto &[key, value] : config.items())
    if (!value.is_null() && !llvm::is_contained(known, llvm::StringRef(key)) &&
        !(description.facts.sparse && key == "max_active_dims") &&
        !(modules.perToken && isOfPylate(key)))
      description.warnings.push_back(path + ": expected only keys that Heddle knows, found " +
                                     quotedText(key) + ", which is not followed");
  return {};
}

static Status addPrompts(const std::string &folder, const SentenceModules &modules,
                         Description &description) {
  Json config = HEDDLE_TRY(readOptional(folder, sentenceConfig, description.files));
  std::string path = (fs::path(folder) / sentenceConfig).string();
  Json prompts = config.value("prompts", Json());
  if (!prompts.is_null() && !prompts.is_object())
    return inputError(path + ": prompts: expected an object, found " + shown(prompts));
  for (const auto &[name, text] : prompts.items())
    if (!text.is_string())
      return inputError(path + ": prompts: " + name + ": expected a text, found " + shown(text));
  for (const auto &[name, prefix] : modules.tokens.prefixes) {
    const std::string rest = prompts.is_object() ? prompts.value(name, "") : "";
    prompts[name] = rest.starts_with(prefix) ? rest : prefix + rest;
  }
  for (const auto &[name, text] : prompts.items())
    description.facts.prompts.emplace_back(name, text.get<std::string>());
  Json chosen = config.value("default_prompt_name", Json());
  if (!chosen.is_null() && (!chosen.is_string() || !prompts.contains(chosen.get<std::string>())))
    return inputError(path + ": default_prompt_name: expected the name of a prompt, found " +
                      shown(chosen));
  if (!chosen.is_null())
    description.facts.defaultPrompt = chosen.get<std::string>();
  description.facts.sparse = modules.sparse;
  HEDDLE_TRY(addComparison(config, path, modules, description));
  if (!modules.promptIsPooled)
    description.facts.promptIsPooled = false;
  if (modules.score && description.source)
    description.source->pairMessages = true;
  return {};
}

Status heddle::addTask(const std::string &root, const std::string &folder, const Json &config,
                       const std::string &head, const std::optional<SentenceModules> &modules,
                       Description &description) {
  const std::string path = configPath(folder);
  description.facts.head = head;
  if (head == "ForSequenceClassification")
    HEDDLE_TRY(addProblem(config, path, description));
  if (head == "ForSequenceClassification" || (modules && modules->score))
    HEDDLE_TRY(addScoreActivation(root, folder, config, modules.has_value(), description));
  if (head == "ForMaskedLM")
    description.facts.maskToken = HEDDLE_TRY(maskTokenOf(folder, description, description.files));
  if (!modules)
    return {};
  HEDDLE_TRY(addPrompts(root, *modules, description));
  return modules->perToken ? addTokenVectors(folder, (fs::path(root) / sentenceConfig).string(),
                                             modules->tokens, description)
                           : Status();
}
