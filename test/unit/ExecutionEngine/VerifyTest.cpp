//===- VerifyTest.cpp - Verification finds a broken kernel ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifies a correct model, and the same model with one launch that reads the
// wrong weight; likewise for the functions of a session.

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
  options.targets = {"cpu"};
  options.cpus = {"native"};
  return compileToMemory(model, options);
}

/// A copy of the artifact with another program.
Expected<Artifact> withProgram(const Artifact &artifact, const Program &program) {
  ArtifactWriter writer(program);
  for (const CpuMember &cpu : artifact.cpu()) {
    auto code = *artifact.code(cpu);
    auto *bytes = reinterpret_cast<const char *>(code.data());
    writer.addCpu(cpu.isa, cpu.features, std::vector<char>(bytes, bytes + code.size()));
  }
  auto fused = *artifact.fused();
  writer.setFused(std::string(reinterpret_cast<const char *>(fused.data()), fused.size()));
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
  // Use the shift as the scale, so that all rows of the layer become zero.
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

namespace {

/// A copy of the artifact in which the append of the second layer's step reads the first layer's
/// weight.
Expected<Artifact> withBrokenAppend(const Artifact &artifact) {
  Program program = artifact.program();
  for (Function &function : program.functions) {
    if (function.name != "decode_step")
      continue;
    int *first = nullptr;
    for (Launch &launch : function.launches)
      if (launch.kernel.starts_with("linear3_heads_append")) {
        int &key = launch.arguments[2].index; // after the rows and the query's weight
        if (first)
          key = *first;
        first = &key;
      }
  }
  return withProgram(artifact, program);
}

/// Encodes two sequences, one of them padded, then reads two prompts and takes three steps.
Status verifySteps(Session &session, VerifyReport &report) {
  auto verifier = Verifier::make(session);
  if (!verifier)
    return verifier.takeError();
  Tensor source = ids();
  auto memory = verifier->run("encode", {{"source", source}}, report);
  if (!memory)
    return memory.takeError();
  auto started = verifier->run(
      "decode_start",
      {{"memory", (*memory)["memory"]}, {"source.lengths", (*memory)["source.lengths"]}}, report);
  if (!started)
    return started.takeError();
  const int32_t prompts[] = {5, 6, 7, 8, -1, -1}, counts[] = {3, 1}; // -1: unused
  auto read = verifier->run(
      "decode_prompt",
      {{"target", Tensor::i32({2, 3}, prompts)}, {"target.lengths", Tensor::i32({2}, counts)}},
      report);
  if (!read)
    return read.takeError();
  for (int32_t step = 0; step < 3; ++step) {
    const int32_t values[] = {1 + step, 9 - step};
    Tensor target = Tensor::i32({2, 1}, values);
    auto logits = verifier->run("decode_step", {{"target", target}}, report);
    if (!logits)
      return logits.takeError();
  }
  const int32_t order[] = {1, 1};
  Tensor parents = Tensor::i32({2}, order);
  if (auto moved = verifier->run("decode_reorder", {{"parents", parents}}, report); !moved)
    return moved.takeError();
  auto last = verifier->run("decode_step", {{"target", Tensor::i32({2, 1}, order)}}, report);
  return last ? Status() : Status(last.takeError());
}

} // namespace

TEST(Verify, CachesAreFollowedFromCallToCall) {
  Expected<Session> session = jit(HEDDLE_SOURCE_DIR "/examples/translate");
  ASSERT_TRUE(session) << session.error().message;
  VerifyReport report;
  Status status = verifySteps(*session, report);
  ASSERT_TRUE(status) << status.error().message;
  size_t launches = 0;
  for (const Function &function : session->program().functions)
    launches += function.launches.size() * (function.name == "decode_step" ? 4 : 1);
  for (const char *unused : {"decode", "encode_packed"})
    launches -= session->program().findFunction(unused)->launches.size();
  EXPECT_EQ(static_cast<size_t>(report.launches), launches);
  EXPECT_LT(report.largestDifference, 1e-5);
}

TEST(Verify, NamesTheAppendThatDiffers) {
  CompileOptions options;
  options.targets = {"cpu"};
  options.cpus = {"native"};
  auto artifact = compileToMemory(HEDDLE_SOURCE_DIR "/examples/translate", options);
  ASSERT_TRUE(artifact) << artifact.error().message;
  auto broken = withBrokenAppend(*artifact);
  ASSERT_TRUE(broken) << broken.error().message;
  Expected<Session> session = Session::fromArtifact(std::move(*broken));
  ASSERT_TRUE(session) << session.error().message;
  VerifyReport report;
  Status status = verifySteps(*session, report);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::Device);
  EXPECT_NE(status.error().message.find("kernel linear3_heads_append"), std::string::npos)
      << status.error().message;
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
