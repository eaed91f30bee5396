//===- PreparationTest.cpp - Pipelines that are compiled lazily ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A driver may compile a kernel at its first launch. Tests that this time is
// measured, and reported if it is long.
#include "Toy.h"

#include "Vulkan/KernelPipelines.h"

#include <gmock/gmock.h>
#include <thread>

using namespace heddle;
using namespace heddle::test;

TEST(Preparation, IsShownOnceItTakesLong) {
  std::vector<std::string> phases;
  vulkan::PipelineProgress progress([&](const std::string &phase) { phases.push_back(phase); }, 3);
  for (int i = 0; i < 2; ++i) {
    progress.begin();
    if (i == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
    progress.end();
  }
  EXPECT_THAT(phases, testing::ElementsAre("", "pipelines 2 of 3", ""));
  EXPECT_GE(progress.seconds(), 0.6);
}

TEST(Preparation, IsThatOfAFirstLaunch) {
  if (!hasVulkan())
    GTEST_SKIP() << "no Vulkan device or no glslangValidator";
  auto session = Session::fromArtifact(toyArtifact(), {.device = "vulkan"});
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->preparationSeconds(), 0);
  const Tensor x = counting({1, 3, 20});
  ASSERT_TRUE(session->run("triple", {{"x", x}}));
  const double first = session->preparationSeconds();
  EXPECT_GT(first, 0);
  ASSERT_TRUE(session->run("triple", {{"x", x}}));
  EXPECT_EQ(session->preparationSeconds(), first);
}
