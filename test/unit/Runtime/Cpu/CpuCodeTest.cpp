//===- CpuCodeTest.cpp - Native code --------------------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which member is chosen, and the mode that kernels run in.
//
//===----------------------------------------------------------------------===//
#include "Toy.h"

#include "Cpu/DenormalGuard.h"
#include "heddle/Runtime/Cpu/CpuCode.h"
#include "heddle/Support/CpuFeatures.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;

static Artifact
artifactWith(std::vector<std::pair<std::string, std::vector<std::string>>> members) {
  std::vector<char> object =
      compileC(std::string(HEDDLE_SOURCE_DIR) + "/test/unit/Runtime/kernels/toy.c");
  Program program = toyProgram();
  for (Kernel &kernel : program.kernels)
    kernel.vulkan.reset();
  ArtifactWriter writer(std::move(program));
  for (auto &[isa, features] : members)
    writer.addCpu(isa, features, object);
  auto artifact = writer.build("toy", [](std::span<std::byte>) { return Status(); });
  EXPECT_TRUE(artifact) << artifact.error().message;
  return std::move(*artifact);
}

TEST(Cpu, TheMemberThatAsksMostIsChosen) {
  std::vector<std::string> here = cpuFeatures();
  ASSERT_GE(here.size(), 2u);
  auto session = Session::fromArtifact(
      artifactWith({{"poor", {here[0]}}, {"best", {here[0], here[1]}}, {"alien", {"none-such"}}}));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->deviceText(), "cpu best");
}

TEST(Cpu, NoMemberIsOneLine) {
  auto session = Session::fromArtifact(artifactWith({{"alien", {"none-such"}}}));
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().message,
            "toy: cpu: expected code for " + cpuLevel() + " or less, found alien");
  EXPECT_EQ(session.error().kind, ErrorKind::Input);
  EXPECT_FALSE(Session::fromArtifact(artifactWith({})));
}

TEST(Cpu, BothSpellingsOfFeatures) {
  std::vector<std::string> linux = {"sse4_1", "abm"}, llvm = {"sse4.1", "lzcnt"};
  EXPECT_EQ(missingCpuFeatures(linux).size(), missingCpuFeatures(llvm).size());
}

TEST(Cpu, DenormalsAreFlushedByKernelsOnly) {
  if (cpuLevel() == "unknown")
    GTEST_SKIP() << "no such mode on this processor";
  volatile float tiny = 1e-39f;
  float before = tiny + tiny;
  auto session = Session::fromArtifact(toyArtifact(), {.threads = 2});
  ASSERT_TRUE(session) << session.error().message;
  auto outputs = session->run("triple", {{"x", counting({1, 40, 20}, 1e-39f, 0)}});
  ASSERT_TRUE(outputs);
  EXPECT_THAT(valuesOf<float>((*outputs)["y"]), testing::Each(0.0f));
  EXPECT_NE(before, 0.0f);
  EXPECT_EQ(tiny + tiny, before);
}

TEST(Cpu, DamagedCodeIsRefused) {
  ArtifactWriter writer(toyProgram());
  writer.addCpu("damaged", {}, std::vector<char>(1000, 'x'));
  for (const char *name : {"add", "accumulate"})
    writer.addVulkan(ArtifactWriter::vulkanMember(name), {0x07230203, 0, 0, 0, 0});
  auto artifact = writer.build("toy", [](std::span<std::byte>) { return Status(); });
  ASSERT_TRUE(artifact) << artifact.error().message;
  auto session = Session::fromArtifact(std::move(*artifact));
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message, testing::HasSubstr("cannot be loaded"));
}
