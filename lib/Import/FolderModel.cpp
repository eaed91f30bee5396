//===- FolderModel.cpp - Opening a folder or a GGUF file ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FolderModel.h"

#include "Architecture.h"

#include "heddle/Import/Import.h"
#include "heddle/Pack/Checkpoint.h"
#include "heddle/Pack/GgufWeights.h"
#include "heddle/Pack/Mxfp4.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"

using namespace heddle;

/// The quantization that stores some matrices as codes, which Heddle reads.
static constexpr std::string_view mxfp4 = "mxfp4";

/// How the checkpoint of a configuration is quantized: empty for a method without a name; none if
/// it is not quantized.
static std::optional<std::string> quantMethod(const Json &config) {
  const auto found = config.find("quantization_config");
  if (found == config.end() || found->is_null())
    return std::nullopt;
  const Json method = found->is_object() ? found->value("quant_method", Json()) : Json();
  return method.is_string() ? method.get<std::string>() : "";
}

/// Reads config.json of a folder with a readable checkpoint, or builds it from a GGUF file.
static Expected<Json> readConfig(const std::string &path) {
  if (isGguf(path))
    return Architecture::ggufConfig(HEDDLE_TRY(Gguf::open(path)));
  Json config = HEDDLE_TRY(readJsonObject(path));
  const std::optional<std::string> method = quantMethod(config);
  if (method && *method != mxfp4)
    return inputError(path +
                      ": quantization_config: expected a checkpoint of f32, f16, bf16 or mxfp4, "
                      "found one quantized by " +
                      (method->empty() ? "a method without a name" : quotedText(*method)) +
                      ", which is not supported: --dtype quantizes");
  return config;
}

bool heddle::storesCodes(const std::string &model) {
  if (isGguf(model))
    return true;
  const Expected<Json> config = readJsonObject(configPath(model));
  return config && quantMethod(*config) == mxfp4;
}

/// The linear layers after the pooling of a GGUF file, in the order of their numbers.
static Expected<Json> ggufStages(const Gguf &file) {
  Json stages = Json::array();
  for (const char *name : {"dense_2.weight", "dense_3.weight"}) {
    const auto tensor = std::ranges::find(file.tensors(), name, &GgufTensor::name);
    if (tensor == file.tensors().end())
      continue;
    if (tensor->shape.size() != 2)
      return inputError(file.name() + ": " + name + ": expected a matrix, found " +
                        shapeText(tensor->shape));
    stages.push_back({{"dense", {{"size", tensor->shape[0]}, {"bias", false}}}});
  }
  return stages;
}

/// The pooling of a GGUF file, which has no modules.json, and the layers after it.
static Expected<std::optional<SentenceModules>> ggufModules(const std::string &path) {
  const Gguf file = HEDDLE_TRY(Gguf::open(path));
  const std::string key =
      std::string(HEDDLE_TRY(file.text("general.architecture"))) + ".pooling_type";
  const std::optional<int64_t> kind = HEDDLE_TRY(file.integer(key));
  constexpr const char *poolings[] = {nullptr, "mean", "cls", "last"};
  constexpr int64_t rank = std::size(poolings); // a classifier pools, by its own architecture
  if (kind && (*kind < 0 || *kind > rank))
    return file.mistaken(key, "0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank)");
  if (!kind || *kind == 0 || *kind == rank)
    return std::optional<SentenceModules>();
  SentenceModules modules;
  modules.pool = {poolings[*kind]};
  modules.output = HEDDLE_TRY(ggufStages(file));
  return std::optional(std::move(modules));
}

/// Opens the tensors of a folder or of a GGUF file.
static Expected<std::unique_ptr<WeightSource>> openTensors(const std::string &model,
                                                           std::vector<std::string> &files,
                                                           const std::string &className) {
  if (!isGguf(model))
    return openCheckpoint(model, files, className);
  std::ranges::copy(ggufParts(model), std::back_inserter(files));
  return openGgufWeights(model);
}

/// Builds the configuration of a table of word vectors from the tensor's shape; its folder has no
/// configuration file.
static Expected<Json> staticConfig(const std::string &folder) {
  std::vector<std::string> files;
  auto checkpoint = HEDDLE_TRY(openCheckpoint(folder, files));
  int table = checkpoint->find("embedding.weight");
  if (table < 0)
    table = checkpoint->find("embeddings");
  if (table < 0 || checkpoint->tensors()[table].shape.size() != 2)
    return inputError(checkpoint->name() +
                      ": expected a table of words' vectors, embedding.weight or embeddings, found "
                      "none");
  if (checkpoint->find("mapping") >= 0)
    return inputError(checkpoint->name() + ": mapping: expected a row for each token, found rows "
                                           "that tokens share, which is not supported");
  const TensorInfo &info = checkpoint->tensors()[table];
  return Json{{"model_type", "static_embedding"},
              {"vocab_size", info.shape[0]},
              {"hidden_size", info.shape[1]},
              {"weighted", checkpoint->find("weights") >= 0}};
}

Expected<FolderModel> FolderModel::open(const std::string &root) {
  FolderModel model{.root = root, .folder = root};
  model.modules =
      HEDDLE_TRY(isGguf(root) ? ggufModules(root) : readSentenceModules(root, model.files));
  if (model.modules && !model.modules->modelFolder.empty())
    model.folder = model.modules->modelFolder;
  model.config = HEDDLE_TRY(model.isStatic() ? staticConfig(model.folder)
                                             : readConfig(configPath(model.folder)));
  Architecture::complete(model.config);
  if (!model.modules && model.className() == "HF_ColBERT")
    return inputError(configPath(model.folder) +
                      ": architectures: expected modules.json with a model for late interaction, "
                      "found HF_ColBERT alone, whose projection is not supported: PyLate and "
                      "Sentence-Transformers 6 convert it");
  return model;
}

std::string FolderModel::className() const {
  const Json classes = config.value("architectures", Json());
  const bool isNamed = classes.is_array() && !classes.empty() && classes[0].is_string();
  return isNamed ? classes[0].get<std::string>() : "";
}

Expected<std::unique_ptr<WeightSource>> FolderModel::openWeights() {
  std::unique_ptr<WeightSource> source = HEDDLE_TRY(openTensors(folder, files, className()));
  return quantMethod(config) == mxfp4 ? withMxfp4(std::move(source)) : std::move(source);
}

Status heddle::addModules(FolderModel &model, Json &description) {
  SentenceModules &modules = *model.modules;
  if (modules.sparse) {
    if (!description.contains("classifier"))
      return inputError(configPath(model.folder) +
                        ": model_type: expected a model with a head for masked words, whose "
                        "logits SpladePooling reads, found none");
    // The logarithm keeps the order of logits, so the largest is pooled before it. A sum is not.
    if (!modules.sparse->sums)
      description["classifier"]["pool"] = "max";
    return {};
  }
  Json &encoder = description["encoder"];
  if (!modules.pool.empty())
    encoder["pool"] = modules.pool;
  Json output = encoder.value("output", Json());
  for (Json &stage : modules.output)
    output.push_back(stage);
  if (!output.empty())
    encoder["output"] = std::move(output);
  auto isOneOf = [](std::initializer_list<std::string_view> words) {
    return [words](const std::string &word) { return llvm::is_contained(words, word); };
  };
  modules.promptIsPooled |= std::ranges::all_of(modules.pool, isOneOf({"last"}));
  if (!modules.promptIsPooled &&
      std::ranges::all_of(modules.pool, isOneOf({"cls", "mean", "mean-sqrt", "max", "last"})))
    encoder["pool-parts"] = true;
  return {};
}

Status heddle::limitTexts(const FolderModel &model, bool givesVectors, Description &description) {
  std::optional<int64_t> longest = model.modules ? model.modules->longest : std::nullopt;
  if (!longest && givesVectors && !isGguf(model.folder) && !model.isStatic())
    longest = HEDDLE_TRY(tokenizerLength(model.folder));
  if (longest && description.source)
    description.source->most = std::min(description.source->most.value_or(*longest), *longest);
  return {};
}
