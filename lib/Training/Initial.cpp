//===- Initial.cpp - Initial weights ------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file is compiled without contraction to fused multiply-adds.
#include "heddle/Training/Initial.h"

#include "heddle/Support/Philox.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace heddle;

//===- The normal distribution -------------------------------------------===//

/// The logarithm of a normal number. The mantissa m contributes the series
/// 2 atanh((m - 1) / (m + 1)).
static double logarithm(double x) {
  constexpr double ln2 = 0.6931471805599453;
  constexpr uint64_t mantissaBits = (uint64_t{1} << 52) - 1;
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1022;
  auto mantissa = std::bit_cast<double>((bits & mantissaBits) | uint64_t{1022} << 52);
  if (mantissa < 0.7071067811865476) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1), square = s * s;
  double sum = 0;
  for (int n = 23; n >= 1; n -= 2)
    sum = 1.0 / n + square * sum;
  return exponent * ln2 + 2 * s * sum;
}

/// Polynomial with its coefficients from the highest power on.
static double polynomial(const double (&coefficients)[8], double x) {
  double sum = 0;
  for (const double coefficient : coefficients)
    sum = sum * x + coefficient;
  return sum;
}

double heddle::normalOf(uint32_t word) {
  // Coefficients of AS 241 (PPND16). Its third case, |x| > 5 deviations of r, needs more bits.
  constexpr double middleAbove[] = {2.5090809287301226727e+3, 3.3430575583588128105e+4,
                                    6.7265770927008700853e+4, 4.5921953931549871457e+4,
                                    1.3731693765509461125e+4, 1.9715909503065514427e+3,
                                    1.3314166789178437745e+2, 3.3871328727963666080e+0};
  constexpr double middleBelow[] = {5.2264952788528545610e+3, 2.8729085735721942674e+4,
                                    3.9307895800092710610e+4, 2.1213794301586595867e+4,
                                    5.3941960214247511077e+3, 6.8718700749205790830e+2,
                                    4.2313330701600911252e+1, 1.0};
  constexpr double tailAbove[] = {7.7454501427834140764e-4,  2.2723844989269184583e-2,
                                  2.4178072517745061177e-1,  1.27045825245236838258e+0,
                                  3.64784832476320460504e+0, 5.7694972214606914055e+0,
                                  4.6303378461565452959e+0,  1.42343711074968357734e+0};
  constexpr double tailBelow[] = {1.05075007164441684324e-9, 5.475938084995344946e-4,
                                  1.51986665636164571966e-2, 1.4810397642748007459e-1,
                                  6.8976733498510000455e-1,  1.6763848301838038494e+0,
                                  2.05319162663775882187e+0, 1.0};
  const double p = (static_cast<double>(word) + 0.5) * 0x1p-32, q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return polynomial(middleAbove, r) * q / polynomial(middleBelow, r);
  }
  const double r = std::sqrt(-logarithm(q < 0 ? p : 1 - p)) - 1.6;
  const double x = polynomial(tailAbove, r) / polynomial(tailBelow, r);
  return q < 0 ? -x : x;
}

//===- Tensors -----------------------------------------------------------===//

/// FNV-1a.
static uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

static bool isTable(std::string_view name) {
  return name.ends_with(".embedding.weight") || name.ends_with(".position.weight") ||
         name.ends_with(".types.weight");
}

/// Bound of the uniform numbers, or deviation of the normal ones.
static double scaleOf(const InitialRecipe &recipe, InitialRecipe::Kind kind,
                      std::span<const int64_t> shape) {
  using enum InitialRecipe::Kind;
  double fans = static_cast<double>(shape[0] + shape[1]); // of one step of a convolution
  for (const int64_t dim : shape.subspan(2))
    fans *= static_cast<double>(dim);
  return kind == Normal ? recipe.gain
                        : recipe.gain * std::sqrt((kind == XavierUniform ? 6 : 2) / fans);
}

void heddle::initialValues(const InitialRecipe &recipe, uint32_t seed, std::string_view name,
                           std::span<const int64_t> shape, int64_t first, std::span<float> out) {
  if (shape.size() < 2 || name.ends_with("norm.weight"))
    return void(std::ranges::fill(out, name.ends_with("norm.weight") ? 1.0F : 0.0F));
  const InitialRecipe::Kind kind = isTable(name) ? recipe.tables : recipe.matrices;
  const double scale = scaleOf(recipe, kind, shape);
  const uint64_t hash = hashOf(name);
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t element = static_cast<uint64_t>(first) + i, block = element / 4;
    if (i == 0 || element % 4 == 0)
      words = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                      static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(RandomUse::Weights)},
                     {seed, static_cast<uint32_t>(hash)});
    const uint32_t word = words[element % 4];
    const double number = kind == InitialRecipe::Kind::XavierUniform
                              ? (2 * static_cast<double>(word) + 1) * 0x1p-32 - 1
                              : normalOf(word);
    out[i] = static_cast<float>(number * scale);
  }
}
