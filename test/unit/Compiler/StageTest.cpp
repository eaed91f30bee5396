//===- StageTest.cpp - Tests of stages and targets ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of --emit and --target are fixed.

#include "heddle/Pipelines/Stage.h"

#include "gtest/gtest.h"

using namespace heddle;

TEST(Stage, NamesGoBothWays) {
  for (const char *name : {"transformer", "fused", "program", "tiled", "cpu", "llvm", "asm", "gpu",
                           "spirv", "artifact"}) {
    Expected<Stage> stage = parseStage(name);
    ASSERT_TRUE(stage) << name;
    EXPECT_STREQ(toString(*stage), name);
  }
}

TEST(Stage, UnknownNamesAreWrongUsage) {
  Expected<Stage> stage = parseStage("tile");
  ASSERT_FALSE(stage);
  EXPECT_EQ(stage.error().kind, ErrorKind::Usage);
  EXPECT_NE(stage.error().message.find("found 'tile'"), std::string::npos);
  Expected<TargetKind> target = parseTarget("cuda");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().message, "expected a target of cpu, vulkan, found 'cuda'");
}
