//===- Adapter.cpp - Merging of LoRA adapters -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads an adapter and merges it into the tensors of a checkpoint. The product of the two low-rank
// matrices is computed row by row when a tensor is packed, so a merged model needs no copy of its
// weights.

#include "Adapter.h"

#include "heddle/Pack/Safetensors.h"
#include "heddle/Pack/TensorView.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Regex.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <map>

using namespace heddle;
using llvm::StringRef;
namespace fs = std::filesystem;

namespace {

/// Beginning of the names of all tensors of an adapter.
constexpr llvm::StringLiteral prefix = "base_model.model.";

/// A matrix in memory.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;

  const float *row(int64_t number) const { return values.data() + number * columns; }
};

Matrix transposedOf(const Matrix &from) {
  Matrix to{from.columns, from.rows, std::vector<float>(from.values.size())};
  for (int64_t i = 0; i < from.rows; ++i)
    for (int64_t j = 0; j < from.columns; ++j)
      to.values[j * to.columns + i] = from.values[i * from.columns + j];
  return to;
}

/// A matrix to which scale * left * right is added.
class AdaptedView : public TensorView {
public:
  AdaptedView(TensorViewRef base, Matrix left, Matrix right, float scale,
              const std::string &adapter)
      : TensorView(base->shape(), "adapted(" + base->recipe() + ", " + adapter + ")"),
        base(std::move(base)), left(std::move(left)), right(std::move(right)), scale(scale) {}

  void read(int64_t first, std::span<float> out) const override {
    base->read(first, out);
    const int64_t end = first + std::ssize(out);
    std::vector<float> sums;
    for (int64_t at = first; at < end;) {
      const int64_t row = at / right.columns, column = at % right.columns,
                    count = std::min(right.columns - column, end - at);
      sums.assign(static_cast<size_t>(count), 0.0F);
      for (int64_t k = 0; k < left.columns; ++k)
        for (int64_t c = 0; c < count; ++c)
          sums[c] += left.row(row)[k] * right.row(k)[column + c];
      for (int64_t c = 0; c < count; ++c)
        out[at - first + c] += scale * sums[c];
      at += count;
    }
  }

private:
  TensorViewRef base;
  Matrix left, right;
  float scale;
};

/// Keys of adapter_config.json that do not change the merged weights, and keys that are read.
constexpr std::array<StringRef, 21> harmlessKeys{"auto_mapping",
                                                 "base_model_name_or_path",
                                                 "corda_config",
                                                 "fan_in_fan_out",
                                                 "eva_config",
                                                 "exclude_modules",
                                                 "inference_mode",
                                                 "layers_pattern",
                                                 "layers_to_transform",
                                                 "loftq_config",
                                                 "lora_dropout",
                                                 "megatron_config",
                                                 "megatron_core",
                                                 "modules_to_save",
                                                 "peft_version",
                                                 "qalora_group_size",
                                                 "revision",
                                                 "runtime_config",
                                                 "target_modules",
                                                 "task_type",
                                                 "rank_pattern"};
constexpr std::array<StringRef, 10> readKeys{
    "peft_type",           "r",       "lora_alpha",    "use_rslora",
    "ensure_weight_tying", "bias",    "alpha_pattern", "init_lora_weights",
    "lora_bias",           "use_dora"};
/// Ends of the names of tables of tokens, and of heads of language models.
constexpr std::array<StringRef, 5> tableNames{"embed_tokens.weight", "wte.weight",
                                              "word_embeddings.weight", "shared.weight",
                                              "embed_in.weight"};
constexpr std::array<StringRef, 3> headNames{"lm_head.weight", "embed_out.weight",
                                             "decoder.weight"};
/// Modules of GPT-2 that store transposed matrices.
constexpr std::array<StringRef, 4> transposedModules{"c_attn", "c_proj", "c_fc", "q_attn"};
/// Initialisations that leave the weights of the model as they are.
constexpr std::array<StringRef, 3> plainInitialisations{"gaussian", "eva", "orthogonal"};

/// Reads an adapter and merges it.
class AdapterReader {
public:
  AdapterReader(const std::string &folder, const Json &model, const WeightSource &checkpoint)
      : configFile((fs::path(folder) / "adapter_config.json").string()),
        weightsFile((fs::path(folder) / "adapter_model.safetensors").string()), model(model),
        checkpoint(checkpoint) {}

  Status open(std::vector<std::string> &files, std::vector<std::string> &warnings);
  /// Tensors of the checkpoint and of the adapter, as the merged model has them.
  Expected<std::vector<std::pair<std::string, TensorViewRef>>> merged();
  std::unique_ptr<WeightSource> takeWeights() { return std::move(weights); }

private:
  Status checkConfig(std::vector<std::string> &warnings);
  Error wrong(const std::string &key, const std::string &expected) const {
    return inputError(configFile + ": " + key + ": expected " + expected + ", found " +
                      shown(config.value(key, Json())));
  }
  Expected<int> changedBy(const TensorInfo &tensor, StringRef name) const;
  Status checkTable(const TensorInfo &tensor, int base) const;
  bool isTransposed(StringRef module) const;
  Expected<Matrix> matrix(const std::string &name) const;
  Expected<float> scaleOf(StringRef module, int64_t rank) const;
  Status replace(const TensorInfo &tensor, int index);
  Status adapt(StringRef module, const TensorInfo &tensor, bool isTable);

  const std::string configFile, weightsFile;
  const Json &model;
  const WeightSource &checkpoint;
  Json config;
  std::unique_ptr<WeightSource> weights;
  std::map<int, TensorViewRef> changed; ///< views by the number of the checkpoint's tensor
};

} // namespace

Status AdapterReader::checkConfig(std::vector<std::string> &warnings) {
  if (config.value("peft_type", Json()) != "LORA")
    return wrong("peft_type", "'LORA'");
  if (!config.value("lora_alpha", Json()).is_number())
    return wrong("lora_alpha", "a number");
  for (const char *key : {"use_dora", "lora_bias", "use_qalora", "use_bdlora"})
    if (Json value = config.value(key, Json()); !value.is_null() && value != false)
      return wrong(key, "false, as no other form is supported");
  for (const char *key : {"layer_replication", "target_parameters", "trainable_token_indices",
                          "arrow_config", "alora_invocation_tokens"})
    if (Json value = config.value(key, Json()); !value.is_null() && !value.empty())
      return wrong(key, "null, as such adapters are not supported");
  if (Json value = config.value("init_lora_weights", Json()); value.is_string())
    if (!llvm::is_contained(plainInitialisations, value.get<std::string>()))
      return wrong("init_lora_weights",
                   "an initialization that does not change the weights of the model");
  for (const auto &[key, value] : config.items())
    if (!llvm::is_contained(harmlessKeys, key) && !llvm::is_contained(readKeys, key) &&
        !value.is_null() && value != false && !value.empty())
      warnings.push_back(configFile + ": expected only known keys of peft, found " +
                         quotedText(key));
  return {};
}

Status AdapterReader::open(std::vector<std::string> &files, std::vector<std::string> &warnings) {
  config = HEDDLE_TRY(readJsonObject(configFile));
  HEDDLE_TRY(checkConfig(warnings));
  weights = HEDDLE_TRY(openSafetensors(weightsFile));
  files.insert(files.end(), {configFile, weightsFile});
  return {};
}

/// The tensor of the checkpoint that a tensor of the adapter changes. Classes with and without a
/// head name the same tensor with different prefixes.
Expected<int> AdapterReader::changedBy(const TensorInfo &tensor, StringRef name) const {
  for (StringRef rest = name; !rest.empty(); rest = rest.split('.').second)
    if (int index = checkpoint.find(rest.str()); index >= 0)
      return index;
  std::vector<int> found;
  for (auto [index, base] : llvm::enumerate(checkpoint.tensors()))
    if (StringRef(base.name).ends_with(("." + name).str()))
      found.push_back(static_cast<int>(index));
  if (found.size() == 1)
    return found.front();
  return inputError(weightsFile + ": " + printable(tensor.name) + ": expected a tensor " +
                    printable(name.str()) + " in " + checkpoint.name() +
                    ", which the adapter changes, found " +
                    (found.empty() ? "none" : std::to_string(found.size()) + " that end so"));
}

/// Checks that a tensor which the adapter changes is not also the head of a language model. peft
/// changes the table alone and leaves the head as it was.
Status AdapterReader::checkTable(const TensorInfo &tensor, int base) const {
  const StringRef name = checkpoint.tensors()[base].name;
  auto endsName = [&](StringRef end) { return name.ends_with(end); };
  if (llvm::none_of(tableNames, endsName) || config.value("ensure_weight_tying", Json()) == true)
    return {};
  const Json classes = model.value("architectures", Json::array());
  const std::string className =
      classes.is_array() && !classes.empty() && classes[0].is_string() ? classes[0] : Json("LM");
  if (!StringRef(className).contains("LM") && !StringRef(className).contains("Conditional"))
    return {};
  auto isHead = [](const TensorInfo &info) {
    auto ends = [&](StringRef end) { return StringRef(info.name).ends_with(end); };
    return llvm::any_of(headNames, ends);
  };
  const Json tied = model.value("tie_word_embeddings", Json());
  if (tied.is_boolean() ? !tied.get<bool>() : llvm::any_of(checkpoint.tensors(), isHead))
    return {};
  return inputError(weightsFile + ": " + printable(tensor.name) +
                    ": expected no change of a table that is also the head of the model, as peft "
                    "would leave the head unchanged, found one");
}

/// Classes of GPT-2 store the transposed matrices of the linear layers of their blocks.
bool AdapterReader::isTransposed(StringRef module) const {
  return model.value("model_type", Json()) == "gpt2" &&
         llvm::is_contained(transposedModules, module.rsplit('.').second);
}

Expected<Matrix> AdapterReader::matrix(const std::string &name) const {
  const int index = weights->find(name);
  if (index < 0)
    return inputError(weightsFile + ": expected a tensor " + printable(name) + ", found none");
  HEDDLE_TRY(weights->checkReadable(index));
  const TensorInfo &info = weights->tensors()[index];
  if (info.shape.size() != 2)
    return inputError(weightsFile + ": " + printable(name) + ": expected a matrix, found " +
                      shapeText(info.shape));
  Matrix read{info.shape[0], info.shape[1], std::vector<float>(info.elements())};
  weights->read(index, 0, read.values);
  return read;
}

/// The factor of the product of a module: alpha / rank, or alpha / sqrt(rank) with use_rslora.
/// Patterns of names may give some modules another alpha.
Expected<float> AdapterReader::scaleOf(StringRef module, int64_t rank) const {
  double alpha = config["lora_alpha"].get<double>();
  const Json patterns = config.value("alpha_pattern", Json::object());
  for (const auto &[pattern, value] : patterns.items()) {
    std::string problem;
    llvm::Regex regex("^(.*\\.)?(" + pattern + ")$");
    if (!regex.isValid(problem) || StringRef(pattern).contains('\\') || !value.is_number())
      return inputError(configFile +
                        ": alpha_pattern: expected names of modules and numbers, found " +
                        shown(patterns));
    if (regex.match(module)) {
      alpha = value.get<double>();
      break;
    }
  }
  const auto count = static_cast<double>(rank);
  const bool isRoot = config.value("use_rslora", Json(false)) == true;
  return static_cast<float>(alpha / (isRoot ? std::sqrt(count) : count));
}

/// Takes a tensor that the adapter stores whole. peft names it after the module, or after the layer
/// that the adapter wraps.
Status AdapterReader::replace(const TensorInfo &tensor, int index) {
  std::string name = tensor.name.substr(prefix.size());
  for (StringRef word : {".base_layer", ".modules_to_save"})
    if (size_t at = name.find(word); at != std::string::npos)
      name.erase(at, word.size());
  const int base = HEDDLE_TRY(changedBy(tensor, name));
  HEDDLE_TRY(checkTable(tensor, base));
  HEDDLE_TRY(weights->checkReadable(index));
  if (tensor.shape != checkpoint.tensors()[base].shape)
    return inputError(weightsFile + ": " + printable(tensor.name) + ": expected " +
                      shapeText(checkpoint.tensors()[base].shape) + " as in " + checkpoint.name() +
                      ", found " + shapeText(tensor.shape));
  changed[base] = viewOf(*weights, index);
  return {};
}

/// Adds the product of a module's two matrices. A table of embeddings has a row for each column of
/// A.
Status AdapterReader::adapt(StringRef module, const TensorInfo &tensor, bool isTable) {
  const std::string stem = (prefix + module).str(), inner = isTable ? ".lora_embedding_" : ".lora_",
                    end = isTable ? "" : ".weight", nameOfB = stem + inner + "B" + end;
  const Matrix a = HEDDLE_TRY(matrix(tensor.name)), b = HEDDLE_TRY(matrix(nameOfB));
  const int base = HEDDLE_TRY(changedBy(tensor, (module + ".weight").str()));
  HEDDLE_TRY(checkTable(tensor, base));
  const TensorInfo &info = checkpoint.tensors()[base];
  if (a.rows != b.columns)
    return inputError(weightsFile + ": " + printable(nameOfB) + ": expected " +
                      std::to_string(a.rows) + " columns, the rows of " + printable(tensor.name) +
                      ", found " + std::to_string(b.columns));
  const bool transposed = isTable || isTransposed(module);
  const std::vector<int64_t> shape =
      transposed ? std::vector{a.columns, b.rows} : std::vector{b.rows, a.columns};
  if (info.shape != shape)
    return inputError(weightsFile + ": " + printable(tensor.name) + ": expected an adapter of " +
                      shapeText(info.shape) + ", the shape of " + printable(info.name) + " in " +
                      checkpoint.name() + ", found " + shapeText(shape));
  const float scale = HEDDLE_TRY(scaleOf(module, a.rows));
  TensorViewRef &view = changed[base];
  view = std::make_shared<AdaptedView>(view ? view : viewOf(checkpoint, base),
                                       transposed ? transposedOf(a) : b,
                                       transposed ? transposedOf(b) : a, scale, weightsFile);
  return {};
}

Expected<std::vector<std::pair<std::string, TensorViewRef>>> AdapterReader::merged() {
  std::vector<std::pair<StringRef, bool>> modules; // of low rank, and whether they are tables
  std::vector<const TensorInfo *> firsts;
  for (auto [index, tensor] : llvm::enumerate(weights->tensors())) {
    StringRef name(tensor.name);
    if (!name.consume_front(prefix))
      return inputError(weightsFile + ": expected names that begin with " + prefix.str() +
                        ", found " + printable(tensor.name));
    if (name.contains(".lora_magnitude_vector"))
      return inputError(weightsFile + ": " + printable(tensor.name) +
                        ": expected no such tensor, as DoRA is not supported");
    if (name.contains(".original_module."))
      continue; // replaced by the module to save
    if (name.ends_with(".lora_B.weight") || name.ends_with(".lora_embedding_B")) {
      std::string nameOfA = tensor.name; // B is read with the A of its module
      nameOfA[StringRef(nameOfA).rfind("B")] = 'A';
      if (weights->find(nameOfA) < 0)
        return inputError(weightsFile + ": expected a tensor " + printable(nameOfA) + " with " +
                          printable(tensor.name) + ", found none");
      continue;
    }
    const bool isTable = name.consume_back(".lora_embedding_A");
    if (isTable || name.consume_back(".lora_A.weight")) {
      modules.emplace_back(name, isTable);
      firsts.push_back(&tensor);
    } else {
      HEDDLE_TRY(replace(tensor, static_cast<int>(index)));
    }
  }
  for (auto [module, first] : llvm::zip_equal(modules, firsts))
    HEDDLE_TRY(adapt(module.first, *first, module.second));
  if (changed.empty())
    return inputError(weightsFile + ": expected tensors of an adapter, found none");
  std::vector<std::pair<std::string, TensorViewRef>> views;
  for (auto [index, tensor] : llvm::enumerate(checkpoint.tensors())) {
    auto found = changed.find(static_cast<int>(index));
    views.emplace_back(tensor.name, found != changed.end()
                                        ? found->second
                                        : viewOf(checkpoint, static_cast<int>(index)));
  }
  return views;
}

Expected<std::unique_ptr<WeightSource>>
heddle::mergeAdapter(const std::string &folder, const Json &config,
                     std::unique_ptr<WeightSource> checkpoint, std::vector<std::string> &files,
                     std::vector<std::string> &warnings) {
  AdapterReader reader(folder, config, *checkpoint);
  HEDDLE_TRY(reader.open(files, warnings));
  auto views = HEDDLE_TRY(reader.merged());
  std::string name = checkpoint->name();
  std::vector<std::unique_ptr<WeightSource>> owned;
  owned.push_back(std::move(checkpoint));
  owned.push_back(reader.takeWeights());
  return makeViewSource(std::move(name), std::move(views), std::move(owned));
}
