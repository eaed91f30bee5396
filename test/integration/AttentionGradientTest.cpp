//===- AttentionGradientTest.cpp - Gradients of attention ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the gradients of random attentions with the reference on the CPU. A failure names its
// seed: HEDDLE_MASK_SEED=N runs only this seed.
#include "MaskRun.h"

#include <cmath>
#include <cstdlib>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr uint64_t perModule = 10;

/// Sizes with one query, one key, partial tiles, more rows than a tile, and more queries or keys
/// than a chunk.
const std::vector<Sizes> allSizes = {{1, 1, 1},    {2, 1, 70},   {2, 20, 3},   {3, 33, 33},
                                     {1, 100, 97}, {2, 97, 130}, {1, 300, 64}, {1, 530, 40},
                                     {1, 40, 530}, {1, 200, 200}};

Sizes packedSizes(uint64_t seed) {
  Random random(seed);
  Sizes sizes;
  sizes.queryStarts = sizes.keyStarts = {0};
  for (int64_t n = random.whole(1, 6); n > 0; --n) {
    int64_t queries = random.chance(20) ? 0 : random.whole(1, 120), keys = random.whole(0, 120);
    sizes.queryStarts.push_back(sizes.queryStarts.back() + queries);
    sizes.keyStarts.push_back(sizes.keyStarts.back() + (random.chance(40) ? queries : keys));
  }
  sizes.queries = std::max<int64_t>(1, sizes.queryStarts.back());
  sizes.keys = std::max<int64_t>(1, sizes.keyStarts.back());
  sizes.queryStarts.back() = sizes.queries;
  sizes.keyStarts.back() = sizes.keys;
  return sizes;
}

/// Empty if each result is within a tolerance of the expected one, relative to its largest element
/// or 1; else describes the difference.
std::string mismatchOf(const Tensors &found, const NamedRefTensors &expected) {
  for (const auto &[name, tensor] : expected) {
    double largest = 1, difference = 0;
    for (int64_t n = 0; n < tensor.size(); ++n) {
      double a = found.at(name).values<float>()[n], b = tensor.values[n];
      if (std::isnan(a) != std::isnan(b))
        return name + ": element " + std::to_string(n) + ": found " + std::to_string(a) +
               ", expected " + std::to_string(b);
      largest = std::max(largest, std::abs(b));
      difference = std::max(difference, std::abs(a - b));
    }
    if (difference > 2e-5 * largest)
      return name + ": difference " + std::to_string(difference) + ", largest " +
             std::to_string(largest);
  }
  return "";
}

struct Case {
  Kinds kinds;
  uint64_t module;
};

class AttentionGradientTest : public testing::TestWithParam<Case> {};

TEST_P(AttentionGradientTest, AgreesWithTheReference) {
  const auto &[kinds, number] = GetParam();
  std::vector<uint64_t> seeds;
  // Kernels with dropout take longer to compile.
  for (uint64_t n = 0; n < (kinds.dropout ? perModule / 2 : perModule); ++n)
    seeds.push_back(600000 + number * perModule + n);
  if (const char *only = std::getenv("HEDDLE_MASK_SEED"))
    seeds = {std::strtoull(only, nullptr, 10)};
  std::vector<Composition> compositions;
  for (uint64_t seed : seeds)
    compositions.push_back(compose(seed, "f" + std::to_string(seed), kinds));
  auto module = MaskModule::compile(compositions, {.poison = true});
  ASSERT_TRUE(module) << module.error().message << "\nseeds from " << seeds.front();
  for (size_t n = 0; n < seeds.size(); ++n) {
    const Composition &composition = compositions[n];
    Sizes sizes = kinds.documents ? packedSizes(seeds[n]) : allSizes[seeds[n] % allSizes.size()];
    NamedRefTensors inputs = composition.inputs(sizes, seeds[n]);
    auto place = "seed " + std::to_string(seeds[n]) + ", B " + std::to_string(sizes.batch) +
                 ", T " + std::to_string(sizes.queries) + ", S " + std::to_string(sizes.keys) +
                 "\n" + composition.text;
    auto expected = module->byReference(composition.name, inputs);
    ASSERT_TRUE(expected) << expected.error().message << "\n" << place;
    auto found = module->onDevice(composition.name, inputs);
    ASSERT_TRUE(found) << found.error().message << "\n" << place;
    EXPECT_EQ(mismatchOf(*found, *expected), "") << place;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (uint64_t n = 0; n < 4; ++n)
    all.push_back({{.gradients = true, .dropout = n == 2}, n});
  for (uint64_t n : {7, 8})
    all.push_back({{.documents = true, .gradients = true, .dropout = n == 8}, n});
  return all;
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  const Kinds &kinds = info.param.kinds;
  return std::string(kinds.documents ? "packed" : "plain") + (kinds.dropout ? "_dropout" : "") +
         std::to_string(info.param.module);
}

INSTANTIATE_TEST_SUITE_P(Cpu, AttentionGradientTest, testing::ValuesIn(cases()), nameOf);

} // namespace
