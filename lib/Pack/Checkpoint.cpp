//===- Checkpoint.cpp - Checkpoints of Hugging Face folders ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An index maps each tensor to its file. The files that it names must hold its tensors.

#include "heddle/Pack/Checkpoint.h"

#include "heddle/Pack/PytorchFile.h"
#include "heddle/Pack/Safetensors.h"
#include "heddle/Pack/TensorNames.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"
#include "heddle/Support/Try.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

namespace heddle {

namespace fs = std::filesystem;

/// A file of tensors in the format that its name says.
static Expected<std::unique_ptr<WeightSource>> openTensors(const std::string &path) {
  return path.ends_with(".bin") ? openPytorchFile(path) : openSafetensors(path);
}

namespace {
/// Tensors of several files as one source.
class Shards : public WeightSource {
public:
  explicit Shards(std::string path) : path(std::move(path)) {}

  Status read(const nlohmann::ordered_json &map, const fs::path &folder,
              std::vector<std::string> &files);

  const std::string &name() const override { return path; }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int tensor, int64_t first, std::span<float> out) const override {
    places[tensor].first->read(places[tensor].second, first, out);
  }
  std::span<const float> inPlace(int tensor) const override {
    return places[tensor].first->inPlace(places[tensor].second);
  }
  std::span<const std::byte> bytes(int tensor) const override {
    return places[tensor].first->bytes(places[tensor].second);
  }

private:
  std::string path;
  std::map<std::string, std::unique_ptr<WeightSource>> sources; ///< by file name
  std::vector<TensorInfo> infos;
  std::vector<std::pair<const WeightSource *, int>> places; ///< shard and index of each tensor
};

/// Reads the tensors of all files that the index names, in the order of the files' names. A later file
/// replaces a tensor of an earlier one, whatever the index says: Transformers reads them so.
Status Shards::read(const nlohmann::ordered_json &map, const fs::path &folder,
                    std::vector<std::string> &files) {
  std::map<std::string, std::string> firsts; // the first tensor that names a file
  for (const auto &[tensor, file] : map.items()) {
    const std::string place = path + ": weight_map." + tensor;
    const auto name = file.is_string() ? file.get<std::string>() : std::string();
    // Shards are in the folder of the index; a hostile index must not name other folders.
    if (name.empty() || fs::path(name).filename() != name)
      return inputError(place + ": expected the name of a file with it, found " +
                        quotedText(file.is_string() ? name : file.dump()));
    firsts.emplace(name, place);
  }
  std::map<std::string, size_t> known; // the place of each tensor
  for (const auto &[name, place] : firsts) {
    const std::string shard = (folder / name).string();
    if (!isThere(shard))
      return inputError(place + ": expected the file " + shard + ", found no such file");
    std::unique_ptr<WeightSource> &source = sources[name];
    source = HEDDLE_TRY(openTensors(shard));
    files.push_back(shard);
    for (size_t index = 0; index < source->tensors().size(); ++index) {
      const TensorInfo &info = source->tensors()[index];
      const auto [at, isNew] = known.emplace(info.name, infos.size());
      if (isNew) {
        infos.push_back(info);
        places.emplace_back();
      }
      infos[at->second] = info;
      places[at->second] = {source.get(), static_cast<int>(index)};
    }
  }
  for (const auto &[tensor, file] : map.items())
    if (!known.contains(tensor))
      return inputError((folder / file.get<std::string>()).string() + ": expected the tensor " +
                        quotedText(tensor) + " that the index names, found none");
  return {};
}
} // namespace

/// How to write model.safetensors without losing the model's head, which conversion with a class
/// that the folder does not name would drop.
static std::string conversionHint(const std::string &className, std::string_view file) {
  if (!className.empty())
    return "Transformers 4 with the framework of that file converts it: " + className +
           ".from_pretrained(FOLDER, " + (file.starts_with("tf") ? "from_tf" : "from_flax") +
           "=True).save_pretrained(FOLDER)";
  return "the class of Transformers that the model was saved from converts it";
}

/// The file with the tensors of a folder, or the index that names several; none if there is none.
static std::optional<std::string> checkpointFile(const fs::path &folder) {
  for (const char *name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"})
    if (isThere(folder / name))
      return (folder / name).string();
  return std::nullopt;
}

Expected<std::unique_ptr<WeightSource>> openCheckpoint(const std::string &folder,
                                                       std::vector<std::string> &files,
                                                       const std::string &className) {
  const std::optional<std::string> found = checkpointFile(folder);
  if (!found) {
    for (const char *other : {"tf_model.h5", "flax_model.msgpack"})
      if (isThere(fs::path(folder) / other))
        return inputError(folder + ": expected model.safetensors, found " + other + " only; " +
                          conversionHint(className, other));
    const bool isAdapter = isThere(fs::path(folder) / "adapter_config.json");
    return inputError(folder +
                      ": expected model.safetensors, model.safetensors.index.json or "
                      "pytorch_model.bin, found " +
                      (isAdapter ? "an adapter, which peft merges into its model: "
                                   "merge_and_unload().save_pretrained(FOLDER)"
                                 : "none"));
  }
  files.push_back(*found);
  if (!found->ends_with(".json"))
    return withModelNames(HEDDLE_TRY(openTensors(*found)));
  std::string text = HEDDLE_TRY(readTextFile(*found, int64_t(1) << 28));
  auto json = HEDDLE_TRY(parseJson(text, *found));
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    return inputError(*found + ": weight_map: expected an object, found none");
  auto shards = std::make_unique<Shards>(*found);
  HEDDLE_TRY(shards->read(json["weight_map"], folder, files));
  return withModelNames(std::move(shards));
}

} // namespace heddle
