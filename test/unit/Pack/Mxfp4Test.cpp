//===- Mxfp4Test.cpp - MXFP4 matrices as pairs of tensors -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads pairs of tensors of known bytes, and pairs that are none.

#include "heddle/Pack/Mxfp4.h"

#include "heddle/Support/Float.h"

#include <gmock/gmock.h>

using namespace heddle;
using testing::HasSubstr;

namespace {

/// Tensors of bytes.
class Bytes : public WeightSource {
public:
  struct Tensor {
    TensorInfo info;
    std::vector<uint8_t> bytes;
  };
  explicit Bytes(std::vector<Tensor> tensors) : all(std::move(tensors)) {
    for (const Tensor &tensor : all)
      infos.push_back(tensor.info);
  }
  const std::string &name() const override { return text; }
  const std::vector<TensorInfo> &tensors() const override { return infos; }
  void read(int, int64_t, std::span<float> out) const override {
    std::ranges::fill(out, 5.0f); // of tensors that are no pair
  }
  std::span<const std::byte> bytes(int tensor) const override {
    return std::as_bytes(std::span(all[tensor].bytes));
  }

private:
  std::string text = "w";
  std::vector<Tensor> all;
  std::vector<TensorInfo> infos;
};

/// Two rows of 32 elements. The first has all codes in order, twice, and the scale 2; the second
/// the code 0.5 everywhere and the scale 1/4.
std::vector<Bytes::Tensor> pairOfRows() {
  std::vector<uint8_t> codes(32, 0x11);
  for (size_t i = 0; i < 16; ++i)
    codes[i] = static_cast<uint8_t>(2 * i % 16 | (2 * i + 1) % 16 << 4);
  return {{{"m_scales", "u8", {1, 2, 1}}, {128, 125}},
          {{"m_blocks", "u8", {1, 2, 1, 16}}, codes},
          {{"other", "f32", {3}}, {}}};
}

std::unique_ptr<WeightSource> open(std::vector<Bytes::Tensor> tensors) {
  auto source = withMxfp4(std::make_unique<Bytes>(std::move(tensors)));
  EXPECT_TRUE(source) << source.error().message;
  return source ? std::move(*source) : nullptr;
}

std::string problem(std::vector<Bytes::Tensor> tensors) {
  auto source = withMxfp4(std::make_unique<Bytes>(std::move(tensors)));
  return source ? "no error" : source.error().message;
}

TEST(Mxfp4, PairsAreMatrices) {
  const auto source = open(pairOfRows());
  ASSERT_EQ(source->tensors().size(), 2u);
  const int matrix = source->find("m");
  ASSERT_GE(matrix, 0);
  EXPECT_EQ(source->tensors()[matrix].type, "mxfp4");
  EXPECT_EQ(source->tensors()[matrix].shape, (std::vector<int64_t>{1, 2, 32}));
  EXPECT_TRUE(source->checkReadable(matrix));

  std::vector<float> expected;
  for (int copy = 0; copy < 2; ++copy)
    for (float sign : {1.0f, -1.0f})
      for (float value : {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f})
        expected.push_back(2 * sign * value);
  expected.resize(64, 0.125f);
  for (const size_t piece : {64, 1, 7, 32}) {
    std::vector<float> values(64);
    for (size_t first = 0; first < values.size(); first += piece)
      source->read(matrix, static_cast<int64_t>(first),
                   std::span(values).subspan(first, std::min(piece, values.size() - first)));
    EXPECT_EQ(values, expected) << "pieces of " << piece;
  }

  EXPECT_EQ(source->codeType(matrix), DType::SI8);
  const auto group = source->codes(matrix, 0);
  ASSERT_TRUE(group);
  EXPECT_EQ(floatFromHalf(group->scale), 1.0f); // codes are doubled
  EXPECT_EQ(group->minimum, 0);
  EXPECT_EQ(group->codes[7], 12);
  EXPECT_EQ(group->codes[15], -12);
  EXPECT_FALSE(source->codes(matrix, 16)); // no group begins there

  const int other = source->find("other");
  float value = 0;
  source->read(other, 0, {&value, 1});
  EXPECT_EQ(value, 5);
  EXPECT_FALSE(source->codeType(other));
}

TEST(Mxfp4, PairsThatDoNotFit) {
  auto tensors = pairOfRows();
  tensors.erase(tensors.begin());
  EXPECT_EQ(problem(tensors), "w: m_blocks: expected the tensor m_scales with it, found none");
  tensors = pairOfRows();
  tensors.erase(tensors.begin() + 1);
  EXPECT_EQ(problem(tensors), "w: m_scales: expected the tensor m_blocks with it, found none");
  tensors = pairOfRows();
  tensors[0].info.shape = {2, 1};
  EXPECT_THAT(problem(tensors), HasSubstr("m_scales: expected [1, 2, 1], one scale for each group "
                                          "of m_blocks, found [2, 1]"));
  tensors = pairOfRows();
  tensors[1].info.shape = {1, 4, 8};
  EXPECT_THAT(problem(tensors), HasSubstr("m_blocks: expected rows of groups of 16 bytes, [..., "
                                          "16], found [1, 4, 8]"));
  tensors = pairOfRows();
  tensors[1].info.type = "f32";
  EXPECT_EQ(problem(tensors), "w: m_blocks: expected bytes, u8, found f32");
}

} // namespace
