//===- SeededWeights.cpp - Random weights from a seed ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generates random weights. An element depends only on the seed, its tensor's name and its index,
// so any piece can be generated independently.

#include "heddle/Pack/SeededWeights.h"

#include "heddle/Support/Try.h"
#include "heddle/Support/WideClones.h"

#include <algorithm>
#include <cmath>

namespace heddle {

namespace {

uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

/// One step of splitmix64 (Steele et al. 2014) from `state`.
inline uint64_t splitmix64(uint64_t state) {
  uint64_t z = state + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Generates `count` elements of a tensor starting at `first`. All clones give equal bits: every
/// step is an integer operation or exact, except the last product, which is rounded once.
HEDDLE_WIDE_CLONES
void fillUniform(uint64_t state, uint64_t first, float factor, float *out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t z = splitmix64(state ^ (first + i));
    // 24 bits: the product and the difference are exact.
    float unit = static_cast<float>(static_cast<int32_t>(z >> 40)) * 0x1p-23f - 1.0f;
    out[i] = unit * factor;
  }
}

/// How to fill a tensor: with a constant, or from a uniform distribution.
struct Rule {
  bool constant = false;
  float value = 0; ///< the constant, or the factor f32(sqrt(3 / fan_in))
  uint64_t state = 0;
};

class SeededWeights : public WeightSource {
public:
  SeededWeights(uint64_t seed, std::vector<TensorInfo> tensors)
      : sourceName("seed " + std::to_string(seed)), seed(seed), infos(std::move(tensors)) {}

  Status makeRules() {
    for (TensorInfo &info : infos) {
      info.type = "f32";
      auto rule = HEDDLE_TRY(makeRule(info));
      rules.push_back(rule);
    }
    return {};
  }

  const std::string &name() const override { return sourceName; }
  const std::vector<TensorInfo> &tensors() const override { return infos; }

  void read(int tensor, int64_t first, std::span<float> out) const override {
    const Rule rule = rules[tensor];
    if (rule.constant) {
      std::ranges::fill(out, rule.value);
      return;
    }
    fillUniform(rule.state, static_cast<uint64_t>(first), rule.value, out.data(), out.size());
  }

private:
  Expected<Rule> makeRule(const TensorInfo &info) const {
    std::string_view tensor = info.name;
    if (tensor.ends_with(".norm.weight"))
      return Rule{true, 1.0f, 0};
    if (tensor.ends_with(".norm.bias"))
      return Rule{true, 0.0f, 0};
    auto fanIn = HEDDLE_TRY(findFanIn(info));
    float factor = static_cast<float>(std::sqrt(3.0 / static_cast<double>(fanIn)));
    return Rule{false, factor, seed ^ fnv1a64(tensor)};
  }

  /// Last dimension of the tensor, or for a bias of its weight.
  Expected<int64_t> findFanIn(const TensorInfo &info) const {
    const TensorInfo *shaped = &info;
    constexpr std::string_view bias = ".bias";
    if (info.name.ends_with(bias)) {
      std::string weight = info.name.substr(0, info.name.size() - bias.size()) + ".weight";
      int index = find(weight);
      // A tied classifier has no weight of its own: it uses the embedding of the target, or else of
      // the source.
      for (std::string_view tied : {"target.embedding.weight", "source.embedding.weight"})
        if (index < 0 && info.name == "classifier.bias")
          index = find(tied);
      if (index < 0)
        return inputError(sourceName + ": " + info.name + ": expected a tensor " + weight +
                          " with it, found none");
      shaped = &infos[index];
    }
    if (shaped->shape.empty() || shaped->shape.back() < 1)
      return inputError(sourceName + ": " + shaped->name +
                        ": expected a last dimension of at least 1, found " +
                        shapeText(shaped->shape));
    return shaped->shape.back();
  }

  std::string sourceName;
  uint64_t seed;
  std::vector<TensorInfo> infos;
  std::vector<Rule> rules;
};

} // namespace

Expected<std::unique_ptr<WeightSource>> makeSeededWeights(uint64_t seed,
                                                          std::vector<TensorInfo> tensors) {
  auto source = std::make_unique<SeededWeights>(seed, std::move(tensors));
  HEDDLE_TRY(source->makeRules());
  return std::unique_ptr<WeightSource>(std::move(source));
}

} // namespace heddle
