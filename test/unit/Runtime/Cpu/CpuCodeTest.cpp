//===- CpuCodeTest.cpp - Native code --------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the choice of a member, the denormal mode of kernels, and the prefetch
// addresses that they receive.
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
    kernel.vulkan.clear();
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

TEST(Cpu, AMatrixUnitComesBeforeMoreFeatures) {
  const std::vector<std::string> matrices = {"amx_int8"}, here = cpuFeatures();
  if (!missingCpuFeatures(matrices).empty())
    GTEST_SKIP() << "no matrix unit";
  auto session = Session::fromArtifact(
      artifactWith({{"more", {here[0], here[1]}}, {"matrices", matrices}, {"one", {here[0]}}}));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->deviceText(), "cpu matrices");
}

TEST(Cpu, AMemberCanBeNamed) {
  std::vector<std::string> here = cpuFeatures();
  auto open = [&](const char *cpu, const char *device = "cpu") {
    SessionOptions options;
    options.cpu = cpu;
    options.device = device;
    return Session::fromArtifact(
        artifactWith({{"poor", {here[0]}}, {"best", {here[0], here[1]}}, {"alien", {"none-such"}}}),
        options);
  };
  auto session = open("poor");
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->deviceText(), "cpu poor");
  EXPECT_EQ(open("alien").error().message,
            "toy: cpu alien: expected a processor with none-such, found one without it");
  EXPECT_EQ(open("alien").error().kind, ErrorKind::Input);
  EXPECT_EQ(open("other").error().message,
            "toy: cpu: expected one of poor, best, alien, found 'other'");
  EXPECT_EQ(open("other").error().kind, ErrorKind::Usage);
  EXPECT_EQ(open("poor", "vulkan").error().message,
            "cpu: expected device cpu with it, found 'vulkan'");
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
  EXPECT_THAT(session.error().message, testing::HasSubstr("expected a shared object, found: "));
}

/// Two launches of 8 points. The first writes y[0, 8), the second y[16, 24) with the given work.
/// Panels are at 0 (read by the first launch), 8 and 12 KiB. The second launch reads the last
/// panels first.
static Program twoLaunches(int64_t work) {
  Program program;
  for (int64_t rows : {128, 64, 64}) {
    int index = static_cast<int>(program.weights.size());
    program.weights.push_back({"w" + std::to_string(index), program.weightBytes, rows * 16});
    program.weightBytes += rows * 64;
    PackEntry entry;
    entry.tensor = program.weights.back().name;
    entry.shape = {rows, 16};
    entry.layout = PackEntry::Layout::Panels;
    entry.weight = index;
    program.pack.push_back(entry);
  }
  Function function;
  function.name = "main";
  Buffer y;
  y.name = "y";
  y.kind = Buffer::Kind::Argument;
  y.elements = SizeExpr(32);
  function.buffers = {y};
  Port output;
  output.name = "y";
  output.shape = {SizeExpr(32)};
  output.buffer = 0;
  function.outputs = {output};
  auto weight = [](int index) {
    return LaunchArgument{LaunchArgument::Kind::Weight, index, SizeExpr(0)};
  };
  auto result = [](int64_t at) {
    return LaunchArgument{LaunchArgument::Kind::Buffer, 0, SizeExpr(at)};
  };
  function.launches.resize(2);
  function.launches[0].kernel = "next";
  function.launches[0].arguments = {weight(0), result(0)};
  function.launches[1].kernel = "last";
  function.launches[1].arguments = {weight(2), result(16), weight(1)};
  function.launches[1].flops = SizeExpr(work);
  program.functions = {function};
  const KernelArgument panels{KernelArgument::Storage::Weight, false},
      written{KernelArgument::Storage::Memory, true};
  for (const Launch &launch : function.launches) {
    Kernel kernel;
    kernel.name = launch.kernel;
    kernel.arguments = {panels, written};
    kernel.arguments.resize(launch.arguments.size(), panels);
    kernel.cpu.emplace().grid[1].count = 8;
    program.kernels.push_back(kernel);
  }
  program.model = "{}";
  return program;
}

TEST(Cpu, TheLastPointOfAThreadKnowsWhatTheThreadReadsNext) {
  constexpr int64_t any = 0, little = 1; // work; a single thread has little
  struct Case {
    int threads;
    int64_t work;
    std::vector<float> first;
  };
  for (const Case &expected : {Case{1, any, {-1, -1, -1, -1, -1, -1, -1, 12}},
                               {2, any, {-1, -1, -1, 12, -1, -1, -1, 8}},
                               {2, little, {-1, -1, -1, 12, -1, -1, -1, -1}}}) {
    ArtifactWriter writer(twoLaunches(expected.work));
    writer.addCpu("baseline", {},
                  compileC(std::string(HEDDLE_SOURCE_DIR) + "/test/unit/Runtime/kernels/next.c"));
    auto artifact = writer.build("next", [](std::span<std::byte>) { return Status(); });
    ASSERT_TRUE(artifact) << artifact.error().message;
    auto session = Session::fromArtifact(std::move(*artifact), {.threads = expected.threads});
    ASSERT_TRUE(session) << session.error().message;
    auto outputs = session->run("main", {});
    ASSERT_TRUE(outputs) << outputs.error().message;
    std::vector<float> y = valuesOf<float>((*outputs)["y"]);
    EXPECT_THAT(std::span(y).first(8), testing::ElementsAreArray(expected.first));
    EXPECT_THAT(std::span(y).subspan(16, 8), testing::Each(-1.0f));
  }
}
