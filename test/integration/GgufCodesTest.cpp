//===- GgufCodesTest.cpp - GGUF files of 4 bits as int4 -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small llama with matrices in Q4_0 and Q4_1. The compiled file has the same codes, bit for bit,
// with the rows of queries and keys in their original order. Every launch agrees with the reference
// on both devices, and instruction sets give equal bits.

#include "GgufFile.h"
#include "LinearModel.h"
#include "Sequence.h"

#include "heddle/ExecutionEngine/Verify.h"
#include "heddle/Support/Float.h"

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t size = 64, heads = 2, headSize = size / heads, hidden = 96, words = 20;

/// A matrix of the file, in blocks of 32 numbers.
struct Blocks {
  std::string gguf, model; ///< names
  int64_t rows, columns;
  bool hasMinimum;      ///< Q4_1, else Q4_0
  bool inPairs = false; ///< its rows are interleaved in pairs
  std::string bytes = {};

  void fill(Sequence &next) {
    for (int64_t block = 0; block < rows * columns / 32; ++block) {
      float scale = (block % 3 ? 0.02f : -0.02f) * (1.5f + next.unit());
      bytes += GgufFile::number(halfFromFloat(block % 11 == 4 ? 0 : scale));
      if (hasMinimum)
        bytes += GgufFile::number(halfFromFloat(-7 * scale + 0.01f * next.unit()));
      for (int i = 0; i < 16; ++i) // few groups have the codes 0 and 15
        bytes += static_cast<char>(next() % 12 + 3 | (next() % 12 + 1) << 4);
    }
  }
  /// Code `k` of a row of the model, and scale and minimum of its group, as in the format.
  std::tuple<int, uint16_t, uint16_t> at(int64_t row, int64_t k) const {
    if (inPairs) { // row j * D/2 + i of a head is its row 2i + j
      int64_t inHead = row % headSize, half = headSize / 2;
      row += inHead % half * 2 + inHead / half - inHead;
    }
    const char *block = bytes.data() + (row * columns + k) / 32 * (hasMinimum ? 20 : 18);
    uint16_t scale, minimum;
    std::memcpy(&scale, block, 2);
    if (hasMinimum)
      std::memcpy(&minimum, block + 2, 2);
    else
      minimum = halfFromFloat(-8 * floatFromHalf(scale));
    int pair = static_cast<uint8_t>(block[(hasMinimum ? 4 : 2) + k % 16]);
    return {k % 32 < 16 ? pair & 15 : pair >> 4, scale, minimum};
  }
};

class GgufCodes : public testing::Test {
protected:
  GgufCodes() {
    Sequence next;
    for (Blocks &blocks : matrices)
      blocks.fill(next);
    GgufFile file;
    file.add("general.architecture", "llama");
    for (auto [key, value] : std::initializer_list<std::pair<const char *, uint32_t>>{
             {"embedding_length", size},
             {"block_count", 1},
             {"feed_forward_length", hidden},
             {"attention.head_count", heads},
             {"attention.head_count_kv", 1},
             {"rope.dimension_count", headSize},
             {"context_length", 16}})
      file.add(std::string("llama.") + key, value);
    file.add("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    auto numbers = [&](const char *name, std::vector<uint64_t> shape, float middle) {
      std::vector<float> values(shape[0] * (shape.size() > 1 ? shape[1] : 1));
      for (float &value : values)
        value = middle + next.unit();
      file.tensor(name, shape, values);
    };
    numbers("token_embd.weight", {words, size}, 0);
    numbers("output.weight", {words, size}, 0);
    for (const char *norm :
         {"output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"})
      numbers(norm, {size}, 2);
    for (const Blocks &blocks : matrices)
      file.tensor("blk.0." + blocks.gguf + ".weight",
                  {static_cast<uint64_t>(blocks.rows), static_cast<uint64_t>(blocks.columns)},
                  blocks.hasMinimum ? 3 : 2, blocks.bytes);
    path = folder.write("m.gguf", file.bytes());
  }
  Expected<Artifact> compile(const std::string &target) const {
    CompileOptions options;
    options.dtype = "int4";
    options.targets = {target == "vulkan" ? target : "cpu"};
    if (target != "vulkan")
      options.cpus = {target};
    return compileToMemory(path, options);
  }
  Expected<Session> open(const std::string &target) const {
    auto artifact = compile(target);
    if (!artifact)
      return artifact.takeError();
    return Session::fromArtifact(std::move(*artifact),
                                 {.device = target == "vulkan" ? "vulkan" : "cpu"});
  }
  static Tensor ids() {
    std::vector<int32_t> values;
    for (int32_t i = 0; i < 3 * 7; ++i)
      values.push_back(i * 7 % static_cast<int32_t>(words));
    return Tensor::i32({3, 7}, values);
  }

  TemporaryFolder folder;
  std::string path;
  std::vector<Blocks> matrices = {{"attn_q", "attention.query", size, size, false, true},
                                  {"attn_k", "attention.key", headSize, size, true, true},
                                  {"attn_v", "attention.value", headSize, size, false},
                                  {"attn_output", "attention.output", size, size, true},
                                  {"ffn_gate", "ffn.gate", hidden, size, false},
                                  {"ffn_up", "ffn.in", hidden, size, true},
                                  {"ffn_down", "ffn.out", size, hidden, false}};
};

TEST_F(GgufCodes, AreInTheCompiledFile) {
  HEDDLE_ASSERT(artifact, compile("x86-64-v3"));
  int found = 0;
  for (const PackEntry &entry : artifact.program().pack) {
    if (entry.type != DType::I4 || !entry.tensor.starts_with("decoder."))
      continue;
    auto from = std::ranges::find_if(matrices, [&](const Blocks &blocks) {
      return entry.tensor == "decoder.0." + blocks.model + ".weight";
    });
    ASSERT_NE(from, matrices.end()) << entry.tensor;
    ++found;
    const auto *panels = reinterpret_cast<const uint32_t *>(
        artifact.weights().data() +
        artifact.program().weights[static_cast<size_t>(entry.weight)].offset);
    for (int64_t row = 0; row < from->rows; ++row)
      for (int64_t k = 0; k < from->columns; ++k) {
        const uint32_t *block = panels + (row / 16 * (from->columns / 32) + k / 32) * 80;
        const auto *halves = reinterpret_cast<const uint16_t *>(block + 64);
        int code = block[k % 32 / 8 * 16 + row % 16] >> (k % 4 * 8 + k / 4 % 2 * 4) & 15;
        ASSERT_EQ(std::tuple(code, halves[row % 16], halves[16 + row % 16]), from->at(row, k))
            << entry.tensor << ": row " << row << ", column " << k;
      }
  }
  EXPECT_EQ(found, 7);
}

class GgufCodesOn : public GgufCodes, public testing::WithParamInterface<std::string> {};

/// The reference uses the values of the codes: with its own codes its error would exceed the
/// format's tolerance. A code of a row near a tie may differ by one.
TEST_P(GgufCodesOn, AgreeWithTheReference) {
  auto session = open(GetParam());
  if (!session && LinearModel::isMissing(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;
  VerifyReport report;
  auto outputs = verify(*session, "decode", {{"target", ids()}}, report);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_LT(report.largestDifference, 2e-2) << report.worstKernel;
}

/// All instruction sets with fused multiply-adds give equal bits.
TEST_F(GgufCodes, HaveTheSameBits) {
  HEDDLE_ASSERT(base, open("x86-64-v3"));
  HEDDLE_ASSERT(expected, call(base, "decode", {{"target", ids()}}));
  for (const char *isa : {"x86-64-v3-vnni", "x86-64-v4", "x86-64-v4-vnni", "native"}) {
    auto session = open(isa);
    if (!session && LinearModel::isMissing(session.error()))
      continue;
    ASSERT_TRUE(session) << session.error().message;
    HEDDLE_ASSERT(found, call(*session, "decode", {{"target", ids()}}));
    EXPECT_TRUE(sameBits(found, expected)) << isa;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GgufCodesOn,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v3-vnni", "x86-64-v4",
                                         "x86-64-v4-vnni", "native", "vulkan"),
                         targetName);

} // namespace
