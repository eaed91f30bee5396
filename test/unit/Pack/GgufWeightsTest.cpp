//===- GgufWeightsTest.cpp - Tensors of GGUF files ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares each type bit for bit with the values that the package `gguf`
// decodes (test/data/gguf/make.py), read at once and in pieces that split blocks.

#include "heddle/Pack/GgufWeights.h"
#include "GgufFile.h"
#include "TemporaryFolder.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<uint32_t> bitsOf(const WeightSource &source, int tensor, size_t piece) {
  std::vector<float> values(source.tensors()[tensor].elements());
  for (size_t first = 0; first < values.size(); first += piece)
    source.read(tensor, static_cast<int64_t>(first),
                std::span(values).subspan(first, std::min(piece, values.size() - first)));
  std::vector<uint32_t> bits;
  for (float value : values)
    bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

TEST(GgufWeights, TypesAreDecodedAsThePackageDoes) {
  auto source = openGgufWeights(std::string(HEDDLE_SOURCE_DIR) + "/test/data/gguf/blocks.gguf");
  ASSERT_TRUE(source) << source.error().message;
  int compared = 0;
  for (const TensorInfo &tensor : (*source)->tensors()) {
    const int decoded = (*source)->find(tensor.name + " decoded");
    if (decoded < 0)
      continue;
    ASSERT_EQ(tensor.type, tensor.name);
    const int own = (*source)->find(tensor.name);
    EXPECT_TRUE((*source)->checkReadable(own));
    ASSERT_EQ(tensor.shape, (*source)->tensors()[decoded].shape);
    const std::vector<uint32_t> expected = bitsOf(**source, decoded, 1000);
    for (size_t piece : {1, 7, 31, 32, 33, 100, 256, 300, 1000})
      ASSERT_EQ(bitsOf(**source, own, piece), expected) << tensor.name << " in pieces of " << piece;
    ++compared;
  }
  EXPECT_EQ(compared, 16);
}

TEST(GgufWeights, FloatsLieInPlace) {
  TemporaryFolder folder;
  GgufFile file;
  file.tensor("t", {2, 1}, {1, 2}).tensor("h", {2}, 1, std::string("\0\x3c\0\xc0", 4));
  auto source = openGgufWeights(folder.write("m.gguf", file.bytes()));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT((*source)->tensors()[0].shape, ElementsAre(2, 1));
  EXPECT_EQ((*source)->inPlace(0).size(), 2u);
  EXPECT_EQ((*source)->inPlace(0)[1], 2.0f);
  EXPECT_TRUE((*source)->inPlace(1).empty());
  EXPECT_EQ(*(*source)->require("h", std::vector<int64_t>{2}), 1);
}

TEST(GgufWeights, OtherTypesAreNamed) {
  TemporaryFolder folder;
  GgufFile file;
  file.tensor("t", {1, 256}, 29, std::string(56, '\0')).tensor("u", {1}, 99, std::string(4, '\0'));
  auto source = openGgufWeights(folder.write("m.gguf", file.bytes()));
  ASSERT_TRUE(source) << source.error().message;
  auto found = (*source)->require("t", std::vector<int64_t>{1, 256});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message,
              HasSubstr("m.gguf: t: expected f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, "
                        "q4_k, q5_k, q6_k, q2_k, q3_k, iq4_nl, iq4_xs or mxfp4, found iq1_m"));
  EXPECT_THAT((*source)->checkReadable(1).error().message, HasSubstr("found type 99"));
}

} // namespace
