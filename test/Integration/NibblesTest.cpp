//===- NibblesTest.cpp - Weights of 4 bits against their definition -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear compiled with --dtype=int4 has the bits of the same linear compiled in
// f32 from a checkpoint of the numbers that docs/semantics.md makes of its weights,
// here in plain loops.

#include "LinearModel.h"

#include "heddle/Support/Float.h"

#include <bit>
#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

/// One group of a row.
void roundGroup(float *group, int64_t count) {
  float largest = 0;
  bool isUsual = true;
  for (int64_t k = 0; k < count; ++k) {
    isUsual = isUsual && std::isfinite(group[k]);
    largest = std::max(largest, std::fabs(group[k]));
  }
  float d = floatFromHalf(halfFromFloat(largest / 7));
  for (int64_t k = 0; k < count; ++k)
    group[k] = !isUsual || std::isinf(d) ? NAN
               : d == 0 ? 0
                        : d * std::min(std::max(std::nearbyint(group[k] / d), -8.0f), 7.0f);
}

/// Rows of weights that ties, zeros and numbers without bounds decide on.
void addCorners(Matrix &weight) {
  auto fill = [&](int64_t row, std::initializer_list<float> values) {
    if (row < weight.rows)
      for (int64_t k = 0; k < weight.columns; ++k)
        weight.at(row, k) = values.begin()[k % values.size()];
  };
  fill(1, {7.0f, 2.5f, 3.5f, -2.5f, -3.5f, 0.5f, -0.5f});
  fill(2, {0.0f, -0.0f});
  fill(3, {1e-7f, -1.6e-7f, 0.5e-7f}); // a scale that is a denormal of f16
  fill(4, {1e-9f, -1e-9f});
  fill(5, {400000.0f, -458500.0f});
  for (auto [row, value] : {std::pair{6, 1e6f}, {7, NAN}, {8, -INFINITY}})
    if (row < weight.rows)
      weight.at(row, weight.columns / 2) = value;
}

class NibblesTest : public testing::TestWithParam<std::string> {
protected:
  Expected<Tensors> run(const LinearModel &linear, const std::string &dtype) {
    auto session = linear.open(dtype, GetParam());
    if (!session)
      return session.takeError();
    return call(
        *session, "run",
        {{"x", Tensor::f32({linear.input.rows, linear.input.columns}, linear.input.values)}});
  }
};

TEST_P(NibblesTest, HaveTheBitsOfTheirDefinition) {
  for (auto [rows, features, outputs] : {std::array<int64_t, 3>{9, 64, 32},
                                         {12, 37, 33},
                                         {131, 48, 100},
                                         {1, 1000, 17},
                                         {9, 1, 2},
                                         {GetParam() == "vulkan" ? 3 : 40, 4500, 49}}) {
    LinearModel linear(rows, features, outputs);
    addCorners(linear.weight);
    auto found = run(linear, "int4");
    if (!found && LinearModel::isMissing(found.error()))
      GTEST_SKIP() << found.error().message;
    ASSERT_TRUE(found) << found.error().message;
    for (int64_t row = 0; row < outputs; ++row)
      for (int64_t first = 0; first < features; first += 32)
        roundGroup(&linear.weight.at(row, first), std::min<int64_t>(32, features - first));
    HEDDLE_ASSERT(expected, run(linear, "f32"));
    std::span<const float> values = found->at("y").values<float>(),
                           wanted = expected.at("y").values<float>();
    ASSERT_EQ(values.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_TRUE(std::bit_cast<uint32_t>(values[i]) == std::bit_cast<uint32_t>(wanted[i]) ||
                  (std::isnan(values[i]) && std::isnan(wanted[i])))
          << rows << "x" << features << " row " << static_cast<int64_t>(i) / outputs << " column "
          << static_cast<int64_t>(i) % outputs << ": expected " << wanted[i] << ", found "
          << values[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, NibblesTest,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4", "native", "vulkan"),
                         targetName);

} // namespace
