//===- TensorNames.cpp - Model names of checkpoint tensors ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules for the names of wrapped models and old norms.
#include "heddle/Pack/TensorNames.h"

#include <algorithm>
#include <set>

namespace heddle {

namespace {

constexpr std::string_view parallelPrefix = "module.";

/// Removes the parts that torch.compile adds, and replaces old names of norms.
std::string modelName(std::string_view name) {
  constexpr std::string_view compiled = "_orig_mod.";
  std::string made(name);
  for (size_t at = 0; (at = made.find(compiled, at)) != std::string::npos;)
    if (at == 0 || made[at - 1] == '.')
      made.erase(at, compiled.size());
    else
      at += compiled.size();
  for (const auto &[old, current] :
       {std::pair("LayerNorm.gamma", "LayerNorm.weight"), {"LayerNorm.beta", "LayerNorm.bias"}})
    if (made.ends_with(old))
      made.replace(made.size() - std::string_view(old).size(), std::string::npos, current);
  return made;
}

/// Wraps another source and renames its tensors.
class RenamedTensors : public WeightSource {
public:
  RenamedTensors(std::unique_ptr<WeightSource> source, const std::vector<std::string> &names)
      : source(std::move(source)), infos(this->source->tensors()) {
    for (size_t i = 0; i < infos.size(); ++i)
      infos[i].name = names[i];
  }
  const std::string &name() const override { return source->name(); }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int tensor, int64_t first, std::span<float> out) const override {
    source->read(tensor, first, out);
  }
  std::span<const float> inPlace(int tensor) const override { return source->inPlace(tensor); }
  std::span<const std::byte> bytes(int tensor) const override { return source->bytes(tensor); }
  std::string fileType(int tensor) const override { return source->fileType(tensor); }
  std::optional<DType> codeType(int tensor) const override { return source->codeType(tensor); }
  std::optional<GroupCodes> codes(int tensor, int64_t first) const override {
    return source->codes(tensor, first);
  }
  std::span<const std::string_view> readableTypes() const override {
    return source->readableTypes();
  }

private:
  std::unique_ptr<WeightSource> source;
  std::vector<TensorInfo> infos;
};

} // namespace

std::vector<std::string> modelNames(const std::vector<TensorInfo> &tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const TensorInfo &tensor : tensors)
    names.push_back(modelName(tensor.name));
  // DataParallel wraps all tensors or none.
  if (std::ranges::all_of(names, [](const std::string &name) {
        return name.starts_with(parallelPrefix) && name.size() > parallelPrefix.size();
      }))
    for (std::string &name : names)
      name.erase(0, parallelPrefix.size());
  const std::multiset<std::string> all(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i)
    if (all.count(names[i]) > 1)
      names[i] = tensors[i].name;
  return names;
}

std::unique_ptr<WeightSource> withModelNames(std::unique_ptr<WeightSource> source) {
  const std::vector<std::string> names = modelNames(source->tensors());
  if (std::ranges::equal(names, source->tensors(), {}, {}, &TensorInfo::name))
    return source;
  return std::make_unique<RenamedTensors>(std::move(source), names);
}

} // namespace heddle
