//===- RateTest.cpp - Learning rates and the numbers of a step ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected rates were computed by PyTorch's OneCycleLR, by Transformers' schedules with a cosine
// and a line, and by the formula of noam.

#include "heddle/Training/Rate.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

using namespace heddle;

namespace {

using RateKind = RateRecipe::Kind;

Recipe recipeWith(RateRecipe rate) {
  Recipe recipe;
  recipe.rate = rate;
  return recipe;
}

Rate rateOf(const RateRecipe &rate, int64_t steps, int64_t size = 512) {
  auto created = Rate::create(recipeWith(rate), size, steps, "training");
  EXPECT_TRUE(created) << created.error().message;
  return *created;
}

void expectRate(const Rate &rate, int64_t step, double expected) {
  EXPECT_NEAR(rate.rate(step), expected, 1e-13 * std::abs(expected) + 1e-18) << "step " << step;
}

TEST(Rate, Noam) {
  const Rate rate = rateOf({.factor = 2}, 50000);
  expectRate(rate, 1, 3.493856214843422e-07);
  expectRate(rate, 100, 3.493856214843422e-05);
  expectRate(rate, 3999, 0.0013971931003158842);
  expectRate(rate, 4000, 0.0013975424859373686);
  expectRate(rate, 4001, 0.001397367825874706);
  expectRate(rate, 40000, 0.00044194173824159226);
}

TEST(Rate, CosineAndLinearWithWarmup) {
  const Rate cosine = rateOf({.kind = RateKind::Cosine, .peak = 1, .warmup = 10}, 50);
  const Rate linear = rateOf({.kind = RateKind::Linear, .peak = 1, .warmup = 10}, 50);
  const int64_t steps[] = {1, 5, 10, 11, 20, 30, 49, 50};
  const double waves[] = {
      0.1, 0.5, 1.0, 0.998458666866564, 0.8535533905932737, 0.5, 0.001541333133436018, 0};
  const double lines[] = {0.1, 0.5, 1.0, 0.975, 0.75, 0.5, 0.025, 0.0};
  for (size_t i = 0; i < std::size(steps); ++i) {
    EXPECT_NEAR(cosine.rate(steps[i]), waves[i], 1e-15) << steps[i];
    EXPECT_NEAR(linear.rate(steps[i]), lines[i], 1e-15) << steps[i];
  }
}

TEST(Rate, LastStepHasTheLastRate) {
  for (RateKind kind : {RateKind::Cosine, RateKind::Linear, RateKind::OneCycle}) {
    const Rate rate = rateOf({.kind = kind, .peak = 1, .warmup = 0.25, .last = 0.125}, 40);
    EXPECT_DOUBLE_EQ(rate.rate(10), 1);
    EXPECT_DOUBLE_EQ(rate.rate(40), 0.125);
  }
}

TEST(Rate, ConstantAfterAShareOfAllSteps) {
  const Rate rate = rateOf({.kind = RateKind::Constant, .peak = 1e-4, .warmup = 0.1}, 100);
  expectRate(rate, 1, 1e-5);
  expectRate(rate, 9, 9e-5);
  expectRate(rate, 10, 1e-4);
  expectRate(rate, 100, 1e-4);
}

TEST(Rate, OneStep) {
  for (RateKind kind :
       {RateKind::Cosine, RateKind::Linear, RateKind::Constant, RateKind::OneCycle}) {
    const Rate rate = rateOf({.kind = kind, .peak = 1, .warmup = 0, .last = 0.5}, 1);
    EXPECT_TRUE(std::isfinite(rate.rate(1)));
    EXPECT_GE(rate.rate(1), 0.5);
  }
}

TEST(Rate, OneCycleIsThatOfPyTorch) {
  const Rate rate = rateOf({.kind = RateKind::OneCycle, .peak = 2e-3}, 20);
  const std::tuple<int64_t, double, double> expected[] = {
      {1, 7.999999999999999e-05, 0.95},
      {2, 0.0002633436854000504, 0.9404508497187474},
      {3, 0.0007433436854000506, 0.9154508497187474},
      {6, 0.002, 0.85},
      {7, 0.001974928012470175, 0.8512536043909088},
      {12, 0.0012225240438725783, 0.8888739533021842},
      {19, 2.5079987529825107e-05, 0.9487463956090911},
      {20, 8e-09, 0.95}};
  for (const auto &[step, value, beta1] : expected) {
    EXPECT_NEAR(rate.rate(step), value, 1e-13 * value) << step;
    EXPECT_NEAR(rate.beta1(step), beta1, 1e-14) << step;
  }
}

/// A warm-up of 0.08 * 30 = 2.4 steps ends between two steps.
TEST(Rate, OneCycleWithAFractionOfAStep) {
  const Rate rate = rateOf({.kind = RateKind::OneCycle, .peak = 2e-3, .warmup = 0.08}, 30);
  const std::pair<int64_t, double> expected[] = {
      {1, 7.999999999999999e-05},  {2, 0.0016385502097843842},
      {3, 0.0019976687785154624},  {6, 0.001917211632660247},
      {7, 0.0018660259396828234},  {12, 0.0014600671974710011},
      {29, 6.479141450299545e-06}, {30, 8e-09}};
  for (const auto &[step, value] : expected)
    EXPECT_NEAR(rate.rate(step), value, 1e-13 * value) << step;
}

TEST(Rate, WarmupEndsBeforeTheLastStep) {
  const Recipe recipe = recipeWith({.kind = RateKind::Linear, .peak = 1, .warmup = 50});
  auto rate = Rate::create(recipe, 512, 50, "m.json: training");
  ASSERT_FALSE(rate);
  EXPECT_EQ(rate.error().message,
            "m.json: training.rate.warmup: expected fewer steps than all, 50, found 50");
}

TEST(Rate, ScalarsOfAdam) {
  Recipe recipe = recipeWith({.kind = RateKind::Constant, .peak = 1e-3});
  recipe.optimizer = {.kind = OptimizerRecipe::Kind::Adamw,
                      .betas = {0.9, 0.999},
                      .epsilon = 1e-8,
                      .weightDecay = 0.01,
                      .clip = 1};
  auto rate = Rate::create(recipe, 512, 100, "training");
  ASSERT_TRUE(rate);
  const StepScalars first = rate->scalars(1, 256), third = rate->scalars(3, 100);
  EXPECT_EQ(first.rate, 1e-3F);
  EXPECT_EQ(first.rest1, 0.1F);
  EXPECT_EQ(first.rest2, 0.001F);
  EXPECT_EQ(first.perToken, 1.0F / 256);
  EXPECT_EQ(first.clip, 1);
  EXPECT_EQ(first.decay, 0.01F);
  EXPECT_NEAR(first.c1, 1 / 0.1, 1e-6 * first.c1);
  EXPECT_NEAR(first.c2, 1 / std::sqrt(0.001), 1e-6 * first.c2);
  EXPECT_NEAR(third.c1, 1 / (1 - 0.9 * 0.9 * 0.9), 1e-6 * third.c1);
  // Moments are as old as the updates, not as the steps.
  EXPECT_EQ(rate->scalars(3, 100, 2).c1, first.c1);
}

/// Five updates of one weight by the formula of StepScalars, compared with PyTorch in f64.
TEST(Rate, ScalarsGiveTheUpdatesOfPyTorch) {
  const double gradients[] = {0.5, -1.25, 0.125, 2, -0.75};
  const double adam[] = {0.99000000002, 0.9944068658440033, 0.9972232483821046, 0.993724750895645,
                         0.9925035951314478};
  const double adamw[] = {0.9890000002, 0.9924331527911896, 0.9942534834412422, 0.9897327458059266,
                          0.9875163328365114};
  using Kind = OptimizerRecipe::Kind;
  for (const Kind kind : {Kind::Adam, Kind::Adamw}) {
    Recipe recipe = recipeWith({.kind = RateKind::Constant, .peak = 0.01});
    if (kind == Kind::Adamw)
      recipe.optimizer = {.kind = kind, .betas = {0.9, 0.999}, .epsilon = 1e-8, .weightDecay = 0.1};
    const auto rate = Rate::create(recipe, 512, 100, "training");
    double p = 1, m = 0, v = 0;
    for (int64_t t = 1; t <= 5; ++t) {
      const StepScalars s = rate->scalars(t, 1);
      const double g = gradients[t - 1];
      m += s.rest1 * (g - m);
      v = std::fma(s.rest2, g * g, s.beta2 * v);
      p -= s.rate * (m * s.c1 / (std::sqrt(v) * s.c2 + s.epsilon) + s.decay * p);
      EXPECT_NEAR(p, (kind == Kind::Adam ? adam : adamw)[t - 1], 1e-8) << t;
    }
  }
}

TEST(Rate, ScalarsOfSums) {
  Recipe recipe = recipeWith({.kind = RateKind::Constant, .peak = 0.5});
  recipe.optimizer = {.kind = OptimizerRecipe::Kind::Sgd, .momentum = 0.9};
  recipe.loss.reduce = LossRecipe::Reduce::Sum;
  auto rate = Rate::create(recipe, 512, 100, "training");
  ASSERT_TRUE(rate);
  const StepScalars scalars = rate->scalars(1, 256);
  EXPECT_EQ(scalars.perToken, 1);
  EXPECT_EQ(scalars.momentum, 0.9F);
  EXPECT_EQ(scalars.clip, 0);
}

TEST(Rate, CosineOfPi) {
  for (int i = 0; i <= 1000; ++i)
    EXPECT_NEAR(cosineOfPi(i / 1000.0), std::cos(std::numbers::pi * i / 1000), 5e-16) << i;
  EXPECT_EQ(cosineOfPi(0), 1);
  EXPECT_EQ(cosineOfPi(0.5), 0);
  EXPECT_EQ(cosineOfPi(1), -1);
}

} // namespace
