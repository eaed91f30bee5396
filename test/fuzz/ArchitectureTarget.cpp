//===- ArchitectureTarget.cpp - Fuzz targets of folders -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An input of `architecture` is heddle.json, config.json and an object, separated by NUL. The object has the shapes
// of the checkpoint's tensors (`stored`) and of the wanted ones (`wanted`).
#include "Targets.h"

#include "Architecture.h"
#include "SpeechConfig.h"

#include "heddle/Generation/Speech.h"
#include "heddle/Support/Json.h"

#include <cstdlib>

using namespace heddle;

namespace {

template <typename T>
bool succeeded(const T &result) {
  if (!result &&
      (result.error().message.empty() || result.error().message.find('\n') != std::string::npos))
    std::abort(); // an error is one line
  return static_cast<bool>(result);
}

/// Small f32 tensors, or tensors of a type that cannot be read.
std::vector<TensorInfo> tensorsOf(const Json &shapes) {
  std::vector<TensorInfo> tensors;
  if (!shapes.is_object())
    return tensors;
  for (const auto &[name, shape] : shapes.items()) {
    TensorInfo tensor{name, "f32", {}};
    int64_t count = 1;
    if (!shape.is_array())
      tensor.type = "i64";
    else
      for (const Json &size : shape)
        if (size.is_number_unsigned() && size > 0 && size < 64 && count < 4096)
          tensor.shape.push_back(size.get<int64_t>()), count *= size.get<int64_t>();
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// A checkpoint in which the value of each element is its index.
class Places : public WeightSource {
public:
  explicit Places(std::vector<TensorInfo> tensors) : infos(std::move(tensors)) {}
  const std::string &name() const override { return label; }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int tensor, int64_t first, std::span<float> out) const override {
    if (first < 0 ||
        first + static_cast<int64_t>(out.size()) > infos[static_cast<size_t>(tensor)].elements())
      std::abort(); // views must read within the tensor
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(first) + static_cast<float>(i);
  }

private:
  std::string label = "model.safetensors";
  std::vector<TensorInfo> infos;
};

} // namespace

void fuzz::readArchitecture(std::string_view bytes) {
  Json parts[3];
  for (Json &part : parts) {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    auto json = parseJson(bytes.substr(0, end), "input.json");
    if (!succeeded(json))
      return;
    part = std::move(*json);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  if (!parts[1].is_object() || !parts[2].is_object())
    return;
  auto architecture = Architecture::fromJson(parts[0], "heddle.json", "folder", parts[1]);
  if (!succeeded(architecture))
    return;
  succeeded(architecture->description());
  architecture->unreadKeys();
  const Places checkpoint(tensorsOf(parts[2].value("stored", Json())));
  for (const TensorInfo &wanted : tensorsOf(parts[2].value("wanted", Json()))) {
    auto view = architecture->tensor(wanted, checkpoint);
    architecture->ignores(wanted.name);
    if (!succeeded(view))
      continue;
    std::vector<float> values(static_cast<size_t>(std::min<int64_t>((*view)->elements(), 4096)));
    (*view)->read(0, values);
  }
}

/// Uses the settings of a folder as a transcription does.
void fuzz::readSpeech(std::string_view bytes) {
  auto settings = parseJson(bytes, "input.json");
  if (!succeeded(settings))
    return;
  auto facts = readSpeechFacts(*settings, "input.json");
  if (!succeeded(facts))
    return;
  const SpeechTokens tokens(*facts);
  for (const char *name : {"en", "<|de|>", "Haitian Creole", "\n"})
    succeeded(tokens.language(name));
  const std::vector<float> scores(300, 1);
  const std::optional<int32_t> heard = tokens.likeliestLanguage(scores);
  if (tokens.codeOf(heard).empty() && !heard)
    std::abort();
  for (bool yes : {false, true}) {
    auto prompt = tokens.prompt(tokens.usualLanguage(), yes, yes);
    if (!succeeded(prompt))
      continue;
    const auto count = std::ssize(*prompt);
    if (tokens.mostBehind(count, 20) < 0 || tokens.leastBehind(count) < 0 ||
        std::ssize(tokens.behind(std::vector<int32_t>(30, 1), *prompt, 20)) > 10 + count)
      std::abort();
  }
  std::vector<float> changed(scores);
  tokens.timestamps().apply(changed, false, std::vector<int32_t>{1, tokens.timestamps().first});
}
