//===- Problem.cpp - Benchmark problems and expected results --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected results by plain loops in f64, written independently of the project's own reference.
#include "Problem.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace heddle::bench {

static Values randoms(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Values values(static_cast<size_t>(count));
  std::ranges::generate(values, [&] { return uniform(random); });
  return values;
}

static double dot(const float *a, const float *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

Product::Product()
    : x(randoms(size * size, 1)), weight(randoms(size * size, 2)), bias(randoms(size, 3)) {}

std::vector<double> Product::expected() const {
  std::vector<double> y;
  for (int64_t row = 0; row < size; ++row)
    for (int64_t column = 0; column < size; ++column)
      y.push_back(dot(&x[row * size], &weight[column * size], size) + bias[column]);
  return y;
}

Attention::Attention()
    : q(randoms(elements, 4)), k(randoms(elements, 5)), v(randoms(elements, 6)) {}

std::vector<double> Attention::expected() const {
  std::vector<double> o(elements, 0), p(length);
  for (int64_t row = 0; row < heads * length; ++row) {
    int64_t head = row / length * length * headSize;
    double total = 0;
    for (int64_t key = 0; key < length; ++key) {
      p[key] = std::exp(dot(&q[row * headSize], &k[head + key * headSize], headSize) / 8);
      total += p[key];
    }
    for (int64_t key = 0; key < length; ++key)
      for (int64_t i = 0; i < headSize; ++i)
        o[row * headSize + i] += p[key] / total * v[head + key * headSize + i];
  }
  return o;
}

Values panelsOf(const Values &matrix, int64_t columns) {
  constexpr int64_t panel = 16;
  Values packed;
  packed.reserve(matrix.size());
  auto rows = static_cast<int64_t>(matrix.size()) / columns;
  for (int64_t first = 0; first < rows; first += panel)
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = 0; row < panel; ++row)
        packed.push_back(matrix[(first + row) * columns + column]);
  return packed;
}

double relativeError(const Values &found, const std::vector<double> &expected) {
  double difference = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double gap = std::abs(found[i] - expected[i]);
    difference = gap <= difference ? difference : gap; // keeps NaN
    largest = std::max(largest, std::abs(expected[i]));
  }
  return difference / largest;
}

} // namespace heddle::bench
