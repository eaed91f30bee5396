//===- VariantsTest.cpp - Kernels at several levels of Vulkan devices -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests which variants of kernels are kept, with modules of a header and one
// capability.

#include "CodeGeneration.h"

#include "gmock/gmock.h"

using namespace heddle;

namespace {
GeneratedCode::Shader shaderOf(const std::string &member, uint32_t capability) {
  return {member, {0x07230203, 0x00010300, 0, 100, 0, 2 << 16 | 17, capability}};
}

VulkanVariant variantOf(const std::string &member, int level, int64_t subgroup) {
  VulkanVariant variant;
  variant.member = member;
  variant.level = level;
  variant.subgroup = subgroup;
  return variant;
}
} // namespace

TEST(Variants, OnlyThoseWithCodeOfTheirOwnStay) {
  Program program;
  program.kernels.resize(2);
  program.kernels[0].vulkan = {variantOf("a0", 0, 0), variantOf("a1", 1, 0),
                               variantOf("a2", 2, 32)};
  program.kernels[1].vulkan = {variantOf("b0", 0, 0), variantOf("b1", 1, 0),
                               variantOf("b2", 2, 32)};
  program.kernels[1].vulkan[1].workgroup = {128, 1, 1}; // the words do not differ
  std::vector<GeneratedCode::Shader> shaders = {shaderOf("a0", 1),  shaderOf("b0", 1),
                                                shaderOf("a1", 1),  shaderOf("b1", 1),
                                                shaderOf("a2", 64), shaderOf("b2", 1)};
  ASSERT_TRUE(finishVariants(program, shaders));
  auto membersOf = [](const Kernel &kernel) {
    std::vector<std::string> members;
    for (const VulkanVariant &variant : kernel.vulkan)
      members.push_back(variant.member);
    return members;
  };
  EXPECT_THAT(membersOf(program.kernels[0]), testing::ElementsAre("a0", "a2"));
  EXPECT_THAT(membersOf(program.kernels[1]), testing::ElementsAre("b0", "b1"));
  const VulkanVariant &ballot = program.kernels[0].vulkan[1];
  EXPECT_THAT(ballot.features, testing::ElementsAre("subgroupBallot"));
  EXPECT_EQ(ballot.subgroup, 32);
  std::vector<std::string> kept;
  for (const GeneratedCode::Shader &shader : shaders)
    kept.push_back(shader.member);
  EXPECT_THAT(kept, testing::ElementsAre("a0", "b0", "b1", "a2"));
}
