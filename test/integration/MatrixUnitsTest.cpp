//===- MatrixUnitsTest.cpp - Products at level 2 of Vulkan devices --------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Level 2 multiplies on matrix units. Integer formats keep the bits of level 0, float formats are
// close to its results, and a row's bits do not depend on other rows. Rows, columns and features
// end inside a tile, a matrix and a word. A device whose units lack bf16 runs these kernels at
// level 1.
#include "TwoLevels.h"

#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t rows = 150;

/// Numbers of features and of outputs.
using Size = std::pair<int64_t, int64_t>;

class MatrixUnitsTest : public testing::TestWithParam<std::tuple<std::string, Size>>,
                        protected TwoLevels {
protected:
  const std::string dtype = std::get<0>(GetParam());
  const int64_t features = std::get<1>(GetParam()).first, outputs = std::get<1>(GetParam()).second;

  void open(const LinearModel &model) {
    openLevels(model, dtype, model.text(), 2,
               [&](const Program &program) { countForms(program, dtype == "f16"); });
  }

  /// Checks that there are kernels for many and for few rows for each matrix shape, and no others.
  /// `rounds`: those for many rows have a rounding.
  static void countForms(const Program &program, bool rounds) {
    int many = 0, few = 0;
    for (const Kernel &kernel : program.kernels)
      for (const VulkanVariant &variant : kernel.vulkan)
        if (variant.level == 2) {
          EXPECT_EQ(variant.matrices.size(), 1u) << variant.member;
          // Rows of f16 are f32 in memory. Few rows are rounded by the kernel that multiplies them.
          EXPECT_EQ(variant.rounding.has_value(), rounds && !variant.isForFew()) << variant.member;
          EXPECT_GT(variant.subgroup, 0) << variant.member;
          (variant.isForFew() ? few : many) += 1;
        }
    EXPECT_GE(many, 3);
    EXPECT_EQ(few, many);
  }

  std::vector<float> resultOf(const LinearModel &model, size_t session, int64_t first,
                              int64_t some) {
    auto from = model.input.values.begin() + first * features;
    const std::vector<float> x(from, from + some * features);
    auto result = call(sessions[session], "run", {{"x", Tensor::f32({some, features}, x)}});
    EXPECT_TRUE(result) << result.error().message;
    if (!result)
      return {};
    std::span<const float> y = result->at("y").values<float>();
    return {y.begin(), y.end()};
  }
};

TEST_P(MatrixUnitsTest, RowsHaveTheirBitsInAnyCompany) {
  LinearModel model(rows, features, outputs);
  model.activation = "gelu";
  // Rows of very large and very small numbers have different scales; one row has no scale.
  model.input.fill(3, {3e20f, -1e18f, 2e20f});
  model.input.fill(20, {1e-25f, 3e-26f});
  model.input.fill(21, {0.f});
  ASSERT_NO_FATAL_FAILURE(open(model));
  if (sessions.size() < 2)
    return;
  const std::vector<float> all = resultOf(model, 1, 0, rows), low = resultOf(model, 0, 0, rows);
  ASSERT_EQ(all.size(), low.size());
  const auto bytes = static_cast<size_t>(outputs) * sizeof(float);
  if (dtype == "int8" || dtype == "int4") {
    EXPECT_EQ(std::memcmp(all.data(), low.data(), all.size() * sizeof(float)), 0);
  } else {
    for (int64_t row = 0; row < rows; ++row) {
      float largest = 1e-30f;
      for (int64_t i = 0; i < outputs; ++i)
        largest = std::max(largest, std::abs(low[row * outputs + i]));
      for (int64_t i = 0; i < outputs; ++i)
        ASSERT_NEAR(all[row * outputs + i], low[row * outputs + i], 4e-3f * largest)
            << "row " << row << ", column " << i;
    }
  }
  for (auto [first, some] : {std::pair<int64_t, int64_t>(0, 1),
                             {3, 1},
                             {149, 1},
                             {3, 2},
                             {0, 8},
                             {5, 16},
                             {10, 17},
                             {70, 64},
                             {1, 129}}) {
    const std::vector<float> part = resultOf(model, 1, first, some);
    ASSERT_EQ(part.size(), static_cast<size_t>(some * outputs));
    EXPECT_EQ(std::memcmp(part.data(), &all[first * outputs], some * bytes), 0)
        << some << " rows from " << first;
  }
}

std::string nameOf(const testing::TestParamInfo<MatrixUnitsTest::ParamType> &info) {
  auto [dtype, size] = info.param;
  std::replace(dtype.begin(), dtype.end(), '-', '_');
  return dtype + "_" + std::to_string(size.first) + "_" + std::to_string(size.second);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, MatrixUnitsTest,
    testing::Combine(testing::Values<std::string>("f16", "f16-sum", "bf16", "int8", "int4"),
                     testing::Values(Size(75, 37), Size(256, 128), Size(300, 70), Size(768, 40))),
    nameOf);

} // namespace
