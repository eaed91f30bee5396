//===- Architecture.h - A Hugging Face architecture as data ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An architecture file (lib/Import/architectures/MODEL_TYPE.json, or heddle.json in
// the folder) says how a configuration becomes a model description, and from which
// tensors of the checkpoint each tensor of the description is made. docs/architectures.md
// describes its keys. Nothing below Import knows of architectures.
#pragma once

#include "ConfigExpression.h"

#include "heddle/Pack/TensorView.h"
#include "heddle/Support/Gguf.h"

#include <map>
#include <set>
#include <span>

namespace heddle {

/// The architecture files that are built in: `model_type` and text.
struct BuiltInArchitecture {
  std::string_view name, text;
};
std::span<const BuiltInArchitecture> builtInArchitectures();

/// The file of a folder that describes its architecture.
inline constexpr std::string_view architectureFile = "heddle.json";

class Architecture {
public:
  /// The file of `folder`'s model: heddle.json in it, else the built-in one of `model_type`. `config`
  /// is config.json of the folder, `part` one of the file's `parts`; empty: the first.
  static Expected<Architecture> load(const std::string &folder, Json config,
                                     const std::string &part = {});
  /// The same of a document at hand; errors are those of a file `file`.
  static Expected<Architecture> fromJson(Json document, const std::string &file,
                                         const std::string &folder, Json config,
                                         const std::string &part = {});

  /// Whether a name matches a pattern of `*` (any text), `?` and `[…]`.
  static bool matches(std::string_view pattern, std::string_view name);
  /// What config.json of the model in a GGUF file would say, by the section `gguf` of the architecture
  /// file that names the file's architecture. `load` takes it with the file's path as its folder.
  static Expected<Json> ggufConfig(const Gguf &file);
  /// A configuration as Transformers completes it: -1 is no token, and a number of classes names
  /// them.
  static void complete(Json &config);
  /// Whether `value` fits the key `name` of a configuration: sizes of tables, of rows, of heads and of
  /// layers are integers of at least 1.
  static bool fits(const std::string &name, const Json &value);

  /// The model description of the configuration, without `weights`.
  Expected<Json> description();
  /// Generation settings of config.json, by Transformers' names, that the architecture has values of
  /// its own for. They count where the folder has no generation_config.json.
  Expected<Json> generation();
  /// Whether the output matrix is the table of tokens is the checkpoint's matter where it has both:
  /// changes `classifier.tied` of the description where they differ. Where it has one of the two,
  /// that one is both.
  Status decideTies(const WeightSource &checkpoint, Json &description,
                    std::vector<std::string> &warnings);
  /// The head whose tensors the checkpoint has, for a configuration without `architectures`; empty:
  /// none.
  Expected<std::string> headOf(const WeightSource &checkpoint);
  /// The view of the checkpoint that is tensor `name` of the description.
  Expected<TensorViewRef> tensor(const TensorInfo &wanted, const WeightSource &checkpoint);
  /// Whether a tensor of the checkpoint is known and not needed.
  bool ignores(std::string_view tensor);
  /// Keys of the configuration that nothing reads and that are not known to be harmless.
  std::vector<std::string> unreadKeys() const;
  /// Recipes of the folder's own heddle.json that no tensor took, quoted, and what stands in front
  /// of them. Known once all tensors are made.
  std::vector<std::string> unreadRecipes() const;
  /// `error` of a key of the description, with the place in the file that gave the key its value.
  /// `path` is that of config.json, with which the error begins.
  Error ofDescription(Error error, const std::string &path) const;

  /// The head that the model has, of the file's heads; empty: none.
  const std::string &head() const { return headName; }
  /// The head that the folder was saved with and the file does not have; empty: there is none.
  const std::string &missingHead() const { return missing; }
  /// The parts of the folder that this is not, listed; empty: there are none.
  const std::string &otherParts() const { return others; }
  /// Keys of the configuration that say two things, of which one is taken, and keys of rotary
  /// positions that are not read.
  const std::vector<std::string> &notes() const { return disagreements; }
  /// The value of a name: a key of the configuration, a bound name, or a table.
  Expected<Json> value(const std::string &name);
  /// Checkpoint tensors that were read.
  const std::set<std::string, std::less<>> &tensorsRead() const { return read; }
  const std::string &path() const { return file; }

private:
  Architecture(std::string folder, Json config)
      : folder(std::move(folder)), config(std::move(config)) {}

  /// What the name of a built-in file begins with in messages.
  static constexpr std::string_view builtInWord = "architecture ";

  /// The file of tables and lists that architectures share.
  static const Json &common();
  static Json notBuilt(const Json &type);
  /// The object under a key; an empty one where there is none.
  static const Json &section(const Json &document, const char *key);
  /// What is wrong with the keys of `object`; empty if all are among `allowed`.
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
  Expected<TensorViewRef> changed(TensorViewRef view, const Json &json, const std::string &key,
                                  bool scales, const WeightSource &checkpoint);
  Expected<TensorViewRef> numbers(const Json &json, const std::string &key,
                                  const WeightSource &checkpoint);

  std::string folder, file, headName, missing, others;
  std::vector<std::string> disagreements;
  Json config, root; ///< the object under `config-at`, and that of the folder
  Json document;
  std::map<std::string, Json, std::less<>> bound; ///< layer, stack, prefixes, tables
  std::map<std::string, Json, std::less<>> known; ///< values of configuration keys
  std::set<std::string, std::less<>> computing;   ///< keys whose default is being computed
  std::set<std::string, std::less<>> read;
  /// Recipes of heddle.json itself that no tensor took yet, each with the recipe that was taken
  /// in its place.
  std::map<std::string, std::string, std::less<>> unreadOwn;
  int64_t made = 0; ///< values computed so far
  bool prefixesChosen = false;
  bool isLoose = false; ///< `ties` of the file: the configuration does not say what is tied
};

} // namespace heddle
