//===- TableTest.cpp - Embedding tables in every number format ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a table selected by ids have exactly the values that the stored numbers represent, for a
// table with sizes that 16 does not divide. A table that a product also reads is stored once.

#include "LinearModel.h"

#include "heddle/Support/Float.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t rows = 37, columns = 43, padding = 3;
constexpr float scale = 0.75f;

/// Embeds rows of a table; with `tied`, another function scores classes by the same matrix.
std::string tableText(bool tied) {
  std::string text = R"(
func.func @embed(%ids: tensor<?xi32> {transformer.name = "ids"}) -> (tensor<?x43xf32> {transformer.name = "y"}) {
  %w = transformer.weight "w" : tensor<37x43xf32>
  %y = transformer.embedding %ids, %w {padding_id = 3 : i64, scale = 0.75 : f32} : (tensor<?xi32>, tensor<37x43xf32>) -> tensor<?x43xf32>
  return %y : tensor<?x43xf32>
}
)";
  if (tied)
    text += R"(
func.func @score(%x: tensor<?x43xf32> {transformer.name = "x"}) -> (tensor<?x37xf32> {transformer.name = "y"}) {
  %w = transformer.weight "w" : tensor<37x43xf32>
  %y = transformer.linear %x, %w {classes} : (tensor<?x43xf32>, tensor<37x43xf32>) -> tensor<?x37xf32>
  return %y : tensor<?x37xf32>
}
)";
  return text;
}

/// Values that a stored row of the table represents.
std::vector<float> storedRow(std::span<const float> row, const std::string &dtype) {
  float largest = 0;
  for (float w : row)
    largest = std::max(largest, std::fabs(w));
  const float factor = 127 / largest, ofRow = largest / 127;
  std::vector<float> stored;
  for (float w : row)
    stored.push_back(dtype == "f32"             ? w
                     : dtype == "bf16"          ? floatFromBFloat(bfloatFromFloat(w))
                     : dtype.starts_with("f16") ? floatFromHalf(halfFromFloat(w))
                     : largest == 0             ? 0
                                                : std::nearbyint(w * factor) * ofRow);
  return stored;
}

using Case = std::tuple<std::string, std::string>; // number format, target

class TableTest : public testing::TestWithParam<Case> {
protected:
  void check(bool tied) {
    const auto &[dtype, target] = GetParam();
    LinearModel model(1, columns, rows);
    model.weight.fill(5, {0.0f});
    model.weight.fill(6, {0x1p-120f, -0x1.8p-121f, 1.5e38f}); // more than eight bits of range
    model.weight.fill(7, {1e-7f, -6e-8f, 2e-5f});             // f16 denormals
    Expected<Session> session = model.open(dtype, target, tableText(tied));
    if (!session && LinearModel::isMissing(session.error()))
      GTEST_SKIP() << session.error().message;
    ASSERT_TRUE(session) << session.error().message;
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 2 * rows; ++i)
      ids.push_back(i * 11 % static_cast<int32_t>(rows));
    HEDDLE_ASSERT(outputs, call(*session, "embed", {{"ids", Tensor::i32({2 * rows}, ids)}}));
    std::span<const float> found = outputs.at("y").values<float>();
    for (size_t i = 0; i < ids.size(); ++i) {
      std::vector<float> expected =
          storedRow(std::span(model.weight.values).subspan(ids[i] * columns, columns), dtype);
      for (int64_t k = 0; k < columns; ++k)
        EXPECT_EQ(found[i * columns + k], ids[i] == padding ? 0 : scale * expected[k])
            << "row " << ids[i] << ", column " << k;
    }
  }
};

TEST_P(TableTest, RowsAreTheStoredNumbers) { check(/*tied=*/false); }
TEST_P(TableTest, SoAreThoseOfAMatrixThatScoresClasses) { check(/*tied=*/true); }

INSTANTIATE_TEST_SUITE_P(
    Formats, TableTest,
    testing::Combine(testing::Values("f32", "bf16", "f16", "f16-sum", "int8", "int4"),
                     testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4", "vulkan")),
    [](const testing::TestParamInfo<Case> &info) {
      std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

/// Bytes of weights in the artifact of the code above.
int64_t weightBytes(const std::string &dtype, bool tied) {
  Expected<Artifact> artifact =
      LinearModel(1, columns, rows).compile(dtype, "x86-64-v2", tableText(tied));
  EXPECT_TRUE(artifact) << artifact.error().message;
  return artifact ? artifact->program().weightBytes : 0;
}

TEST(Tables, AreStoredOnceWhereAProductReadsThem) {
  constexpr int64_t panels = 48; // rows, and columns of numbers
  const std::map<std::string, int64_t> bytes = {{"f32", panels * 48 * 4},
                                                {"bf16", panels * 48 * 2},
                                                {"f16", panels * 48 * 2},
                                                {"int8", panels * 48 + 2 * panels * 4}};
  for (const auto &[dtype, least] : bytes) {
    SCOPED_TRACE(dtype);
    const int64_t found = weightBytes(dtype, /*tied=*/true);
    EXPECT_GE(found, least);
    EXPECT_LT(found, least + 2 * 256); // each begins at a multiple of 256
    EXPECT_LE(weightBytes(dtype, /*tied=*/false), found);
  }
  EXPECT_EQ(weightBytes("int4", true), weightBytes("int8", true));
}

} // namespace
