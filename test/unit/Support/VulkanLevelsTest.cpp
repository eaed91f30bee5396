//===- VulkanLevelsTest.cpp - Device features that kernels need -----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests modules written by hand as words.
#include "heddle/Support/VulkanLevels.h"
#include "heddle/Support/SpirvFacts.h"

#include <gmock/gmock.h>

using namespace heddle;

namespace {
/// A module with these instructions, each an opcode and its operands.
std::vector<uint32_t> moduleOf(std::initializer_list<std::vector<uint32_t>> instructions) {
  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 100, 0};
  for (const std::vector<uint32_t> &one : instructions) {
    words.push_back(static_cast<uint32_t>(one.size()) << 16 | one.front());
    words.insert(words.end(), one.begin() + 1, one.end());
  }
  return words;
}
constexpr uint32_t capability = 17, typeInt = 21, typeFloat = 22, constant = 43, shuffleXor = 346,
                   matrix = 4456;
} // namespace

TEST(VulkanLevels, NeedsAreWhatAModuleDeclares) {
  VulkanVariant variant;
  variant.features = {"old"};
  ASSERT_TRUE(findNeeds(moduleOf({{capability, 1}}), 32, variant));
  EXPECT_TRUE(variant.features.empty());
  EXPECT_EQ(variant.subgroup, 0); // no operation depends on it
  ASSERT_TRUE(
      findNeeds(moduleOf({{capability, 1}, {capability, 65}, {capability, 11}}), 32, variant));
  EXPECT_THAT(variant.features, testing::ElementsAre("shaderInt64", "subgroupShuffle"));
  EXPECT_EQ(variant.subgroup, 32);
  Status unknown = findNeeds(moduleOf({{capability, 7}}), 32, variant);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "expected a capability of SPIR-V that devices are asked for, found number 7");
  EXPECT_FALSE(findNeeds(std::vector<uint32_t>{1, 2, 3}, 32, variant));
}

TEST(VulkanLevels, ShufflesNeedSubgroupsThatHoldBoth) {
  auto needsOf = [](uint32_t mask, int64_t subgroup) {
    VulkanVariant variant;
    EXPECT_TRUE(findNeeds(moduleOf({{capability, 65},
                                    {typeInt, 1, 32, 0},
                                    {constant, 1, 10, 3}, // scope of the subgroup
                                    {constant, 1, 11, mask},
                                    {shuffleXor, 2, 12, 10, 9, 11}}),
                          subgroup, variant));
    return variant.features;
  };
  EXPECT_THAT(needsOf(2, 0), testing::ElementsAre("subgroupShuffle")); // every device has four
  EXPECT_THAT(needsOf(4, 0), testing::ElementsAre("subgroupShuffle", "subgroupSize8"));
  EXPECT_THAT(needsOf(12, 0), testing::ElementsAre("subgroupShuffle", "subgroupSize16"));
  EXPECT_THAT(needsOf(12, 32), testing::ElementsAre("subgroupShuffle")); // the size is required
}

TEST(VulkanLevels, ShapesAreThoseOfTheMatrixTypes) {
  const std::vector<uint32_t> words =
      moduleOf({{capability, 6022},
                {typeInt, 1, 32, 0},
                {typeInt, 2, 8, 1},
                {typeFloat, 3, 32},
                {typeFloat, 4, 16},
                {typeFloat, 5, 16, 0}, // bf16
                {constant, 1, 10, 0},
                {constant, 1, 11, 1},
                {constant, 1, 12, 2},
                {constant, 1, 13, 3},
                {constant, 1, 16, 16},
                {constant, 1, 17, 8},
                {constant, 1, 18, 32},
                {matrix, 20, 4, 13, 17, 16, 10}, // f16, 8 x 16
                {matrix, 21, 4, 13, 16, 16, 11},
                {matrix, 22, 3, 13, 17, 16, 12},
                {matrix, 23, 2, 13, 17, 18, 10}, // i8, 8 x 32
                {matrix, 24, 2, 13, 18, 16, 11},
                {matrix, 25, 1, 13, 17, 16, 12},
                {matrix, 26, 5, 13, 17, 17, 10}}); // bf16 without a right side
  VulkanVariant variant;
  ASSERT_TRUE(findNeeds(words, 16, variant));
  EXPECT_EQ(variant.subgroup, 16);
  EXPECT_THAT(variant.features, testing::ElementsAre("cooperativeMatrix"));
  std::vector<std::string> texts;
  for (const MatrixShape &shape : variant.matrices)
    texts.push_back(matrixText(shape) + " into " + toString(shape.sums));
  EXPECT_THAT(texts, testing::ElementsAre("f16 8x16x16 into f32", "i8 8x16x32 into i32"));
}

TEST(VulkanLevels, TheTable) {
  int before = 0;
  std::vector<std::string> names;
  for (const VulkanLevel &way : vulkanLevels()) {
    EXPECT_GE(way.level, before); // the lowest first
    EXPECT_LE(way.level, before + 1);
    before = way.level;
    EXPECT_THAT(names, testing::Not(testing::Contains(way.name())));
    names.push_back(way.name());
    for (const std::string &feature : way.features)
      EXPECT_THAT(vulkanNeeds, testing::Contains(testing::Field(&VulkanNeed::name, feature)));
  }
  EXPECT_EQ(names.front(), "0");
  EXPECT_THAT(names, testing::Contains("1-dot"));
  EXPECT_THAT(names, testing::Contains("2-16x16x16"));
}
