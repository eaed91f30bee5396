//===- FolderTraining.cpp - Hugging Face folders that are trained ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FolderTraining.h"

#include "Schema.h"

#include "heddle/Support/Gguf.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace heddle;
namespace fs = std::filesystem;

//===- The head ------------------------------------------------------------===//

static constexpr llvm::StringLiteral classifies = "ForSequenceClassification";
static constexpr const char *oneClass = "single_label_classification";

/// The class with the head of texts: BertForSequenceClassification of BertModel or BertForMaskedLM.
static std::string classifierOf(llvm::StringRef className) {
  className = className.take_front(className.find("For"));
  className.consume_back("Model");
  return (className + classifies).str();
}

static Status checkLabels(const std::vector<std::string> &labels) {
  if (labels.size() < 2)
    return usageError("--labels: expected at least two classes, separated by commas, found " +
                      std::to_string(labels.size()));
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i].empty() || llvm::is_contained(llvm::ArrayRef(labels).take_front(i), labels[i]))
      return usageError("--labels: expected different names of classes, found " +
                        quotedText(labels[i]) + (labels[i].empty() ? "" : " twice"));
  return {};
}

/// Names of the configuration's classes, ordered by their numbers.
static std::vector<std::string> labelsOf(const Json &config) {
  std::vector<std::string> labels;
  const Json names = config.value("id2label", Json::object());
  for (size_t id = 0; names.is_object() && id < names.size(); ++id)
    if (const Json name = names.value(std::to_string(id), Json()); name.is_string())
      labels.push_back(name.get<std::string>());
  return labels;
}

/// Error for regressions and for texts with several classes.
static Status checkProblem(const Json &config, const std::string &path) {
  const Json problem = config.value("problem_type", Json());
  const bool isOneNumber = problem.is_null() && labelsOf(config).size() == 1;
  if (!isOneNumber && (problem.is_null() || problem == oneClass))
    return {};
  return inputError(path + ": problem_type: expected " + oneClass + ", found " +
                    (isOneNumber ? "one label, which is a regression" : shown(problem)) +
                    "; --labels gives the model new classes");
}

Status heddle::prepareTraining(const ImportOptions &options, FolderModel &model) {
  const std::string path = configPath(model.folder);
  if (isGguf(model.folder))
    return usageError("--training: expected a description or a Hugging Face folder, found " +
                      model.root + "; training of a GGUF file is not supported");
  if (model.modules)
    return usageError("--training: expected a folder with a classifier of texts, found " +
                      model.root + ", whose modules.json makes vectors");
  Json &config = model.config;
  const std::string name = model.className();
  if (options.labels.empty()) {
    if (!llvm::StringRef(name).ends_with(classifies))
      return usageError("--labels: expected the classes of " + model.root +
                        ", which is no classifier of texts, found none");
    HEDDLE_TRY(checkProblem(config, path));
  } else {
    HEDDLE_TRY(checkLabels(options.labels));
    if (name.empty())
      return inputError(path + ": architectures: expected the class of the model, found none");
    config["architectures"] = Json::array({classifierOf(name)});
    // The rows of a head keep their meaning: its classes may be given in another order.
    std::vector<std::string> labels = labelsOf(config);
    const bool hasThem = llvm::StringRef(name).ends_with(classifies) &&
                         labels.size() == options.labels.size() &&
                         std::ranges::is_permutation(labels, options.labels);
    if (!hasThem)
      labels = options.labels;
    config["id2label"] = config["label2id"] = Json::object();
    for (const auto &[id, label] : llvm::enumerate(labels)) {
      config["id2label"][std::to_string(id)] = label;
      config["label2id"][label] = id;
    }
    for (const char *key : {"num_labels", "_num_labels"})
      config.erase(key);
    config["problem_type"] = oneClass;
  }
  return {};
}

//===- The recipe ----------------------------------------------------------===//

Expected<Json> heddle::recipeOf(Architecture &architecture, const ImportOptions &options) {
  Json recipe = {
      {"epochs", 3},
      {"batch", {{"rows", 8}}},
      {"optimizer", {{"kind", "adamw"}, {"betas", {0.9, 0.999}}, {"epsilon", 1e-8}, {"clip", 1}}},
      {"rate", {{"kind", "linear"}, {"peak", 5e-5}}},
      {"initial",
       {{"from", "weights"}, {"matrices", "normal"}, {"tables", "normal"}, {"gain", 0.02}}},
      {"measure", {{"kind", "accuracy"}}}};
  recipe["dropout"] = HEDDLE_TRY(architecture.dropout());
  if (options.recipe.empty())
    return recipe;
  const Json given = HEDDLE_TRY(readJsonObject(options.recipe));
  if (given.contains("steps"))
    recipe.erase("epochs");
  for (const char *section : {"rate", "optimizer"}) // keys of another kind would be errors
    if (given.contains(section) && given[section].is_object() && given[section].contains("kind"))
      recipe[section] = Json::object();
  recipe.merge_patch(given);
  return recipe;
}

//===- Files of the folder -------------------------------------------------===//

Status heddle::addFolderFiles(const FolderModel &model, ImportedModel &imported) {
  Json config = model.config;
  config.erase("quantization_config");
  for (const char *key : {"dtype", "torch_dtype"})
    if (config.contains(key))
      config[key] = "float32";
  imported.texts[folderMember("config.json")] = config.dump(2) + "\n";
  constexpr int64_t most = int64_t(1) << 28;
  for (const char *name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                           "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt",
                           "spiece.model", "sentencepiece.bpe.model", "spm.model"})
    if (const fs::path file = fs::path(model.folder) / name; isThere(file))
      imported.texts[folderMember(name)] = HEDDLE_TRY(readTextFile(file.string(), most));
  return {};
}

//===- Tensors -------------------------------------------------------------===//

StoredTensor &StoredTensorsBuilder::stored(const std::string &name,
                                           const std::vector<int64_t> &shape) {
  auto found =
      llvm::find_if(made.tensors, [&](const StoredTensor &tensor) { return tensor.name == name; });
  if (found != made.tensors.end())
    return *found;
  return made.tensors.emplace_back(StoredTensor{name, shape, {}});
}

Status StoredTensorsBuilder::add(const TensorInfo &tensor, const TensorView &view,
                                 const std::string &file) {
  const auto ranges = view.ranges();
  if (!ranges)
    return inputError(file + ": " + tensor.name +
                      ": expected a tensor that the checkpoint stores, found one that is computed "
                      "from it; training of this folder is not supported");
  for (const ViewRange &range : *ranges) {
    const TensorInfo &origin = range.source->tensors()[static_cast<size_t>(range.tensor)];
    StoredTensor &place = stored(architecture.writtenName(origin.name), origin.shape);
    if (range.count == 0)
      zeros.push_back(place.name);
    else
      place.ranges.push_back({tensor.name, range.first, range.count, range.at, range.transposed});
  }
  return {};
}

Status StoredTensorsBuilder::addFresh(const TensorInfo &tensor) {
  const std::string name = HEDDLE_TRY(architecture.nameToWrite(tensor.name));
  stored(name, tensor.shape).ranges = {{tensor.name, 0, tensor.elements(), 0, false}};
  made.fresh.push_back(tensor.name);
  return {};
}

Expected<StoredTensors> StoredTensorsBuilder::take(const std::string &file) {
  for (StoredTensor &tensor : made.tensors) {
    llvm::sort(tensor.ranges,
               [](const StoredRange &a, const StoredRange &b) { return a.at < b.at; });
    int64_t end = 0;
    const bool isZero = llvm::is_contained(zeros, tensor.name);
    for (const StoredRange &range : tensor.ranges) {
      if (isZero || range.at < end)
        return inputError(file + ": " + tensor.name +
                          ": expected elements that one tensor of the model has, found two; "
                          "training of this folder is not supported");
      end = range.at + range.count;
    }
  }
  return std::move(made);
}
