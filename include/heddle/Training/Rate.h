//===- Rate.h - Learning rates and the numbers of a step -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of the learning rate, and the scalars that the update of a step reads. Everything is
// computed in f64 by additions, products, quotients and square roots, which IEEE 754 rounds alike
// on every machine, and is then rounded to f32. No function of the C library is called.
//
// Steps count from 1, and `warmup` is a number W of steps, which need not be whole:
//
//   noam       factor * size^-0.5 * min(t^-0.5, t * W^-1.5), as in Vaswani et al. 2017, section 5.3
//   linear     peak * t / W up to step W, then a line to `last` in the last step
//   cosine     peak * t / W up to step W, then half a cosine wave to `last` in the last step
//   constant   peak * t / W up to step W, then the peak
//   one-cycle  half a cosine wave from `first` in step 1 to the peak in step W, and another one to
//              `last` in the last step, as PyTorch's OneCycleLR; beta1 moves the other way
#pragma once

#include "heddle/Training/Recipe.h"

namespace heddle {

/// Scalars of the update of one step. With g the mean gradient of the step:
///
///   m = m + rest1 * (g - m)
///   v = fma(rest2, g * g, beta2 * v)
///   p = p - rate * (m * c1 / (sqrt(v) * c2 + epsilon) + decay * p)
struct StepScalars {
  float rate = 0;
  float beta1 = 0, beta2 = 0;
  float rest1 = 0, rest2 = 0; ///< 1 - beta1 and 1 - beta2
  float c1 = 1, c2 = 1;       ///< 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
  float decay = 0;    ///< weight decay, not of norms and biases
  float momentum = 0; ///< sgd only
  float clip = 0;     ///< maximum norm of the mean gradient; 0: none
  /// Factor of the sums of gradients: 1 / tokens, or 1 if the recipe does not divide them.
  float perToken = 1;
};

/// The schedule of a run.
class Rate {
public:
  /// `size` is the size of the model, which noam uses. Returns an error, which begins with `place`
  /// and a key, if the warm-up does not end before the last step.
  static Expected<Rate> create(const Recipe &recipe, int64_t size, int64_t steps,
                               const std::string &place);

  int64_t steps() const { return count; }
  /// The rate of step `step`, from 1 to steps().
  double rate(int64_t step) const;
  /// The decay of the first moment in a step.
  double beta1(int64_t step) const;
  /// The scalars of a step whose losses were summed over `tokens` tokens. The moments have been
  /// updated in each step before it; a skipped step counts in `skipped`.
  StepScalars scalars(int64_t step, int64_t tokens, int64_t skipped = 0) const;

private:
  Rate(const Recipe &recipe, int64_t size, int64_t steps);
  double cycle(double step, double ends, double atPeak, double atLast) const;

  RateRecipe shape;
  OptimizerRecipe optimizer;
  bool divides; ///< sums of gradients are divided by the number of tokens
  int64_t count;
  double size, warmup, peak, first, last;
};

/// cos(pi x) for x in [0, 1], with an error below 1e-15.
double cosineOfPi(double x);

} // namespace heddle
