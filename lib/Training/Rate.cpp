//===- Rate.cpp - Learning rates and the numbers of a step --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file is compiled without contraction to fused multiply-adds.
#include "heddle/Training/Rate.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

/// Taylor series of sine and cosine for |x| <= pi / 4, the terms in Horner's order. Each has its
/// next term below 2^-60.
static double sineNearZero(double x) {
  const double square = x * x;
  double sum = 1;
  for (int n = 16; n >= 2; n -= 2)
    sum = 1 - square / (n * (n + 1)) * sum;
  return x * sum;
}
static double cosineNearZero(double x) {
  const double square = x * x;
  double sum = 1;
  for (int n = 17; n >= 1; n -= 2)
    sum = 1 - square / (n * (n + 1)) * sum;
  return sum;
}

double heddle::cosineOfPi(double x) {
  constexpr double pi = 3.141592653589793;
  if (x > 0.5)
    return -cosineOfPi(1 - x);
  return x <= 0.25 ? cosineNearZero(pi * x) : sineNearZero(pi * (0.5 - x));
}

/// base^exponent by squaring: std::pow may differ between C libraries.
static double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 != 0)
      result *= base;
  return result;
}

Rate::Rate(const Recipe &recipe, int64_t size, int64_t steps)
    : shape(recipe.rate), optimizer(recipe.optimizer),
      divides(recipe.loss.reduce == LossRecipe::Reduce::Mean), count(steps),
      size(static_cast<double>(size)), warmup(shape.warmup.value_or(shape.usualWarmup())),
      peak(shape.peak.value_or(0)), first(shape.first.value_or(peak / 25)),
      last(shape.last.value_or(shape.kind == RateRecipe::Kind::OneCycle ? peak / 250'000 : 0)) {
  if (warmup < 1)
    warmup *= static_cast<double>(steps);
}

Expected<Rate> Rate::create(const Recipe &recipe, int64_t size, int64_t steps,
                            const std::string &place) {
  Rate rate(recipe, size, steps);
  if (recipe.rate.kind != RateRecipe::Kind::Noam && rate.warmup >= static_cast<double>(steps))
    return inputError(place + ".rate.warmup: expected fewer steps than all, " +
                      std::to_string(steps) + ", found " + formatted("%g", rate.warmup));
  return rate;
}

/// Half a cosine wave from `from` to `to`, at `share` of the way.
static double wave(double from, double to, double share) {
  return to + (from - to) / 2 * (1 + cosineOfPi(share));
}

/// A value that is `ends` in step 1, `atPeak` in step W, and `atLast` in the last step.
double Rate::cycle(double step, double ends, double atPeak, double atLast) const {
  if (step <= warmup && warmup > 1)
    return wave(ends, atPeak, (step - 1) / (warmup - 1));
  const double rest = static_cast<double>(count) - std::max(warmup, 1.0);
  return rest > 0 ? wave(atPeak, atLast, (step - std::max(warmup, 1.0)) / rest) : atPeak;
}

double Rate::rate(int64_t step) const {
  const auto t = static_cast<double>(step);
  const double share = (t - warmup) / (static_cast<double>(count) - warmup);
  using enum RateRecipe::Kind;
  switch (shape.kind) {
  case Noam:
    return shape.factor.value_or(1) / std::sqrt(size) *
           std::min(1 / std::sqrt(t), t / (warmup * std::sqrt(warmup)));
  case OneCycle:
    return cycle(t, first, peak, last);
  case Cosine:
    return t < warmup ? peak * (t / warmup) : wave(peak, last, share);
  case Linear:
    return t < warmup ? peak * (t / warmup) : peak + (last - peak) * share;
  case Constant:
    return t < warmup ? peak * (t / warmup) : peak;
  }
  return 0;
}

double Rate::beta1(int64_t step) const {
  if (shape.kind != RateRecipe::Kind::OneCycle)
    return optimizer.betas[0];
  const auto [atPeak, ends] = shape.beta1.value_or(std::array{0.85, 0.95});
  return cycle(static_cast<double>(step), ends, atPeak, ends);
}

StepScalars Rate::scalars(int64_t step, int64_t tokens, int64_t skipped) const {
  StepScalars scalars;
  scalars.rate = static_cast<float>(rate(step));
  scalars.perToken = divides ? static_cast<float>(1 / static_cast<double>(tokens)) : 1;
  scalars.clip = static_cast<float>(optimizer.clip.value_or(0));
  if (optimizer.kind == OptimizerRecipe::Kind::Sgd) {
    scalars.momentum = static_cast<float>(optimizer.momentum);
    return scalars;
  }
  const double first = beta1(step), second = optimizer.betas[1];
  const int64_t updates = step - skipped;
  scalars.beta1 = static_cast<float>(first);
  scalars.beta2 = static_cast<float>(second);
  scalars.rest1 = static_cast<float>(1 - first);
  scalars.rest2 = static_cast<float>(1 - second);
  scalars.c1 = static_cast<float>(1 / (1 - power(first, updates)));
  scalars.c2 = static_cast<float>(1 / std::sqrt(1 - power(second, updates)));
  scalars.epsilon = static_cast<float>(optimizer.epsilon);
  scalars.decay = static_cast<float>(optimizer.weightDecay);
  return scalars;
}
