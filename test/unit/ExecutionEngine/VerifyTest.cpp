//===- VerifyTest.cpp - A broken kernel is named --------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verification of a model that is right, and of the same model with one launch
// that reads the wrong weight.
//
//===----------------------------------------------------------------------===//

#include "heddle/ExecutionEngine/Verify.h"

#include "heddle/Compiler/Compiler.h"
#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Pack/Pack.h"
#include "heddle/Pack/SeededWeights.h"
#include "heddle/Support/Artifact.h"

#include "StoredTensor.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace heddle;

namespace {

const std::string model = HEDDLE_SOURCE_DIR "/examples/embed";

Expected<Artifact> compiled() {
  CompileOptions options;
  options.cpus = {"native"};
  return compileToMemory(model, options);
}

/// The same artifact with another program.
Expected<Artifact> withProgram(const Artifact &artifact, const Program &program) {
  ArtifactWriter writer(program);
  for (const CpuMember &cpu : artifact.cpu()) {
    auto *bytes = reinterpret_cast<const char *>(cpu.code.data());
    writer.addCpu(cpu.isa, cpu.features, std::vector<char>(bytes, bytes + cpu.code.size()));
  }
  writer.setFused(std::string(reinterpret_cast<const char *>(artifact.fused().data()),
                              artifact.fused().size()));
  return writer.build("broken", [&](std::span<std::byte> out) {
    std::memcpy(out.data(), artifact.weights().data(), out.size());
    return Status();
  });
}

/// Index of the first launch of a kernel.
size_t launchOf(const Function &function, const std::string &kernel) {
  for (size_t i = 0; i < function.launches.size(); ++i)
    if (function.launches[i].kernel == kernel)
      return i;
  return function.launches.size();
}

Tensor ids() {
  const int32_t values[] = {5, 9, 2, 0, 0, 7, 3, 8, 4, 6};
  return Tensor::i32({2, 5}, values);
}

} // namespace

TEST(Verify, ARightModelAgreesLaunchByLaunch) {
  Expected<Session> session = jit(model);
  ASSERT_TRUE(session) << session.error().message;
  Tensor source = ids();
  VerifyReport report;
  auto outputs = verify(*session, "encode", {{"source", source}}, report);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(static_cast<size_t>(report.launches), session->program().functions[0].launches.size());
  EXPECT_LT(report.largestDifference, 1e-5);
  EXPECT_GT(report.largestDifference, 0);
}

TEST(Verify, NamesTheFirstKernelThatDiffers) {
  Expected<Artifact> artifact = compiled();
  ASSERT_TRUE(artifact) << artifact.error().message;
  Program program = artifact->program();
  Function &encode = program.functions[0];
  size_t index = launchOf(encode, "norm");
  ASSERT_LT(index, encode.launches.size());
  // Scale by the shift: all of the layer's rows become zero.
  std::vector<LaunchArgument *> weights;
  for (LaunchArgument &argument : encode.launches[index].arguments)
    if (argument.kind == LaunchArgument::Kind::Weight)
      weights.push_back(&argument);
  ASSERT_EQ(weights.size(), 2u);
  weights[0]->index = weights[1]->index;
  Expected<Artifact> broken = withProgram(*artifact, program);
  ASSERT_TRUE(broken) << broken.error().message;
  Expected<Session> session = Session::fromArtifact(std::move(*broken));
  ASSERT_TRUE(session) << session.error().message;
  Tensor source = ids();
  VerifyReport report;
  auto outputs = verify(*session, "encode", {{"source", source}}, report);
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().kind, ErrorKind::Device);
  EXPECT_NE(
      outputs.error().message.find("kernel norm (launch " + std::to_string(index) + " of encode"),
      std::string::npos)
      << outputs.error().message;
}

TEST(Verify, FunctionsOfASessionAreRefused) {
  Expected<Session> session = jit(HEDDLE_SOURCE_DIR "/examples/translate");
  ASSERT_TRUE(session) << session.error().message;
  VerifyReport report;
  auto outputs = verify(*session, "decode_step", {}, report);
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().kind, ErrorKind::Usage);
}

TEST(StoredTensor, UnpacksWhatPackingStored) {
  auto source = makeSeededWeights(7, {{"w", "", {24, 20}}});
  ASSERT_TRUE(source) << source.error().message;
  std::vector<float> expected(24 * 20);
  (*source)->read(0, 0, expected);
  for (PackEntry::Layout layout : {PackEntry::Layout::Rows, PackEntry::Layout::Panels})
    for (int64_t group : {0, 4, 12}) {
      Program program;
      program.pack.push_back({"w",
                              {24, 20},
                              layout,
                              layout == PackEntry::Layout::Panels ? group : 0,
                              group == 12 ? 10 : group,
                              0});
      program.weights.push_back({"w", 0, packedElements(program.pack[0])});
      program.weightBytes = program.weights[0].elements * 4;
      std::vector<std::byte> bytes(static_cast<size_t>(program.weightBytes));
      ASSERT_TRUE(packAll(program, **source, bytes));
      EXPECT_EQ(unpackTensor(program, program.pack[0], bytes), expected)
          << static_cast<int>(layout) << " in groups of " << group;
    }
}
