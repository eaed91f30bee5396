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

/// Takes over the stages after the model in modules.json. A prompt that is not pooled changes nothing
/// of a last row. Weights that count rows from the text's beginning need the whole text, so text
/// commands refuse such a prompt.
static void addModules(SentenceModules &modules, Json &description) {
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
                                                           std::vector<std::string> &files,
                                                           const std::string &className) {
  if (!isGguf(model))
    return openCheckpoint(model, files, className);
  files.push_back(model);
  return openGgufWeights(model);
}

/// Warns of what the folder says and the model leaves out.
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

/// The configuration of a table of words' vectors. The folder has no file of it, so the tensor gives
/// the sizes.
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

namespace {
/// A folder or a GGUF file on its way to a model.
struct FolderModel {
  std::string root;   ///< what the user names
  std::string folder; ///< of the model, which Sentence-Transformers may put inside
  std::optional<SentenceModules> modules;
  Json config;
  std::vector<std::string> files; ///< that were read
  std::vector<std::string> notes; ///< about keys of the configuration that say two things

  static Expected<FolderModel> open(const std::string &root);
  bool isStatic() const { return modules && modules->first == FirstModule::Static; }
  TokenizerChanges tokenizerChanges() const {
    return {.lowers = modules && modules->lowers, .leavesSpecials = isStatic()};
  }
};
} // namespace

Expected<FolderModel> FolderModel::open(const std::string &root) {
  FolderModel model{.root = root, .folder = root};
  model.modules =
      HEDDLE_TRY(isGguf(root) ? ggufModules(root) : readSentenceModules(root, model.files));
  if (model.modules && !model.modules->modelFolder.empty())
    model.folder = model.modules->modelFolder;
  model.config = HEDDLE_TRY(model.isStatic() ? staticConfig(model.folder)
                                             : readConfig(configPath(model.folder)));
  Architecture::complete(model.config, model.notes);
  return model;
}

/// The checkpoint; the class that the configuration names is for the message of a folder without one.
static Expected<std::unique_ptr<WeightSource>> openWeights(FolderModel &model) {
  const Json classes = model.config.value("architectures", Json());
  const bool isNamed = classes.is_array() && !classes.empty() && classes[0].is_string();
  return openTensors(model.folder, model.files,
                     isNamed ? classes[0].get<std::string>() : std::string());
}

/// Takes the head of a folder whose configuration names no class by the checkpoint's tensors.
static Status takeHead(FolderModel &model, const WeightSource &checkpoint,
                       const ImportOptions &options, Architecture &architecture,
                       std::vector<std::string> &warnings) {
  const Json classes = model.config.value("architectures", Json());
  if (model.modules || (classes.is_array() && !classes.empty()) || isGguf(model.folder))
    return {};
  const std::string head = HEDDLE_TRY(architecture.headOf(checkpoint));
  if (head.empty())
    return {};
  model.config["architectures"] = Json::array({head});
  architecture = HEDDLE_TRY(Architecture::load(model.folder, model.config, options.part));
  warnings.push_back(
      configPath(model.folder) +
      ": architectures: expected the class of the model, found none: its tensors are "
      "those of a class that ends with " +
      head);
  return {};
}

/// Limits the tokens of a text as Sentence-Transformers does: by the model's settings, else by the
/// tokenizer's.
static Status limitTexts(const FolderModel &model, bool givesVectors, Description &description) {
  std::optional<int64_t> longest = model.modules ? model.modules->longest : std::nullopt;
  if (!longest && givesVectors && !isGguf(model.folder) && !model.isStatic())
    longest = HEDDLE_TRY(tokenizerLength(model.folder));
  if (longest && description.source)
    description.source->most = std::min(description.source->most.value_or(*longest), *longest);
  return {};
}

/// Adds the parts of a folder next to its configuration: labels, tokenizers, templates, and facts for
/// the commands.
static Status addTexts(const FolderModel &model, const ImportOptions &options,
                       const Architecture &architecture, Description &description) {
  const std::string &folder = model.folder;
  const Json &config = model.config;
  HEDDLE_TRY(addLabels(config, configPath(folder), architecture.head(), description));
  HEDDLE_TRY(addTokenizer(folder, options.needsTexts, model.tokenizerChanges(), description));
  HEDDLE_TRY(addChatTemplate(folder, description));
  HEDDLE_TRY(addPreprocessor(folder, options.needsTexts, description));
  if (hears(description) && description.isEncoderDecoder())
    HEDDLE_TRY(addSpeech(folder, config, options.needsTexts, description));
  HEDDLE_TRY(addTask(model.root, folder, config, architecture.head(), model.modules, description));
  HEDDLE_TRY(addLanguages(config, description));
  HEDDLE_TRY(addTasks(folder, config, description));
  return limitCaches(options, configPath(folder), description);
}

/// Whether a folder without modules.json is one that Sentence-Transformers scores pairs with.
static bool isCrossEncoder(const Json &config) {
  return config.contains("sentence_transformers") ||
         config.contains("sbert_ce_default_activation_function");
}

Expected<ImportedModel> heddle::importFolder(const std::string &root, const ImportOptions &options,
                                             mlir::MLIRContext &context) {
  if (!options.weights.empty())
    return usageError("--weights: expected a .mlir model beside it, found " + root +
                      ", which has weights of its own");
  FolderModel source = HEDDLE_TRY(FolderModel::open(root));
  std::optional<SentenceModules> &modules = source.modules;
  const std::string &folder = source.folder;
  const std::string path = configPath(folder);
  if (modules && !options.pool.empty())
    return usageError("--pool: expected " +
                      std::string(isGguf(root) ? "a file without pooling_type"
                                               : "a folder without modules.json") +
                      ", found " + root);
  std::optional<TokenScores> scores;
  if (modules && modules->score)
    scores = HEDDLE_TRY(TokenScores::load(folder, source.config, *modules->score));
  if (modules) // vectors are asked for, whatever head the checkpoint was trained with
    source.config.erase("architectures");
  std::vector<std::string> warnings;
  for (const std::string &note : source.notes)
    warnings.push_back(path + ": " + note);
  Architecture architecture = HEDDLE_TRY(Architecture::load(folder, source.config, options.part));
  auto checkpoint = openWeights(source); // an error is told below, after those of the configuration
  if (checkpoint)
    HEDDLE_TRY(takeHead(source, **checkpoint, options, architecture, warnings));
  source.config.update(HEDDLE_TRY(architecture.generation()));
  Json json = HEDDLE_TRY(architecture.description());
  bool givesVectors = modules && !scores;
  if (modules)
    llvm::append_range(warnings, modules->warnings);
  if (checkpoint)
    HEDDLE_TRY(architecture.decideTies(**checkpoint, json, warnings));
  if (scores)
    scores->addTo(json);
  else if (modules)
    addModules(*modules, json);
  else
    givesVectors =
        HEDDLE_TRY(poolRows(folder, source.config, options, architecture, json, warnings));
  if (json.contains("target") && json["target"].is_object())
    HEDDLE_TRY(addGenerationConfig(folder, source.config, json, source.files, warnings));
  json["weights"] = {{"seed", 0}}; // replaced by the checkpoint's below
  auto read = readDescription(std::move(json), path, options.masks);
  if (!read)
    return ofFolder(read.takeError(), path, options, architecture);
  Description description = std::move(*read);
  HEDDLE_TRY(addTexts(source, options, architecture, description));
  HEDDLE_TRY(limitTexts(source, givesVectors || isCrossEncoder(source.config), description));
  ImportedModel model = HEDDLE_TRY(importWithoutWeights(description, options, context));
  source.files.push_back((fs::path(folder) / architectureFile).string()); // an output is none, ever
  model.files.insert(model.files.end(), source.files.begin(), source.files.end());
  model.warnings.insert(model.warnings.end(), warnings.begin(), warnings.end());
  warnOfRest(architecture, path, options, model);
  if (options.needsWeights) {
    if (!checkpoint)
      return checkpoint.takeError();
    auto tensors = HEDDLE_TRY(ModuleTensors::open(modules, model.files));
    HEDDLE_TRY(
        bindTensors(architecture, std::move(*checkpoint), std::move(tensors), scores, model));
  } else {
    model.weights = HEDDLE_TRY(makeSeededWeights(0, {}));
  }
  return model;
}
