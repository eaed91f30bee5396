//===- ActivationTest.cpp - Activations against their formulas -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests every activation on both devices, computed by a linear with one feature and weight 1,
// against its formula in f64: NaN for NaN, and the limits of activations that have them.
#include "LinearModel.h"

#include <cmath>
#include <numbers>

using namespace heddle;
using namespace heddle::test;

namespace {

struct Activation {
  const char *name;
  double (*formula)(double x);
  std::pair<double, double> limits; ///< at minus infinity and infinity; NaN: not compared
};

const Activation activations[] = {
    {"relu", [](double x) { return x < 0 ? 0 : x; }, {0, INFINITY}},
    {"gelu", [](double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }, {NAN, NAN}},
    {"gelu_tanh",
     [](double x) {
       double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
       return 0.5 * x * (1 + std::tanh(inner));
     },
     {NAN, NAN}},
    {"quick_gelu", [](double x) { return x / (1 + std::exp(-1.702 * x)); }, {NAN, NAN}},
    {"silu", [](double x) { return x / (1 + std::exp(-x)); }, {NAN, NAN}},
    {"tanh", [](double x) { return std::tanh(x); }, {-1, 1}},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, {NAN, 1}},
    {"relu2", [](double x) { return x < 0 ? 0 : x * x; }, {0, INFINITY}},
    {"relu6", [](double x) { return std::fmin(std::fmax(x, 0), 6); }, {0, 6}},
    {"hard_swish",
     [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; },
     {NAN, INFINITY}},
    {"mish",
     [](double x) { return x * std::tanh(x > 30 ? x : std::log1p(std::exp(x))); },
     {NAN, INFINITY}},
};

class ActivationTest : public testing::TestWithParam<std::tuple<std::string, Activation>> {};

TEST_P(ActivationTest, IsItsFormula) {
  const auto &[target, activation] = GetParam();
  std::vector<float> xs = {0, 1e-30f, 1e-4f, 0.3f, 0.624f, 0.626f, 1,  1.5f, 2,
                           3, 3.9f,   5,     8,    12,     30,     90, 1e4f};
  for (size_t i = xs.size(); i-- > 0;)
    xs.push_back(-xs[i]);
  size_t finite = xs.size();
  xs.insert(xs.end(), {-INFINITY, INFINITY, NAN});
  LinearModel model(static_cast<int64_t>(xs.size()), 1, 1);
  model.input.values = xs;
  model.weight.values = {1};
  model.bias.values = {0};
  model.activation = activation.name;
  auto session = model.open("f32", target);
  if (!session && LinearModel::isMissing(session.error()))
    GTEST_SKIP() << session.error().message;
  ASSERT_TRUE(session) << session.error().message;
  auto outputs = call(*session, "run", {{"x", Tensor::f32({model.input.rows, 1}, xs)}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  std::span<const float> found = outputs->at("y").values<float>();
  for (size_t i = 0; i < finite; ++i) {
    double expected = activation.formula(xs[i]);
    EXPECT_NEAR(found[i], expected,
                1e-6 * std::max({1.0, std::fabs(static_cast<double>(xs[i])), std::fabs(expected)}))
        << "x = " << xs[i];
  }
  auto [low, high] = activation.limits;
  for (auto [place, limit] : {std::pair(finite, low), std::pair(finite + 1, high)})
    if (!std::isnan(limit))
      EXPECT_EQ(found[place], limit) << "x = " << xs[place];
  EXPECT_TRUE(std::isnan(found[finite + 2]));
}

std::string nameOf(const testing::TestParamInfo<ActivationTest::ParamType> &info) {
  std::string target = std::get<0>(info.param);
  return std::get<1>(info.param).name + ("_" + targetName({target, 0}));
}

INSTANTIATE_TEST_SUITE_P(Devices, ActivationTest,
                         testing::Combine(testing::Values<std::string>("x86-64-v2", "x86-64-v3",
                                                                       "x86-64-v4", "vulkan"),
                                          testing::ValuesIn(activations)),
                         nameOf);

} // namespace
