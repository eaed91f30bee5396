//===- FolderImport.cpp - Hugging Face folders as modules -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   config.json, MODEL_TYPE.json  ->  description  ->  module and the tensors that it expects
//   tensors, checkpoint           ->  views by the architecture's recipes, which packing reads
//
// Tensors with equal recipes (shared layers, tied matrices) are stored once.

#include "FolderImport.h"

#include "Adapter.h"
#include "Architecture.h"
#include "Description.h"
#include "DescriptionImport.h"
#include "FolderLanguages.h"
#include "FolderModel.h"
#include "FolderPair.h"
#include "FolderSpeech.h"
#include "FolderTask.h"
#include "FolderTexts.h"
#include "FolderTraining.h"
#include "GenerationConfig.h"
#include "SentenceModules.h"
#include "TokenScores.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Pack/Checkpoint.h"
#include "heddle/Pack/SeededWeights.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <filesystem>

using namespace heddle;
namespace fs = std::filesystem;

static std::string listed(const std::vector<std::string> &names) {
  return firstText(names, 5, [](const std::string &name) { return quotedText(name); });
}

/// Linear layers of modules.json, whose tensors are in separate folders.
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
  /// View of `wanted`; null if no module has it.
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

/// Whether a tensor belongs to the head of a classifier.
static bool isOfHead(const TensorInfo &tensor) {
  return llvm::StringRef(tensor.name).starts_with("classifier.");
}

/// Warns of recipes without a tensor of the model, and of unread tensors in the checkpoint.
static void warnOfUnread(Architecture &architecture, const WeightSource &checkpoint,
                         const std::optional<TokenScores> &scores, const ImportOptions &options,
                         ImportedModel &model) {
  if (std::vector<std::string> unread = architecture.unreadRecipes(); !unread.empty())
    model.warnings.push_back(architecture.path() +
                             ": tensors: expected only recipes that a tensor of the model takes, "
                             "found " +
                             firstText(unread, 5));
  std::vector<std::string> extra;
  for (const TensorInfo &tensor : checkpoint.tensors())
    if (!architecture.tensorsRead().contains(tensor.name) && !architecture.ignores(tensor.name) &&
        !(scores && scores->tensorsRead().contains(tensor.name)))
      extra.push_back(tensor.name);
  if (!extra.empty() && options.labels.empty())
    model.warnings.push_back(
        checkpoint.name() + ": expected only tensors that the model reads, found " + listed(extra));
}

/// Binds each expected tensor to a view.
static Status bindTensors(Architecture &architecture, std::unique_ptr<WeightSource> checkpoint,
                          ModuleTensors modules, std::optional<TokenScores> &scores,
                          const ImportOptions &options, ImportedModel &model) {
  StoredTensorsBuilder stored(architecture);
  std::vector<std::pair<std::string, TensorViewRef>> views;
  std::map<std::string, std::string> firstOf; // by recipe
  llvm::StringMap<std::string> renamed;
  std::vector<TensorInfo> kept;
  for (const TensorInfo &tensor : model.tensors) {
    TensorViewRef view = HEDDLE_TRY(modules.find(tensor));
    if (!view && scores)
      view = HEDDLE_TRY(scores->find(tensor, *checkpoint));
    if (!view && !options.labels.empty() && isOfHead(tensor)) {
      Expected<TensorViewRef> found = architecture.tensor(tensor, *checkpoint);
      if (found)
        view = std::move(*found);
      else { // a base model, or a head for other classes
        view = filled(tensor.shape, 0);
        HEDDLE_TRY(stored.addFresh(tensor));
        views.emplace_back(tensor.name, std::move(view));
        kept.push_back(tensor);
        continue;
      }
    }
    if (!view)
      view = HEDDLE_TRY(architecture.tensor(tensor, *checkpoint));
    auto [first, isNew] = firstOf.try_emplace(view->recipe(), tensor.name);
    if (!isNew) {
      renamed[tensor.name] = first->second;
      continue;
    }
    if (options.training)
      HEDDLE_TRY(stored.add(tensor, *view, checkpoint->name()));
    views.emplace_back(tensor.name, std::move(view));
    kept.push_back(tensor);
  }
  if (options.training)
    model.texts[storedTensorsMember] = toJson(HEDDLE_TRY(stored.take(checkpoint->name())));
  model.module->walk([&](transformer::WeightOp weight) {
    if (auto found = renamed.find(weight.getName()); found != renamed.end())
      weight.setName(found->second);
  });
  model.tensors = std::move(kept);
  warnOfUnread(architecture, *checkpoint, scores, options, model);
  std::string name = checkpoint->name();
  std::vector<std::unique_ptr<WeightSource>> owned = modules.take();
  owned.push_back(std::move(checkpoint));
  model.weights = makeViewSource(std::move(name), std::move(views), std::move(owned));
  return {};
}

/// Labels in numeric order. Without names in the configuration these are Transformers' default
/// names for `count` classes.
static Expected<std::vector<std::string>> labelsOf(const Json &config, const std::string &path,
                                                   int64_t count) {
  const Json labels = config.value("id2label", Json());
  std::vector<std::string> list;
  if (labels.is_null()) {
    for (int64_t i = 0; i < count; ++i)
      list.push_back("LABEL_" + std::to_string(i));
    return list;
  }
  if (!labels.is_object())
    return inputError(path + ": id2label: expected an object of texts, found " + shown(labels));
  for (size_t i = 0; i < labels.size(); ++i) {
    std::string key = std::to_string(i);
    if (!labels.contains(key) || !labels[key].is_string())
      return inputError(path + ": id2label: expected a text for each number below " +
                        std::to_string(labels.size()) + ", found none for " + key);
    list.push_back(labels[key].get<std::string>());
  }
  return list;
}

/// Adds the class names, which are stored in the compiled model. Names with line ends are stored as
/// JSON.
static Status addLabels(const Json &config, const std::string &path, const std::string &head,
                        Description &description) {
  const bool detects = description.detector.has_value();
  if (!detects && (head.find("Classification") == std::string::npos || !description.classifier))
    return {};
  // The last class of a detector is no object, and has no name.
  const int64_t size = detects ? description.detector->classes - 1 : description.classifier->size;
  const std::vector<std::string> labels = HEDDLE_TRY(labelsOf(config, path, size));
  if (std::ssize(labels) != size)
    return {}; // the configuration has another number of names
  const bool isJson = std::ranges::any_of(
      labels, [](const std::string &label) { return label.find_first_of("\r\n") != label.npos; });
  const std::string name = isJson ? "labels.json" : "labels.txt";
  description.texts[name] = isJson ? Json(labels).dump() : llvm::join(labels, "\n") + "\n";
  (detects ? description.detector->labels : description.classifier->labels) = name;
  return {};
}

/// Returns whether `json` describes a model that gives one vector per token: it has neither pooling
/// nor a classifier, except the classifier for masked words.
static bool givesRowsOfTokens(const Json &json, const Architecture &architecture) {
  const bool classifies = json.contains("classifier") && architecture.head() != "ForMaskedLM";
  return !classifies && json.contains("source") && json["source"].contains("vocabulary") &&
         json.value("kind", Json()) == "encoder" && json.contains("encoder") &&
         json["encoder"].is_object() && json["encoder"].value("pool", Json()).is_null();
}

/// Adds pooling to a folder without modules.json if the caller wants one vector per text: `--pool`,
/// or else the mean if there is no pooling yet, as in Sentence-Transformers. Returns whether
/// pooling was added.
static Expected<bool> poolRows(FolderModel &model, const ImportOptions &options,
                               Architecture &architecture, Json &json) {
  const std::string &folder = model.folder;
  const bool isAsked = !options.pool.empty();
  const bool writes = json.value("kind", Json()) == "encoder-decoder";
  if (!isAsked && !(options.needsVectors && (writes || givesRowsOfTokens(json, architecture))))
    return false;
  Json config = model.config;
  config.erase("architectures");
  Architecture bare = HEDDLE_TRY(Architecture::load(folder, std::move(config), options.part));
  Json bareJson = HEDDLE_TRY(bare.description());
  if (!isAsked && bareJson.value("kind", Json()) != "encoder")
    return false; // BART's decoder is not a head
  architecture = std::move(bare);
  json = std::move(bareJson);
  if (isAsked && !json["encoder"].is_object())
    return usageError("--pool: expected a model with an encoder, found " + folder);
  json["encoder"]["pool"] = isAsked ? options.pool : "mean";
  if (!isAsked)
    model.warnings.push_back((isGguf(folder)
                                  ? folder + ": pooling_type: expected a pooling, found none"
                                  : (fs::path(folder) / "modules.json").string() +
                                        ": expected a pooling, found no such file") +
                             ": vectors are the mean of the rows of a text's tokens, as "
                             "Sentence-Transformers takes it; --pool says another");
  return true;
}

constexpr int64_t usualContext = 4096; ///< default capacity of caches in tokens

/// Sets the limit of a decoder with `longrope` factors to the capacity of its caches. The short
/// factors are exact if the caches hold no more than the trained context. Otherwise the long
/// factors are used, with a warning that Transformers would use the short ones for shorter texts.
static void limitFactors(const ImportOptions &options, FolderModel &model, Json &description) {
  const Json position = description.value("position", Json());
  const Json scaling = position.is_object() ? position.value("scaling", Json()) : Json();
  Json &limit = description["target"]["limit"];
  if (!scaling.is_object() || !scaling.value("short_factor", Json()).is_array() ||
      !limit.is_number_integer())
    return;
  const int64_t held = options.context.value_or(usualContext);
  if (held < limit.get<int64_t>())
    limit = held;
  Json original = scaling.value("original_max_position_embeddings", Json());
  if (original.is_null())
    original = position.value("original-length", Json());
  if (original.is_number_integer() && limit > original && !isGguf(model.folder) &&
      scaling["short_factor"] != scaling.value("long_factor", Json()))
    model.warnings.push_back(
        configPath(model.folder) + ": long_factor: expected a context of at most " +
        shown(original) + " tokens, found " + shown(limit) +
        ": texts of fewer tokens take the long factors too, where Transformers "
        "takes the short ones; --context=" +
        shown(original) + " takes these");
}

/// Checks `--context` against the number of positions of the model. Without it, caches hold the
/// smaller of this number and the default capacity.
static Status limitCaches(const ImportOptions &options, const std::string &path,
                          Description &description) {
  if (!description.target)
    return {};
  int64_t &limit = description.target->limit;
  if (options.context && *options.context > limit)
    return usageError("--context: expected at most " + std::to_string(limit) +
                      " tokens, the positions of " + path + ", found " +
                      std::to_string(*options.context));
  limit = std::min(limit, usualContext);
  return {};
}

/// Warns of parts of the folder that the model does not use.
static void warnOfRest(const Architecture &architecture, const std::string &path,
                       const ImportOptions &options, ImportedModel &model) {
  if (std::vector<std::string> unread = architecture.unreadKeys(); !unread.empty())
    model.warnings.push_back(path + ": expected only keys that " + architecture.path() +
                             " reads, found " + listed(unread));
  for (const std::string &note : architecture.notes())
    model.warnings.push_back(path + ": " + note);
  if (std::string others = architecture.otherParts(); !others.empty() && options.part.empty())
    model.warnings.push_back(path +
                             ": expected --part where a folder holds several models, found "
                             "none: this is the first, with " +
                             others);
  if (!architecture.missingHead().empty())
    model.warnings.push_back(path + ": architectures: expected a head that " + architecture.path() +
                             " has, found " + quotedText(architecture.missingHead()) +
                             ", which is left out");
}

/// Attributes an error in the generated description to --pool or to the file that gave the value.
static Error ofFolder(Error problem, const std::string &path, const ImportOptions &options,
                      const Architecture &architecture) {
  llvm::StringRef message = problem.message;
  if (!options.pool.empty() && message.consume_front(path + ": encoder.pool: "))
    return usageError("--pool: " + message.str());
  if (!options.recipe.empty() && message.consume_front(path + ": training."))
    return inputError(options.recipe + ": " + message.str());
  return architecture.ofDescription(std::move(problem), path);
}

/// Derives the head from the checkpoint if the configuration names no class.
static Status takeHead(FolderModel &model, const WeightSource &checkpoint,
                       const ImportOptions &options, Architecture &architecture) {
  const Json classes = model.config.value("architectures", Json());
  if (model.hasStages() || (classes.is_array() && !classes.empty()) || isGguf(model.folder))
    return {};
  const std::string head = HEDDLE_TRY(architecture.headOf(checkpoint));
  if (head.empty())
    return {};
  model.config["architectures"] = Json::array({head});
  architecture = HEDDLE_TRY(Architecture::load(model.folder, model.config, options.part));
  model.warnings.push_back(
      configPath(model.folder) +
      ": architectures: expected the class of the model, found none: its tensors are "
      "those of a class that ends with " +
      head);
  return {};
}

/// Adds what accompanies the configuration: labels, tokenizers, templates, and facts for commands.
static Status addTexts(const FolderModel &model, const ImportOptions &options,
                       const Architecture &architecture, Description &description) {
  const std::string &folder = model.folder;
  const Json &config = model.config;
  HEDDLE_TRY(addLabels(config, configPath(folder), architecture.head(), description));
  HEDDLE_TRY(addTokenizer(folder, options.needsTexts, model.tokenizerChanges(), description));
  HEDDLE_TRY(addChatTemplate(folder, description));
  HEDDLE_TRY(addPreprocessor(folder, options.needsTexts, description));
  if (takesAudio(description) && description.isEncoderDecoder())
    HEDDLE_TRY(addSpeech(folder, config, options.needsTexts, description));
  HEDDLE_TRY(addTask(model.root, folder, config, architecture.head(), model.modules, description));
  HEDDLE_TRY(addLanguages(config, description));
  HEDDLE_TRY(addTasks(folder, config, description));
  return limitCaches(options, configPath(folder), description);
}

/// Returns whether Sentence-Transformers scores pairs with the model's own head: by modules.json,
/// by keys of older versions, or because there is one class.
static bool isCrossEncoder(const FolderModel &source, const std::string &head,
                           const Description &description) {
  if (source.modules)
    return source.modules->ofHead;
  return source.config.contains("sentence_transformers") ||
         source.config.contains("sbert_ce_default_activation_function") ||
         (head == "ForSequenceClassification" && description.classifier &&
          description.classifier->size == 1);
}

/// Opens the folder and checks that the options fit it.
static Expected<FolderModel> openModel(const std::string &root, const ImportOptions &options) {
  if (!options.weights.empty())
    return usageError("--weights: expected a .mlir model with it, found " + root +
                      ", which has weights of its own");
  FolderModel source = HEDDLE_TRY(FolderModel::open(root));
  if (isGguf(root) && !options.adapter.empty())
    return usageError("--adapter: expected a Hugging Face folder with it, found " + root);
  if (source.hasStages() && !options.pool.empty())
    return usageError("--pool: expected " +
                      std::string(isGguf(root) ? "a file without pooling_type"
                                               : "a folder without modules.json") +
                      ", found " + root);
  return source;
}

/// Prepares a folder that is to be trained, and rejects the options of training without it.
static Status takeTraining(FolderModel &source, const ImportOptions &options) {
  if (options.training)
    return prepareTraining(options, source);
  if (!options.labels.empty() || !options.recipe.empty())
    return usageError(std::string(options.labels.empty() ? "--recipe" : "--labels") +
                      ": expected --training with it, found none");
  return {};
}

/// Adds the scores of tokens, the modules or a pooling to a description. Returns whether the model
/// gives vectors of texts.
static Expected<bool> addStages(FolderModel &source, const std::optional<TokenScores> &scores,
                                const ImportOptions &options, Architecture &architecture,
                                Json &json) {
  if (scores)
    scores->addTo(json);
  else if (source.hasStages())
    HEDDLE_TRY(addModules(source, json));
  else
    return poolRows(source, options, architecture, json);
  return source.hasStages() && !scores;
}

/// Adds the settings of generation if the model writes texts.
static Status addGeneration(FolderModel &source, const ImportOptions &options, Json &json) {
  const Json target = json.value("target", Json());
  if (!target.is_object() || target.contains("queries"))
    return {};
  HEDDLE_TRY(
      addGenerationConfig(source.folder, source.config, json, source.files, source.warnings));
  limitFactors(options, source, json);
  return {};
}

/// Stages give vectors, whatever head was trained. A sparse vector is pooled from the logits of the
/// head for masked words.
static void takeHeadOfStages(FolderModel &source) {
  if (source.hasStages())
    source.config.erase("architectures");
  if (source.modules && source.modules->sparse)
    source.config["architectures"] = Json::array({"ForMaskedLM"});
}

Expected<ImportedModel> heddle::importFolder(const std::string &root, const ImportOptions &options,
                                             mlir::MLIRContext &context) {
  FolderModel source = HEDDLE_TRY(openModel(root, options));
  std::optional<SentenceModules> &modules = source.modules;
  const std::string &folder = source.folder;
  const std::string path = configPath(folder);
  std::optional<TokenScores> scores;
  if (modules && modules->score)
    scores = HEDDLE_TRY(TokenScores::load(folder, source.config, *modules->score));
  HEDDLE_TRY(takeTraining(source, options));
  takeHeadOfStages(source);
  Architecture architecture = HEDDLE_TRY(Architecture::load(folder, source.config, options.part));
  if (const auto &parts = architecture.joinedParts();
      !parts.empty() && !options.training && options.pool.empty())
    return importPair(root, parts[0], parts[1], options, context);
  auto checkpoint = source.openWeights(); // the configuration's errors are reported first
  if (checkpoint)
    HEDDLE_TRY(takeHead(source, **checkpoint, options, architecture));
  if (checkpoint && !options.adapter.empty())
    checkpoint = mergeAdapter(options.adapter, source.config, std::move(*checkpoint), source.files,
                              source.warnings);
  source.config.update(HEDDLE_TRY(architecture.generation()));
  Json json = HEDDLE_TRY(architecture.description());
  if (modules)
    llvm::append_range(source.warnings, modules->warnings);
  if (checkpoint)
    HEDDLE_TRY(architecture.decideTies(**checkpoint, json, source.warnings));
  const bool givesVectors = HEDDLE_TRY(addStages(source, scores, options, architecture, json));
  HEDDLE_TRY(addGeneration(source, options, json));
  json["weights"] = {{"seed", 0}}; // placeholder for the checkpoint
  if (options.training)
    json["training"] = HEDDLE_TRY(recipeOf(architecture, options));
  auto read = readDescription(std::move(json), path, options.mask);
  if (!read)
    return ofFolder(read.takeError(), path, options, architecture);
  Description description = std::move(*read);
  HEDDLE_TRY(addTexts(source, options, architecture, description));
  HEDDLE_TRY(limitTexts(source,
                        givesVectors || isCrossEncoder(source, architecture.head(), description),
                        description));
  ImportedModel model = HEDDLE_TRY(importWithoutWeights(description, options, context));
  if (options.training)
    HEDDLE_TRY(addFolderFiles(source, model));
  source.files.push_back((fs::path(folder) / architectureFile).string()); // protected from outputs
  model.files.insert(model.files.end(), source.files.begin(), source.files.end());
  llvm::append_range(model.warnings, source.warnings);
  warnOfRest(architecture, path, options, model);
  if (options.needsWeights) {
    if (!checkpoint)
      return checkpoint.takeError();
    auto tensors = HEDDLE_TRY(ModuleTensors::open(modules, model.files));
    HEDDLE_TRY(bindTensors(architecture, std::move(*checkpoint), std::move(tensors), scores,
                           options, model));
  } else {
    model.weights = HEDDLE_TRY(makeSeededWeights(0, {}));
  }
  return model;
}
