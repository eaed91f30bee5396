//===- JitTest.cpp - Compile and run in one process ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C++ API: a description in, a session out, with the same numbers as the compiled file.
#include "heddle/ExecutionEngine/Jit.h"
#include "Models.h"

using namespace heddle;
using namespace heddle::test;

namespace {

std::string goldenPath(const char *name) {
  return std::string(HEDDLE_SOURCE_DIR) + "/test/data/goldens/" + name;
}

class JitTest : public testing::TestWithParam<std::string> {};

TEST_P(JitTest, GivesTheBitsOfTheFile) {
  auto file = openArtifact("pre-norm-gelu", {.device = GetParam()});
  if (!file && isMissingDevice(file.error()))
    GTEST_SKIP() << file.error().message;
  ASSERT_TRUE(file) << file.error().message;
  HEDDLE_ASSERT(session, jit(goldenPath("pre-norm-gelu"), {.device = GetParam()}));
  HEDDLE_ASSERT(golden, Golden::read("pre-norm-gelu"));
  HEDDLE_ASSERT(fromJit, call(session, "encode", golden.inputs));
  HEDDLE_ASSERT(fromFile, call(*file, "encode", golden.inputs));
  EXPECT_TRUE(sameBits(fromJit, fromFile));
}

TEST_P(JitTest, ClonesAreSessionsOfTheirOwn) {
  auto opened = jit(goldenPath("odd-sizes"), {.device = GetParam()});
  if (!opened && isMissingDevice(opened.error()))
    GTEST_SKIP() << opened.error().message;
  ASSERT_TRUE(opened) << opened.error().message;
  HEDDLE_ASSERT(golden, Golden::read("odd-sizes"));
  HEDDLE_ASSERT(clone, opened->clone());
  HEDDLE_ASSERT(one, call(*opened, "encode", golden.inputs));
  HEDDLE_ASSERT(two, call(clone, "encode", golden.inputs));
  EXPECT_TRUE(sameBits(one, two));
  // Caches are not shared: the clone has not started.
  Tensors inputs = golden.inputs;
  inputs.insert_or_assign("memory", one.at("memory"));
  HEDDLE_ASSERT(started, call(*opened, "decode_start", inputs));
  EXPECT_TRUE(started.empty());
  inputs["target"] = slice(golden.inputs.at("target"), 1, 0, 1);
  EXPECT_TRUE(call(*opened, "decode_step", inputs));
  EXPECT_FALSE(call(clone, "decode_step", inputs));
}

/// The first step after the start determines the number of sequences; another start forgets it.
TEST_P(JitTest, ADecoderAloneKeepsItsBatch) {
  auto session = jit(std::string(HEDDLE_SOURCE_DIR) + "/test/data/models/decoder.json",
                     {.device = GetParam()});
  if (!session && isMissingDevice(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;
  auto step = [&](std::vector<int32_t> tokens) {
    const auto rows = static_cast<int64_t>(tokens.size());
    return call(*session, "decode_step", {{"target", Tensor::i32({rows, 1}, tokens)}});
  };
  ASSERT_TRUE(call(*session, "decode_start", {}));
  HEDDLE_ASSERT(first, step({4, 5, 6}));
  EXPECT_FALSE(step({4, 5}));
  EXPECT_TRUE(call(*session, "decode_reorder", {{"parents", Tensor::i32({2}, std::vector{2, 0})}}));
  HEDDLE_ASSERT(second, step({7, 8}));
  ASSERT_TRUE(call(*session, "decode_start", {}));
  HEDDLE_ASSERT(row, step({6}));
  EXPECT_TRUE(sameBits(row.at("logits"), slice(first.at("logits"), 0, 2, 3)));
  HEDDLE_ASSERT(next, step({7}));
  EXPECT_TRUE(sameBits(next.at("logits"), slice(second.at("logits"), 0, 0, 1)));
}

TEST(Jit, BadModelsAreErrors) {
  EXPECT_FALSE(jit(goldenPath("nowhere")));
  EXPECT_FALSE(jit(goldenPath("odd-sizes"), {.device = "abacus"}));
}

INSTANTIATE_TEST_SUITE_P(Devices, JitTest, testing::Values<std::string>("cpu", "vulkan"),
                         [](const auto &info) { return info.param; });

} // namespace
