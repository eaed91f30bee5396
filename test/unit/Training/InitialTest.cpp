//===- InitialTest.cpp - Initial weights ----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Training/Initial.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <numeric>

using namespace heddle;
using testing::Each;

namespace {

using InitialKind = InitialRecipe::Kind;

std::vector<float> valuesOf(const std::string &name, const std::vector<int64_t> &shape,
                            const InitialRecipe &recipe = {}, uint32_t seed = 0) {
  int64_t count = 1;
  for (const int64_t dim : shape)
    count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  initialValues(recipe, seed, name, shape, 0, values);
  return values;
}

double meanOf(const std::vector<float> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double deviationOf(const std::vector<float> &values) {
  double sum = 0;
  for (const float value : values)
    sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// Values of Python's statistics.NormalDist().inv_cdf.
TEST(Initial, InverseOfTheNormalDistribution) {
  const std::pair<uint32_t, double> expected[] = {{0U, -6.337957754553789},
                                                  {1U, -6.166429517819749},
                                                  {1000U, -5.039851125968711},
                                                  {10000000U, -2.8298754286853596},
                                                  {322122547U, -1.4395314704450153},
                                                  {322122548U, -1.4395314688002132},
                                                  {1000000000U, -0.7295565530758739},
                                                  {2147483647U, -2.9180993729166234e-10},
                                                  {2147483648U, 2.9180993729166234e-10},
                                                  {4000000000U, 1.4857137558957358},
                                                  {4294967295U, 6.337957754553789}};
  for (const auto &[word, x] : expected)
    EXPECT_NEAR(normalOf(word), x, 1e-14 * std::abs(x)) << word;
  for (uint32_t word = 1; word < 1U << 31; word = word * 3 + 1) {
    EXPECT_EQ(normalOf(word), -normalOf(~word)) << word;
    EXPECT_LT(normalOf(word - 1), normalOf(word)) << word;
  }
}

TEST(Initial, NormsAreOneAndBiasesZero) {
  EXPECT_THAT(valuesOf("encoder.0.ffn.norm.weight", {64}), Each(1.0F));
  EXPECT_THAT(valuesOf("encoder.0.ffn.norm.bias", {64}), Each(0.0F));
  EXPECT_THAT(valuesOf("encoder.0.ffn.in.bias", {64}), Each(0.0F));
  EXPECT_THAT(valuesOf("encoder.0.attention.sinks", {8}), Each(0.0F));
}

TEST(Initial, XavierUniform) {
  const auto values = valuesOf("encoder.0.ffn.in.weight", {320, 96});
  const double bound = std::sqrt(6.0 / (320 + 96));
  EXPECT_LE(std::ranges::max(values), bound);
  EXPECT_GE(std::ranges::min(values), -bound);
  EXPECT_NEAR(std::ranges::max(values), bound, 1e-3 * bound);
  EXPECT_NEAR(meanOf(values), 0, bound / 100);
  EXPECT_NEAR(deviationOf(values), bound / std::sqrt(3), bound / 100);
}

TEST(Initial, XavierNormalAndGain) {
  const auto values = valuesOf("encoder.0.ffn.in.weight", {320, 96},
                               {.matrices = InitialKind::XavierNormal, .gain = 2});
  const double deviation = 2 * std::sqrt(2.0 / (320 + 96));
  EXPECT_NEAR(meanOf(values), 0, deviation / 50);
  EXPECT_NEAR(deviationOf(values), deviation, deviation / 50);
}

TEST(Initial, TablesHaveTheirOwnKind) {
  const InitialRecipe recipe{.tables = InitialKind::Normal};
  EXPECT_NEAR(deviationOf(valuesOf("source.embedding.weight", {427, 96}, recipe)), 1, 0.02);
  EXPECT_NEAR(deviationOf(valuesOf("target.position.weight", {427, 96}, recipe)), 1, 0.02);
  EXPECT_LT(deviationOf(valuesOf("classifier.weight", {427, 96}, recipe)), 0.1);
}

/// Fans of a convolution include its steps, as in PyTorch.
TEST(Initial, Convolutions) {
  const double bound = std::sqrt(6.0 / ((64 + 32) * 3));
  const auto values = valuesOf("source.convolution.0.weight", {64, 32, 3});
  EXPECT_NEAR(std::ranges::max(values), bound, 1e-2 * bound);
}

TEST(Initial, DependOnSeedNameAndIndexOnly) {
  const auto whole = valuesOf("classifier.weight", {32, 48});
  EXPECT_NE(whole, valuesOf("classifier.weight", {32, 48}, {}, 1));
  EXPECT_NE(whole, valuesOf("encoder.0.ffn.in.weight", {32, 48}));
  std::vector<float> piece(100);
  initialValues({}, 0, "classifier.weight", std::array<int64_t, 2>{32, 48}, 37, piece);
  EXPECT_EQ(piece, std::vector<float>(whole.begin() + 37, whole.begin() + 137));
}

/// Bits are part of what a run promises: weights of a recipe are equal on every machine.
TEST(Initial, BitsAreFixed) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const InitialKind kind :
       {InitialKind::XavierUniform, InitialKind::XavierNormal, InitialKind::Normal})
    for (const float value : valuesOf("encoder.0.ffn.in.weight", {320, 96}, {.matrices = kind}))
      hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3;
  EXPECT_EQ(hash, 12684904489826596216U);
}

} // namespace
