//===- GgufKeptTest.cpp - GGUF files that keep their codes ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small llamas whose matrices have types of many kinds, compiled with --dtype=file. The compiled
// file has the same codes, with scales and minimums rounded to f16. Every launch agrees with the
// reference on both devices, and instruction sets give equal bits.

#include "GgufFile.h"
#include "LinearModel.h"
#include "Sequence.h"

#include "heddle/ExecutionEngine/Verify.h"
#include "heddle/Pack/GgufWeights.h"
#include "heddle/Support/Float.h"

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t size = 256, heads = 4, headSize = size / heads, hidden = 512, words = 20;

/// Blocks of a type: its number, their size, and the offsets of their f16 scale and minimum.
struct BlockType {
  const char *name;
  uint32_t number;
  int64_t elements, bytes;
  std::vector<int64_t> halves;
  DType stored;
  float scale; ///< gives elements near 0.1
};
const std::vector<BlockType> blockTypes = {{"q4_0", 2, 32, 18, {0}, DType::I4, 0.02f},
                                           {"q4_1", 3, 32, 20, {0, 2}, DType::I4, 0.02f},
                                           {"q5_0", 6, 32, 22, {0}, DType::SI8, 0.01f},
                                           {"q5_1", 7, 32, 24, {0, 2}, DType::SI8, 0.01f},
                                           {"q8_0", 8, 32, 34, {0}, DType::SI8, 0.001f},
                                           {"q2_k", 10, 256, 84, {80, 82}, DType::SI6, 0.005f},
                                           {"q3_k", 11, 256, 110, {108}, DType::SI6, 0.002f},
                                           {"q4_k", 12, 256, 144, {0, 2}, DType::I4, 0.0005f},
                                           {"q5_k", 13, 256, 176, {0, 2}, DType::SI8, 0.0002f},
                                           {"q6_k", 14, 256, 210, {208}, DType::SI6, 0.00005f},
                                           {"iq4_nl", 20, 32, 18, {0}, DType::SI8, 0.001f},
                                           {"iq4_xs", 23, 256, 136, {0}, DType::SI8, 0.00005f},
                                           {"mxfp4", 39, 32, 17, {}, DType::SI8, 0}};

const BlockType &typeOf(const std::string &name) {
  return *std::ranges::find(blockTypes, name, &BlockType::name);
}

/// Random blocks with small scales.
std::string blocksOf(const BlockType &type, int64_t elements, Sequence &next) {
  std::string bytes;
  for (int64_t block = 0; block < elements / type.elements; ++block) {
    const size_t start = bytes.size();
    for (int64_t i = 0; i < type.bytes; ++i)
      bytes += static_cast<char>(next());
    for (size_t i = 0; i < type.halves.size(); ++i) {
      const float scale = type.scale * (1.5f + next.unit());
      const std::string half = GgufFile::number(halfFromFloat(i == 0 ? scale : -scale));
      bytes.replace(start + static_cast<size_t>(type.halves[i]), 2, half);
    }
    if (type.halves.empty())
      bytes[start] = static_cast<char>(118 + next() % 4);
  }
  return bytes;
}

struct Matrix {
  const char *gguf, *model; ///< names
  uint64_t rows, columns;
  bool inPairs = false; ///< its rows are interleaved in pairs
};
constexpr Matrix matrices[] = {{"attn_q", "attention.query", size, size, true},
                               {"attn_k", "attention.key", headSize, size, true},
                               {"attn_v", "attention.value", headSize, size},
                               {"attn_output", "attention.output", size, size},
                               {"ffn_gate", "ffn.gate", hidden, size},
                               {"ffn_up", "ffn.in", hidden, size},
                               {"ffn_down", "ffn.out", size, hidden}};

/// A model whose matrices have the given types, in the order of `matrices`.
class GgufKept : public testing::Test {
protected:
  /// `types`: of the matrices, then of the table, and of the classifier unless it is the table.
  std::string write(const std::vector<std::string> &types) const {
    Sequence next;
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
    for (const char *norm :
         {"output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"}) {
      std::vector<float> values(size);
      for (float &value : values)
        value = 2 + next.unit();
      file.tensor(norm, {size}, values);
    }
    auto add = [&](const std::string &name, uint64_t rows, uint64_t columns, size_t number) {
      const BlockType &type = typeOf(types[number]);
      file.tensor(name, {rows, columns}, type.number,
                  blocksOf(type, static_cast<int64_t>(rows * columns), next));
    };
    size_t number = 0;
    for (const Matrix &matrix : matrices)
      add(std::string("blk.0.") + matrix.gguf + ".weight", matrix.rows, matrix.columns, number++);
    add("token_embd.weight", words, size, number++);
    if (number < types.size())
      add("output.weight", words, size, number);
    return folder.write("m.gguf", file.bytes());
  }
  static Expected<Session> open(const std::string &path, const std::string &target) {
    CompileOptions options;
    options.dtype = "file";
    options.targets = {target == "vulkan" ? target : "cpu"};
    if (target != "vulkan")
      options.cpus = {target};
    auto artifact = compileToMemory(path, options);
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
};

/// All types, and types that share rows with each other. The table of the first model is its
/// classifier, and is stored once.
const std::vector<std::vector<std::string>> models = {
    {"q5_0", "q4_1", "q8_0", "q5_1", "q3_k", "iq4_xs", "q2_k", "q8_0"},
    {"iq4_nl", "q4_k", "q5_k", "q4_0", "q4_1", "q6_k", "mxfp4", "q6_k", "q6_k"}};

/// The number that a code in panels represents.
float storedAt(DType type, const std::byte *panels, int64_t columns, int64_t row, int64_t k) {
  const int64_t group = formatOf(type).group, lines = formatOf(type).blockLines - 1, at = k % group;
  const std::byte *block = panels + (row / 16 * (columns / group) + k / group) * (lines + 1) * 64;
  const auto *halves = reinterpret_cast<const uint16_t *>(block + lines * 64);
  const int64_t r = row % 16;
  int code = 0;
  if (type == DType::I4)
    code = std::to_integer<int>(block[at / 8 * 64 + r * 4 + at % 4]) >> (at / 4 % 2 * 4) & 15;
  else
    code = std::to_integer<int>(block[at / 4 * 64 + r * 4 + at % 4]) - 128;
  return floatFromHalf(halves[r]) * static_cast<float>(code) + floatFromHalf(halves[16 + r]);
}

TEST_F(GgufKept, CodesAreInTheCompiledFile) {
  for (const std::vector<std::string> &types : models) {
    const std::string path = write(types);
    HEDDLE_ASSERT(source, openGgufWeights(path));
    CompileOptions options;
    options.dtype = "file";
    options.cpus = {"x86-64-v3"};
    HEDDLE_ASSERT(artifact, compileToMemory(path, options));
    int found = 0, tables = 0;
    for (const PackEntry &entry : artifact.program().pack) {
      const auto *from = std::ranges::find_if(matrices, [&](const Matrix &matrix) {
        return entry.tensor == std::string("decoder.0.") + matrix.model + ".weight";
      });
      if (entry.tensor == "target.embedding.weight") {
        ++tables;
        EXPECT_EQ(entry.type, typeOf(types[std::size(matrices)]).stored);
      }
      if (from == std::end(matrices))
        continue;
      ++found;
      const BlockType &type = typeOf(types[static_cast<size_t>(from - matrices)]);
      ASSERT_EQ(entry.type, type.stored) << entry.tensor;
      const int tensor = source->find(std::string("blk.0.") + from->gguf + ".weight");
      const auto columns = static_cast<int64_t>(from->columns);
      std::vector<float> numbers(from->rows * from->columns);
      source->read(tensor, 0, numbers);
      const std::byte *panels =
          artifact.weights().data() +
          artifact.program().weights[static_cast<size_t>(entry.weight)].offset;
      for (int64_t row = 0; row < static_cast<int64_t>(from->rows); ++row)
        for (int64_t k = 0; k < columns; ++k) {
          int64_t inHead = row % headSize, half = headSize / 2;
          int64_t moved = from->inPairs ? row + inHead % half * 2 + inHead / half - inHead : row;
          const float wanted = numbers[static_cast<size_t>(moved * columns + k)];
          // Scale and minimum are rounded to 11 bits; the largest code has 7.
          ASSERT_NEAR(storedAt(entry.type, panels, columns, row, k), wanted,
                      0x1p-11 * (std::fabs(wanted) + 0.5))
              << entry.tensor << " " << type.name << ": row " << row << ", column " << k;
        }
    }
    EXPECT_EQ(found, 7);
    EXPECT_EQ(tables, 1);
  }
}

class GgufKeptOn : public GgufKept, public testing::WithParamInterface<std::string> {};

TEST_P(GgufKeptOn, AgreeWithTheReference) {
  for (const std::vector<std::string> &types : models) {
    auto session = open(write(types), GetParam());
    if (!session && LinearModel::isMissing(session.error()))
      GTEST_SKIP() << session.error().message;
    ASSERT_TRUE(session) << session.error().message;
    VerifyReport report;
    auto outputs = verify(*session, "decode", {{"target", ids()}}, report);
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_LT(report.largestDifference, 2e-2) << report.worstKernel;
  }
}

/// All instruction sets with fused multiply-adds give equal bits.
TEST_F(GgufKept, HaveTheSameBits) {
  for (const std::vector<std::string> &types : models) {
    const std::string path = write(types);
    HEDDLE_ASSERT(base, open(path, "x86-64-v3"));
    HEDDLE_ASSERT(expected, call(base, "decode", {{"target", ids()}}));
    for (const char *isa : {"x86-64-v3-vnni", "x86-64-v4", "x86-64-v4-vnni", "native"}) {
      auto session = open(path, isa);
      if (!session && LinearModel::isMissing(session.error()))
        continue;
      ASSERT_TRUE(session) << session.error().message;
      HEDDLE_ASSERT(found, call(*session, "decode", {{"target", ids()}}));
      EXPECT_TRUE(sameBits(found, expected)) << isa;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GgufKeptOn,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v3-vnni", "x86-64-v4",
                                         "x86-64-v4-vnni", "native", "vulkan"),
                         targetName);

} // namespace
