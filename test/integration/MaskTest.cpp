//===- MaskTest.cpp - Random masks against the reference ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares random compositions of masks and score rules with the reference on both devices. A
// failure names its seed: HEDDLE_MASK_SEED=N runs only this seed. HEDDLE_MASK_COMPOSITIONS=N sets
// the number of compositions on each device, and within packed documents.
#include "MaskRun.h"

#include <cstdlib>

using namespace heddle;
using namespace heddle::test;

namespace {

/// Compositions per module, and number of modules. Vulkan has fewer, since a software device takes
/// seconds to compile each shader again.
constexpr uint64_t perModule = 10;
constexpr uint64_t cpuModules = 50, cpuPackedModules = 5;
constexpr uint64_t vulkanModules = 24, vulkanPackedModules = 1;

/// Sizes that exercise all edges: one query, one key, fewer keys than queries, partial tiles, more
/// rows than a tile and, in the last ones, more keys than a chunk.
const std::vector<Sizes> cpuSizes = {
    {1, 1, 1},    {3, 1, 70},  {2, 20, 3},   {2, 33, 33},   {1, 100, 97}, {1, 97, 130}, {3, 17, 64},
    {1, 3, 1100}, {2, 5, 600}, {1, 49, 515}, {2, 200, 150}, {1, 33, 700}, {1, 300, 300}};
const std::vector<Sizes> gpuSizes = {{1, 1, 1},   {3, 1, 70},   {2, 20, 3},  {2, 33, 33},
                                     {1, 65, 70}, {1, 40, 130}, {2, 17, 64}, {1, 3, 260}};

/// Two sizes for a composition. Distances of alibi stay below 130: rounding a score of some
/// hundreds to f32 would already exceed the tolerance.
std::vector<Sizes> sizesOf(const Composition &composition, uint64_t seed, bool vulkan) {
  std::vector<Sizes> list = vulkan ? gpuSizes : cpuSizes;
  if (composition.text.find("alibi") != std::string::npos)
    std::erase_if(list, [](const Sizes &sizes) { return sizes.keys > 130; });
  return {list[seed % list.size()], list[(seed / 7 + 3) % list.size()]};
}

/// Random starts of documents, including empty ones.
Sizes packedSizes(uint64_t seed) {
  Random random(seed);
  Sizes sizes;
  sizes.queryStarts = sizes.keyStarts = {0};
  for (int64_t n = random.whole(1, 6); n > 0; --n) {
    int64_t queries = random.chance(20) ? 0 : random.whole(1, 45), keys = random.whole(0, 70);
    sizes.queryStarts.push_back(sizes.queryStarts.back() + queries);
    sizes.keyStarts.push_back(sizes.keyStarts.back() + (random.chance(40) ? queries : keys));
  }
  sizes.queries = std::max<int64_t>(1, sizes.queryStarts.back());
  sizes.keys = std::max<int64_t>(1, sizes.keyStarts.back());
  sizes.queryStarts.back() = sizes.queries;
  sizes.keyStarts.back() = sizes.keys;
  return sizes;
}

/// A composition and the sizes with which it runs.
struct Case {
  Composition composition;
  std::vector<Sizes> sizes;
};

/// Every second text fixes its T, its S or both: known sizes fold loops and branches.
Case caseOf(uint64_t seed, Kinds kinds, bool vulkan) {
  std::string name = "f" + std::to_string(seed);
  Composition open = compose(seed, name, kinds);
  std::vector<Sizes> sizes =
      kinds.documents ? std::vector{packedSizes(seed)} : sizesOf(open, seed, vulkan);
  if (seed % 2 == 0)
    return {open, sizes};
  if (seed / 2 % 4 != 0)
    kinds.fixed.keys = sizes[0].keys;
  if (seed / 2 % 4 != 1)
    kinds.fixed.queries = sizes[0].queries;
  return {compose(seed, name, kinds), {sizes[0]}};
}

double largestOf(const std::string &name, const NamedRefTensors &tensors) {
  double largest = 0;
  for (const auto &[key, tensor] : tensors)
    if (key == name)
      for (double x : tensor.values)
        largest = std::max(largest, std::abs(x));
  return largest;
}

class MaskTest : public testing::TestWithParam<std::tuple<std::string, uint64_t>> {
protected:
  bool onVulkan() const { return std::get<0>(GetParam()) == "vulkan"; }
  void check(const std::vector<uint64_t> &seeds, const Kinds &kinds);
  /// Type of products' operands.
  std::string dtype = "f32";
  void checkOne(MaskModule &module, const Composition &composition, uint64_t seed,
                const Sizes &sizes);
};

void MaskTest::checkOne(MaskModule &module, const Composition &composition, uint64_t seed,
                        const Sizes &sizes) {
  NamedRefTensors inputs = composition.inputs(sizes, seed);
  Expected<NamedRefTensors> expected = module.byReference(composition.name, inputs);
  std::string place = "seed " + std::to_string(seed) + ", B " + std::to_string(sizes.batch) +
                      ", T " + std::to_string(sizes.queries) + ", S " + std::to_string(sizes.keys) +
                      "\n" + composition.text;
  ASSERT_TRUE(expected) << expected.error().message << "\n" << place;
  Expected<Tensors> found = module.onDevice(composition.name, inputs);
  ASSERT_TRUE(found) << found.error().message << "\n" << place;
  // A weight near the midpoint of two bf16 may be rounded either way, which changes a row by 2^-7
  // of the value that it multiplies.
  if (dtype == "bf16")
    EXPECT_EQ(mismatch(*found, *expected, 0x1p-7, largestOf("v", inputs)), "") << place;
  else
    EXPECT_EQ(mismatch(*found, *expected), "") << place;
}

void MaskTest::check(const std::vector<uint64_t> &seeds, const Kinds &kinds) {
  std::vector<Case> cases;
  std::vector<Composition> compositions;
  for (uint64_t seed : seeds)
    compositions.push_back(cases.emplace_back(caseOf(seed, kinds, onVulkan())).composition);
  auto module = MaskModule::compile(
      compositions, {.device = std::get<0>(GetParam()), .poison = true, .dtype = dtype});
  if (!module && isMissingDevice(module.error()))
    GTEST_SKIP() << module.error().message;
  ASSERT_TRUE(module) << module.error().message << "\nseeds from " << seeds.front();
  for (size_t n = 0; n < seeds.size(); ++n)
    for (const Sizes &sizes : cases[n].sizes)
      checkOne(*module, cases[n].composition, seeds[n], sizes);
}

TEST_P(MaskTest, CompositionsAgreeWithTheReference) {
  uint64_t first = std::get<1>(GetParam()) * perModule + (onVulkan() ? 100000 : 0);
  std::vector<uint64_t> seeds;
  for (uint64_t n = 0; n < perModule; ++n)
    seeds.push_back(first + n);
  if (const char *only = std::getenv("HEDDLE_MASK_SEED"))
    seeds = {std::strtoull(only, nullptr, 10)};
  check(seeds, {});
}

/// Compositions within packed documents.
class PackedMaskTest : public MaskTest {};

TEST_P(PackedMaskTest, CompositionsAgreeWithTheReference) {
  std::vector<uint64_t> seeds;
  for (uint64_t n = 0; n < perModule; ++n)
    seeds.push_back(200000 + std::get<1>(GetParam()) * perModule + n);
  if (const char *only = std::getenv("HEDDLE_MASK_SEED"))
    seeds = {std::strtoull(only, nullptr, 10)};
  check(seeds, {.documents = true});
}

/// Compositions, also within packed documents, with operands rounded to a narrower type.
class RoundedMaskTest : public MaskTest {
protected:
  void checkRounded(const std::string &type, uint64_t first) {
    dtype = type;
    std::vector<uint64_t> seeds, packed;
    for (uint64_t n = 0; n < perModule / 2; ++n) {
      seeds.push_back(first + std::get<1>(GetParam()) * perModule + n);
      packed.push_back(first + 100000 + std::get<1>(GetParam()) * perModule + n);
    }
    check(seeds, {});
    check(packed, {.documents = true});
  }
};

TEST_P(RoundedMaskTest, CompositionsAgreeWithTheReference) { checkRounded("bf16", 300000); }

/// Keys and values of f16 have equal values on both sides.
TEST_P(RoundedMaskTest, CompositionsOfF16AgreeWithTheReference) { checkRounded("f16", 500000); }

std::string nameOf(const testing::TestParamInfo<std::tuple<std::string, uint64_t>> &info) {
  return std::get<0>(info.param) + std::to_string(std::get<1>(info.param));
}
auto modulesOn(const char *device, uint64_t count) {
  if (const char *asked = std::getenv("HEDDLE_MASK_COMPOSITIONS"))
    count = (std::strtoull(asked, nullptr, 10) + perModule - 1) / perModule;
  return testing::Combine(testing::Values<std::string>(device), testing::Range<uint64_t>(0, count));
}
INSTANTIATE_TEST_SUITE_P(Cpu, MaskTest, modulesOn("cpu", cpuModules), nameOf);
INSTANTIATE_TEST_SUITE_P(Vulkan, MaskTest, modulesOn("vulkan", vulkanModules), nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, PackedMaskTest, modulesOn("cpu", cpuPackedModules), nameOf);
INSTANTIATE_TEST_SUITE_P(Vulkan, PackedMaskTest, modulesOn("vulkan", vulkanPackedModules), nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, RoundedMaskTest, modulesOn("cpu", 4), nameOf);
INSTANTIATE_TEST_SUITE_P(Vulkan, RoundedMaskTest, modulesOn("vulkan", 1), nameOf);

} // namespace
