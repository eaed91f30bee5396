//===- FolderImport.cpp - Hugging Face folders as modules -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   config.json, MODEL_TYPE.json  ->  description  ->  module and the tensors that it expects
//   tensors, checkpoint           ->  views by the architecture's recipes, which packing reads
//
// Tensors with equal recipes (shared layers, tied matrices) become one.

#include "FolderImport.h"

#include "Architecture.h"
#include "Description.h"
#include "DescriptionImport.h"
#include "FolderLanguages.h"
#include "FolderSpeech.h"
#include "FolderTask.h"
#include "FolderTexts.h"
#include "GenerationConfig.h"
#include "SentenceModules.h"
#include "TokenScores.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Pack/Checkpoint.h"
#include "heddle/Pack/GgufWeights.h"
#include "heddle/Pack/SeededWeights.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/StringMap.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

static std::string listed(const std::vector<std::string> &names) {
  return firstText(names, 5, [](const std::string &name) { return quotedText(name); });
}

/// The linear layers of modules.json, whose tensors lie in folders of their own.
class ModuleTensors {
public:
  static Expected<ModuleTensors> open(const std::optional<SentenceModules> &modules,
                                      std::vector<std::string> &files) {
    ModuleTensors tensors;
    for (const auto &[stage, folder] : modules ? modules->folders : decltype(modules->folders)())
      tensors.sources["output." + std::to_string(stage)] =
          HEDDLE_TRY(openCheckpoint(folder, files));
    return tensors;
  }
  /// The view of `wanted`; null if no module has it.
  Expected<TensorViewRef> find(const TensorInfo &wanted) const {
    auto [prefix, leaf] = llvm::StringRef(wanted.name).rsplit('.');
    auto found = sources.find(prefix.str());
    if (found == sources.end())
      return TensorViewRef();
    const WeightSource &source = *found->second;
    int index = source.find("linear." + leaf.str());
    if (index < 0 || source.tensors()[index].shape != wanted.shape)
      return inputError(source.name() + ": expected a tensor linear." + leaf.str() + " of " +
                        shapeText(wanted.shape) + ", found " +
                        (index < 0 ? "none" : shapeText(source.tensors()[index].shape)));
    return viewOf(source, index);
  }
  std::vector<std::unique_ptr<WeightSource>> take() {
    std::vector<std::unique_ptr<WeightSource>> owned;
    for (auto &[name, source] : sources)
      owned.push_back(std::move(source));
    return owned;
  }

private:
  std::map<std::string, std::unique_ptr<WeightSource>> sources;
};

/// Views of all tensors that the model expects, and a warning where the checkpoint has others.
static Status bindTensors(Architecture &architecture, std::unique_ptr<WeightSource> checkpoint,
                          ModuleTensors modules, std::optional<TokenScores> &scores,
                          ImportedModel &model) {
  std::vector<std::pair<std::string, TensorViewRef>> views;
  std::map<std::string, std::string> firstOf; // by recipe
  llvm::StringMap<std::string> renamed;
  std::vector<TensorInfo> kept;
  for (const TensorInfo &tensor : model.tensors) {
    TensorViewRef view = HEDDLE_TRY(modules.find(tensor));
    if (!view && scores)
      view = HEDDLE_TRY(scores->find(tensor, *checkpoint));
    if (!view)
      view = HEDDLE_TRY(architecture.tensor(tensor, *checkpoint));
    auto [first, isNew] = firstOf.try_emplace(view->recipe(), tensor.name);
    if (!isNew) {
      renamed[tensor.name] = first->second;
      continue;
    }
    views.emplace_back(tensor.name, std::move(view));
    kept.push_back(tensor);
  }
  model.module->walk([&](transformer::WeightOp weight) {
    if (auto found = renamed.find(weight.getName()); found != renamed.end())
      weight.setName(found->second);
  });
  model.tensors = std::move(kept);
  if (std::vector<std::string> unread = architecture.unreadRecipes(); !unread.empty())
    model.warnings.push_back(architecture.path() +
                             ": tensors: expected only recipes that a tensor of the model takes, "
                             "found " +
                             firstText(unread, 5));
  std::vector<std::string> extra;
  for (const TensorInfo &tensor : checkpoint->tensors())
    if (!architecture.tensorsRead().contains(tensor.name) && !architecture.ignores(tensor.name) &&
        !(scores && scores->tensorsRead().contains(tensor.name)))
      extra.push_back(tensor.name);
  if (!extra.empty())
    model.warnings.push_back(checkpoint->name() +
                             ": expected only tensors that the model reads, found " +
                             listed(extra));
  std::string name = checkpoint->name();
  std::vector<std::unique_ptr<WeightSource>> owned = modules.take();
  owned.push_back(std::move(checkpoint));
  model.weights = makeViewSource(std::move(name), std::move(views), std::move(owned));
  return {};
}

/// Labels in the order of their numbers, a line each; empty where the configuration names none.
static Expected<std::string> labelsOf(const Json &config, const std::string &path) {
  const Json labels = config.value("id2label", Json());
  if (labels.is_null())
    return std::string();
  if (!labels.is_object())
    return inputError(path + ": id2label: expected an object of texts, found " + shown(labels));
  std::string text;
  for (size_t i = 0; i < labels.size(); ++i) {
    std::string key = std::to_string(i);
    if (!labels.contains(key) || !labels[key].is_string())
      return inputError(path + ": id2label: expected a text for each number below " +
                        std::to_string(labels.size()) + ", found none for " + key);
    auto label = labels[key].get<std::string>();
    std::ranges::replace(label, '\n', ' ');
    text += label + "\n";
  }
  return text;
}

/// The names of a classifier's classes, which the compiled model carries.
static Status addLabels(const Json &config, const std::string &path, const std::string &head,
                        Description &description) {
  if (head.find("Classification") == std::string::npos || !description.classifier)
    return {};
  std::string labels = HEDDLE_TRY(labelsOf(config, path));
  if (std::ranges::count(labels, '\n') != description.classifier->size)
    return {}; // the configuration names none
  description.classifier->labels = "labels.txt";
  description.texts["labels.txt"] = std::move(labels);
  return {};
}

/// Takes over what stands behind the model in modules.json. A prompt that is not pooled changes
/// nothing of first and last rows; poolings that count rows from the text's beginning stay whole,
/// and text commands refuse such a prompt.
static void addModules(SentenceModules &modules, Json &description) {
  Json &encoder = description["encoder"];
  encoder["pool"] = modules.pool;
  if (!modules.output.empty())
    encoder["output"] = modules.output;
  auto isOneOf = [](std::initializer_list<std::string_view> words) {
    return [words](const std::string &word) { return llvm::is_contained(words, word); };
  };
  modules.promptIsPooled |= std::ranges::all_of(modules.pool, isOneOf({"cls", "last"}));
  if (!modules.promptIsPooled &&
      std::ranges::all_of(modules.pool, isOneOf({"mean", "max", "last"})))
    encoder["pool-parts"] = true;
}

/// Whether `json` describes a model whose rows are vectors of a text's tokens: no vectors of texts,
/// and no classes but those of masked words.
static bool givesRowsOfTokens(const Json &json, const Architecture &architecture) {
  const bool classifies = json.contains("classifier") && architecture.head() != "ForMaskedLM";
  return !classifies && json.contains("source") && json["source"].contains("vocabulary") &&
         json.value("kind", Json()) == "encoder" && json.contains("encoder") &&
         json["encoder"].is_object() && json["encoder"].value("pool", Json()).is_null();
}

/// The description of a folder without modules.json, of which the caller may want one vector a text:
/// `--pool` says how, else it is the mean where there is none yet, as Sentence-Transformers does it.
/// Whether it was pooled.
static Expected<bool> poolRows(const std::string &folder, Json config, const ImportOptions &options,
                               Architecture &architecture, Json &json,
                               std::vector<std::string> &warnings) {
  const bool isAsked = !options.pool.empty();
  const bool writes = json.value("kind", Json()) == "encoder-decoder";
  if (!isAsked && !(options.needsVectors && (writes || givesRowsOfTokens(json, architecture))))
    return false;
  config.erase("architectures");
  Architecture bare = HEDDLE_TRY(Architecture::load(folder, std::move(config), options.part));
  Json bareJson = HEDDLE_TRY(bare.description());
  if (!isAsked && bareJson.value("kind", Json()) != "encoder")
    return false; // BART's decoder is no head
  architecture = std::move(bare);
  json = std::move(bareJson);
  if (isAsked && !json["encoder"].is_object())
    return usageError("--pool: expected a model with an encoder, found " + folder);
  json["encoder"]["pool"] = isAsked ? options.pool : "mean";
  if (!isAsked)
    warnings.push_back(
        (fs::path(folder) / "modules.json").string() +
        ": expected a pooling, found no such file: vectors are the mean of the rows "
        "of a text's tokens, as Sentence-Transformers takes it; --pool says another");
  return true;
}

/// config.json of a folder whose checkpoint can be read, or what a GGUF file says in its place.
static Expected<Json> readConfig(const std::string &path) {
  if (isGguf(path))
    return Architecture::ggufConfig(HEDDLE_TRY(Gguf::open(path)));
  Json config = HEDDLE_TRY(readJsonObject(path));
  if (auto found = config.find("quantization_config"); found != config.end() && !found->is_null()) {
    const Json method = found->is_object() ? found->value("quant_method", Json()) : Json();
    return inputError(path +
                      ": quantization_config: expected a checkpoint of f32, f16 or bf16, found one "
                      "quantised by " +
                      (method.is_string() ? quotedText(method.get<std::string>())
                                          : std::string("a method without a name")) +
                      ", which is not supported: --dtype quantises");
  }
  return config;
}

/// Checks `--context` against the positions that the folder's model knows; without it caches, which
/// are as large as the model allows, hold a usual number of tokens.
static Status limitCaches(const ImportOptions &options, const std::string &path,
                          Description &description) {
  constexpr int64_t usual = 4096;
  if (!description.target)
    return {};
  int64_t &limit = description.target->limit;
  if (options.context && *options.context > limit)
    return usageError("--context: expected at most " + std::to_string(limit) +
                      " tokens, the positions of " + path + ", found " +
                      std::to_string(*options.context));
  limit = std::min(limit, usual);
  return {};
}

/// What a GGUF file says of vectors, in place of modules.json: how rows become one.
static Expected<std::optional<SentenceModules>> ggufModules(const std::string &path) {
  const Gguf file = HEDDLE_TRY(Gguf::open(path));
  const std::string key =
      std::string(HEDDLE_TRY(file.text("general.architecture"))) + ".pooling_type";
  const std::optional<int64_t> kind = HEDDLE_TRY(file.integer(key));
  constexpr const char *poolings[] = {nullptr, "mean", "cls", "last"};
  if (kind && (*kind < 0 || *kind >= static_cast<int64_t>(std::size(poolings))))
    return file.mistaken(key, "0 (none), 1 (mean), 2 (cls) or 3 (last)");
  if (!kind || *kind == 0)
    return std::optional<SentenceModules>();
  SentenceModules modules;
  modules.pool = {poolings[*kind]};
  return std::optional(std::move(modules));
}

/// Tensors of a folder or of a GGUF file.
static Expected<std::unique_ptr<WeightSource>> openTensors(const std::string &model,
                                                           std::vector<std::string> &files) {
  if (!isGguf(model))
    return openCheckpoint(model, files);
  files.push_back(model);
  return openGgufWeights(model);
}

/// Warns of what the folder says and the model leaves out.
static void warnOfRest(const Architecture &architecture, const std::string &path,
                       const ImportOptions &options, ImportedModel &model) {
  if (std::vector<std::string> unread = architecture.unreadKeys(); !unread.empty())
    model.warnings.push_back(path + ": expected only keys that " + architecture.path() +
                             " reads, found " + listed(unread));
  if (std::string others = architecture.otherParts(); !others.empty() && options.part.empty())
    model.warnings.push_back(path +
                             ": expected --part where a folder holds several models, found "
                             "none: this is the first, beside " +
                             others);
  if (!architecture.missingHead().empty())
    model.warnings.push_back(path + ": architectures: expected a head that " + architecture.path() +
                             " has, found " + quotedText(architecture.missingHead()) +
                             ", which is left out");
}

/// An error of the description that was made of a folder: of --pool, or of the file that gave the
/// value.
static Error ofFolder(Error problem, const std::string &path, const ImportOptions &options,
                      const Architecture &architecture) {
  llvm::StringRef message = problem.message;
  if (!options.pool.empty() && message.consume_front(path + ": encoder.pool: "))
    return usageError("--pool: " + message.str());
  return architecture.ofDescription(std::move(problem), path);
}

/// What the folder says beside its configuration: labels, tokenizers, templates, and what commands
/// need of them.
static Status addTexts(const std::string &folder, const Json &config, const ImportOptions &options,
                       const Architecture &architecture,
                       const std::optional<SentenceModules> &modules, Description &description) {
  HEDDLE_TRY(addLabels(config, configPath(folder), architecture.head(), description));
  HEDDLE_TRY(addTokenizer(folder, options.needsTexts, description));
  addChatTemplate(folder, description);
  HEDDLE_TRY(addPreprocessor(folder, options.needsTexts, description));
  if (hears(description) && description.isEncoderDecoder())
    HEDDLE_TRY(addSpeech(folder, config, options.needsTexts, description));
  HEDDLE_TRY(addTask(folder, config, architecture.head(), modules, description));
  HEDDLE_TRY(addLanguages(config, description));
  HEDDLE_TRY(addTasks(folder, config, description));
  if (modules && modules->longest)
    description.source->most =
        std::min(description.source->most.value_or(*modules->longest), *modules->longest);
  return limitCaches(options, configPath(folder), description);
}

Expected<ImportedModel> heddle::importFolder(const std::string &folder,
                                             const ImportOptions &options,
                                             mlir::MLIRContext &context) {
  if (!options.weights.empty())
    return usageError("--weights: expected a .mlir model beside it, found " + folder +
                      ", which has weights of its own");
  const std::string path = configPath(folder);
  Json config = HEDDLE_TRY(readConfig(path));
  std::vector<std::string> files;
  std::optional<SentenceModules> modules =
      HEDDLE_TRY(isGguf(folder) ? ggufModules(folder) : readSentenceModules(folder, files));
  if (modules && !options.pool.empty())
    return usageError("--pool: expected " +
                      std::string(isGguf(folder) ? "a file without pooling_type"
                                                 : "a folder without modules.json") +
                      ", found " + folder);
  std::optional<TokenScores> scores;
  if (modules && modules->score)
    scores = HEDDLE_TRY(TokenScores::load(folder, config, *modules->score));
  if (modules) // vectors are asked for, whatever head the checkpoint was trained with
    config.erase("architectures");
  Architecture architecture = HEDDLE_TRY(Architecture::load(folder, config, options.part));
  config.update(HEDDLE_TRY(architecture.generation()));
  Json json = HEDDLE_TRY(architecture.description());
  std::vector<std::string> warnings;
  bool givesVectors = modules && !scores;
  if (modules)
    warnings = modules->warnings;
  if (scores)
    scores->addTo(json);
  else if (modules)
    addModules(*modules, json);
  else {
    givesVectors = HEDDLE_TRY(poolRows(folder, config, options, architecture, json, warnings));
  }
  if (json.contains("target") && json["target"].is_object())
    HEDDLE_TRY(addGenerationConfig(folder, config, json, files, warnings));
  json["weights"] = {{"seed", 0}}; // replaced by the checkpoint's below
  auto read = readDescription(std::move(json), path, options.masks);
  if (!read)
    return ofFolder(read.takeError(), path, options, architecture);
  Description description = std::move(*read);
  HEDDLE_TRY(addTexts(folder, config, options, architecture, modules, description));
  if (givesVectors) // as Sentence-Transformers does it
    description.task["strip"] = true;
  ImportedModel model = HEDDLE_TRY(importWithoutWeights(description, options, context));
  files.push_back((fs::path(folder) / architectureFile).string()); // an output is none, ever
  model.files.insert(model.files.end(), files.begin(), files.end());
  model.warnings.insert(model.warnings.end(), warnings.begin(), warnings.end());
  warnOfRest(architecture, path, options, model);
  if (options.needsWeights) {
    auto checkpoint = HEDDLE_TRY(openTensors(folder, model.files));
    auto tensors = HEDDLE_TRY(ModuleTensors::open(modules, model.files));
    HEDDLE_TRY(bindTensors(architecture, std::move(checkpoint), std::move(tensors), scores, model));
  } else {
    model.weights = HEDDLE_TRY(makeSeededWeights(0, {}));
  }
  return model;
}
