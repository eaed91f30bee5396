//===- Architecture.h - A Hugging Face architecture as data ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An architecture file (lib/Import/architectures/MODEL_TYPE.json, or heddle.json in the folder)
// maps a configuration to a model description and tensors of the checkpoint to tensors of the
// description. docs/architectures.md describes its keys. Only Import knows architectures.
#pragma once

#include "ConfigExpression.h"

#include "heddle/Pack/TensorView.h"
#include "heddle/Support/Gguf.h"

#include <map>
#include <set>
#include <span>

namespace heddle {

/// An architecture file that is embedded in the library: `model_type` and JSON text.
struct BuiltInArchitecture {
  std::string_view name, text;
};
std::span<const BuiltInArchitecture> builtInArchitectures();

/// Name of the architecture file inside a model's folder.
inline constexpr std::string_view architectureFile = "heddle.json";

/// One architecture file, applied to one configuration.
class Architecture {
public:
  /// Loads heddle.json of `folder`, or else the embedded file for `model_type`. `config` is
  /// config.json of the folder. `part` is one of the file's `parts`; empty selects the first.
  static Expected<Architecture> load(const std::string &folder, Json config,
                                     const std::string &part = {});
  /// As `load`, from a parsed document; errors name `file`.
  static Expected<Architecture> fromJson(Json document, const std::string &file,
                                         const std::string &folder, Json config,
                                         const std::string &part = {});

  /// Returns whether `name` matches a glob pattern: `*` (any text), `?` and `[…]`.
  static bool matches(std::string_view pattern, std::string_view name);
  /// Converts the metadata of a GGUF file to the equivalent config.json. The section `gguf` of the
  /// architecture file for the file's architecture defines the mapping. Pass the result to `load`,
  /// with the file's path as the folder.
  static Expected<Json> ggufConfig(const Gguf &file);
  /// Completes a configuration as Transformers does: -1 means no token, and a number of classes
  /// gives them default names.
  static void complete(Json &config);
  /// Returns whether `value` is valid for the configuration key `name`: sizes of tables, rows,
  /// heads and layers must be integers of at least 1.
  static bool fits(const std::string &name, const Json &value);

  /// Model description of the configuration, without `weights`.
  Expected<Json> description();
  /// Generation settings that the architecture defines, under their Transformers names. They apply
  /// if the folder has no generation_config.json.
  Expected<Json> generation();
  /// Lets the checkpoint decide whether the output matrix is the token table. If it has both and
  /// they differ, `classifier.tied` of the description becomes false. If it has only one, both use
  /// it.
  Status decideTies(const WeightSource &checkpoint, Json &description,
                    std::vector<std::string> &warnings);
  /// The head whose tensors the checkpoint has, for a configuration without `architectures`; empty:
  /// none.
  Expected<std::string> headOf(const WeightSource &checkpoint);
  /// View of the checkpoint that gives tensor `name` of the description.
  Expected<TensorViewRef> tensor(const TensorInfo &wanted, const WeightSource &checkpoint);
  /// The name under which Transformers' class saves a tensor of the checkpoint that was read: with
  /// the prefix of a base model, which the checkpoint may lack.
  std::string writtenName(const std::string &stored) const;
  /// The name under which the class saves tensor `wanted`. Its recipe must be a name.
  Expected<std::string> nameToWrite(const std::string &wanted);
  /// Probabilities of dropout by place, as the section `training.dropout` of a description.
  Expected<Json> dropout();
  /// Returns whether a tensor of the checkpoint is known to be unneeded.
  bool ignores(std::string_view tensor);
  /// Configuration keys that nothing reads and that are not known to be harmless.
  std::vector<std::string> unreadKeys() const;
  /// Recipes of the folder's own heddle.json that no tensor used, quoted, with the recipe that took
  /// precedence. Call it after all tensors are made.
  std::vector<std::string> unreadRecipes() const;
  /// Adds to an error about a description key the place in the architecture file that set the key.
  /// `path` is the path of config.json with which the error begins.
  Error ofDescription(Error error, const std::string &path) const;

  /// Head of the model, by its name in the file; empty: none.
  const std::string &head() const { return headName; }
  /// Head with which the folder was saved and that the file lacks; empty: none.
  const std::string &missingHead() const { return missing; }
  /// Names of the parts that are read together if none is chosen, of texts and of images; empty:
  /// the first one is read alone.
  const std::vector<std::string> &joinedParts() const { return joined; }
  /// The other parts of the folder as a list; empty: none.
  const std::string &otherParts() const { return others; }
  /// Configuration keys with conflicting values, where one is used, and keys of rotary positions
  /// that are not read.
  const std::vector<std::string> &notes() const { return disagreements; }
  /// Value of a name: a configuration key, a bound name or a table.
  Expected<Json> value(const std::string &name);
  /// Names of checkpoint tensors that were read.
  const std::set<std::string, std::less<>> &tensorsRead() const { return read; }
  const std::string &path() const { return file; }

private:
  Architecture(std::string folder, Json config)
      : folder(std::move(folder)), config(std::move(config)) {}

  /// Prefix of the names of embedded files in messages.
  static constexpr std::string_view builtInWord = "architecture ";

  /// Tables and lists that architectures share.
  static const Json &common();
  static Json notBuilt(const Json &type);
  /// Object under a key, or an empty object.
  static const Json &section(const Json &document, const char *key);
  /// Describes an unknown key of `object`; empty if all keys are `allowed`.
  static std::string unknownKey(const Json &object,
                                std::initializer_list<std::string_view> allowed);
  Expected<Json> readFile(const std::string &name) const;
  Status selectHead();
  Status selectPart(const std::string &wanted);
  Status check() const;
  Expected<Json> ggufSection(const Json &own) const;
  Status takeGgufTensors();
  void completeConfig();
  Status checkRequirements();
  Status choosePrefixes(const WeightSource &checkpoint);
  Expected<std::vector<std::string>> namesAfter(const std::string &mark, const std::string &key);
  Expected<int> storedAs(const std::string &key, const WeightSource &checkpoint);
  void noteTaken(const std::string &pattern, const std::string &name);

  Error error(const std::string &key, const std::string &message) const;
  Error missingTensor(const std::vector<std::string> &tried, const std::string &key,
                      const WeightSource &checkpoint) const;
  Expected<Json> configValue(const std::string &name, const Json &entry);
  Expected<Json> evaluated(const Json &value, const std::string &key);
  Expected<Json> branch(const Json &value, const std::string &key);
  Expected<Json> each(const Json &value, const std::string &key);
  template <typename Made>
  Expected<Made> computed(Expected<Made> (*compute)(std::string_view, const ConfigNames &),
                          std::string_view text, const std::string &key);
  Expected<std::string> expanded(const std::string &text, const std::string &key);
  Expected<std::string> expandedToWrite(const std::string &text, const std::string &key);
  Expected<int64_t> integer(const Json &value, const std::string &key);
  Expected<TensorViewRef> recipe(const Json &json, const std::string &key,
                                 std::span<const int64_t> wanted, const WeightSource &checkpoint);
  Expected<TensorViewRef> origin(const Json &json, const std::string &key,
                                 std::span<const int64_t> wanted, const WeightSource &checkpoint);
  Expected<TensorViewRef> stacked(const Json &json, const std::string &key,
                                  const WeightSource &checkpoint);
  Expected<TensorViewRef> positions(const Json &json, const std::string &key,
                                    std::span<const int64_t> wanted);
  Expected<TensorViewRef> stored(const Json &names, const std::string &key,
                                 const WeightSource &checkpoint);
  Expected<std::pair<double, double>> twoNumbers(const Json &json, const std::string &key);
  Expected<std::vector<int64_t>> pickedRows(const Json &json, const std::string &key, int64_t rows);
  Expected<std::vector<int64_t>> rowRange(const Json &json, const std::string &key, int64_t rows);
  Expected<std::vector<int64_t>> halvedRows(const Json &json, const std::string &key,
                                            const TensorView &view, const WeightSource &checkpoint);
  Expected<TensorViewRef> normed(TensorViewRef view, const Json &json, const std::string &key,
                                 const WeightSource &checkpoint);
  Expected<TensorViewRef> projected(TensorViewRef view, const Json &json, const std::string &key,
                                    const WeightSource &checkpoint);
  Expected<TensorViewRef> byDistance(TensorViewRef view, const Json &json, const std::string &key,
                                     std::span<const int64_t> wanted);
  std::string className() const;
  std::string partOfClass(const Json &parts) const;
  Expected<std::vector<std::string>> joinedOf(const Json &json,
                                              const std::vector<std::string> &names) const;
  Expected<TensorViewRef> asExtents(TensorViewRef view, const Json &json, const std::string &key);
  Expected<TensorViewRef> lastChannels(TensorViewRef view, const std::string &key);
  Expected<TensorViewRef> throughNorm(TensorViewRef view, const Json &json, const std::string &key,
                                      const WeightSource &checkpoint);
  Expected<TensorViewRef> changed(TensorViewRef view, const Json &json, const std::string &key,
                                  bool scales, const WeightSource &checkpoint);
  Expected<TensorViewRef> numbers(const Json &json, const std::string &key,
                                  const WeightSource &checkpoint);

  std::string folder, file, headName, missing, others;
  std::vector<std::string> joined;
  std::vector<std::string> disagreements;
  Json config, root; ///< the object under `config-at`, and the whole config.json
  Json document;
  std::map<std::string, Json, std::less<>> bound; ///< layer, stack, prefixes, tables
  std::map<std::string, Json, std::less<>> known; ///< computed values of configuration keys
  std::set<std::string, std::less<>> computing;   ///< keys in evaluation, to detect cycles
  std::set<std::string, std::less<>> read;
  std::map<std::string, std::string, std::less<>> written; ///< `writtenName` of tensors in `read`
  /// Recipes of heddle.json itself that no tensor has used yet, each with the recipe that took
  /// precedence.
  std::map<std::string, std::string, std::less<>> unreadOwn;
  int64_t made = 0; ///< number of values computed so far
  bool prefixesChosen = false;
  bool isLoose = false; ///< `ties` is set: the checkpoint alone tells which matrices are tied
};

} // namespace heddle
