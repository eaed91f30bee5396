//===- Int4Test.cpp - Int4 products against their definition --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares a linear compiled with --dtype=int4 with docs/semantics.md in plain loops: codes of rows
// and of weights by groups of 32, exact sums of each group, and two multiply-adds per group. All
// instruction sets give these bits, whichever products they use.

#include "LinearModel.h"

#include "heddle/Support/Float.h"

#include <bit>
#include <cmath>
#ifdef __SSE2__
#include <immintrin.h>
#endif

using namespace heddle;
using namespace heddle::test;

namespace {

/// Flushes denormals to zero for its lifetime, as every kernel of the CPU does.
struct FlushDenormals {
#ifdef __SSE2__
  unsigned before = _mm_getcsr();
  explicit FlushDenormals(bool flushes) { _mm_setcsr(flushes ? before | 0x8040 : before); }
  ~FlushDenormals() { _mm_setcsr(before); }
#else
  explicit FlushDenormals(bool) {}
#endif
};

/// Rounds a number once to f16; infinity from 65520 on.
double toHalf(double number) {
  int exponent = number == 0 ? -14 : std::max(std::ilogb(number), -14);
  double step = std::ldexp(1.0, exponent - 10), rounded = std::nearbyint(number / step) * step;
  return std::fabs(rounded) < 65536 ? rounded : INFINITY;
}

/// Codes, scale and minimum of one group of a row of a matrix.
struct WeightGroup {
  std::vector<float> codes;
  float scale = NAN, minimum = NAN;

  explicit WeightGroup(std::span<const float> numbers) : codes(numbers.size()) {
    double low = INFINITY, high = -INFINITY, least = INFINITY;
    for (float w : numbers) {
      if (!std::isfinite(w))
        return;
      low = std::min<double>(low, w);
      high = std::max<double>(high, w);
    }
    for (double part : {1.0, 0.97, 0.94, 0.90, 0.86}) {
      double cut = (high - low) * ((1 - part) / 2), m = toHalf(low + cut),
             d = toHalf(((high - cut) - (low + cut)) / 15), error = 0;
      std::vector<float> made;
      for (float w : numbers) {
        float code = std::nearbyint((w - static_cast<float>(m)) / static_cast<float>(d));
        made.push_back(d == 0 ? 0 : std::min(std::max(code, 0.0f), 15.0f));
        error += (w - (d * made.back() + m)) * (w - (d * made.back() + m));
      }
      if (std::isinf(m) || std::isinf(d) || error >= least)
        continue;
      least = error;
      codes = made;
      scale = static_cast<float>(d);
      minimum = static_cast<float>(m);
    }
  }
};

/// Codes of one group of a row of the input.
struct RowGroup {
  std::vector<float> codes;
  float scale = 0, sum = 0;

  explicit RowGroup(std::span<const float> numbers) : codes(numbers.size()) {
    float largest = 0;
    for (float x : numbers) {
      if (!(std::fabs(x) < 0x1p127f))
        scale = sum = NAN;
      largest = std::max(largest, std::fabs(x));
    }
    if (std::isnan(scale) || largest < 0x1p-118f)
      return;
    const float factor = 127 / largest;
    scale = largest / 127;
    for (size_t k = 0; k < numbers.size(); ++k)
      sum += codes[k] = std::nearbyint(numbers[k] * factor);
    sum *= scale;
  }
};

/// Rows of weights with edge cases: ties, zeros, and numbers that are almost zero, too large or not
/// finite.
void addCorners(Matrix &weight) {
  auto fill = [&](int64_t row, std::initializer_list<float> values) {
    if (row < weight.rows)
      for (int64_t k = 0; k < weight.columns; ++k)
        weight.at(row, k) = values.begin()[k % values.size()];
  };
  fill(1, {7.0f, 2.5f, 3.5f, -2.5f, -3.5f, 0.5f, -8.0f});
  fill(2, {0.0f, -0.0f});
  fill(3, {1e-7f, -1.6e-7f, 0.5e-7f}); // a scale that is a denormal of f16
  fill(4, {1e-9f, -1e-9f});
  fill(5, {60000.0f, -60000.0f, 1.0f});
  fill(9, {-66000.0f, 0.0f, 100.0f}); // f16 can represent only a smaller part of the range
  fill(10, {0.5f});
  for (auto [row, value] :
       {std::pair{6, 1.2e6f}, {7, NAN}, {8, -INFINITY}, {11, 50.0f}, {12, -70000.0f}})
    if (row < weight.rows)
      weight.at(row, weight.columns / 2) = value;
}

void addInputCorners(Matrix &input) {
  auto fill = [&](int64_t row, std::initializer_list<float> values) { input.fill(row, values); };
  fill(1, {127.0f, 2.5f, 3.5f, -2.5f, -3.5f, 0.5f, -0.5f}); // ties round to even
  fill(2, {0.0f, -0.0f});
  fill(3, {0x1p-130f, -0x1.fp-119f}); // almost zero
  fill(4, {0x1p100f, -0x1p99f, 1.0f});
  fill(5, {-1.0f}); // sums of maximum size
  for (auto [row, value] : {std::pair{6, NAN}, {7, -INFINITY}, {8, 0x1p127f}, {9, 0x1.8p126f}})
    if (row < input.rows)
      input.at(row, input.columns / 2) = value;
}

class Int4Test : public testing::TestWithParam<std::string> {
protected:
  bool onCpu() const { return GetParam() != "vulkan"; }
  bool isFused() const { return GetParam() != "x86-64-v2"; }

  /// Expected results, each with the change that a tie of a row rounded the other way would cause.
  std::vector<std::pair<float, float>> expected(LinearModel &linear) const {
    FlushDenormals mode(onCpu());
    auto multiplyAdd = [&](float a, float b, float c) {
      volatile float product = a * b; // never contracted
      return isFused() ? std::fma(a, b, c) : product + c;
    };
    auto groupsOf = [](Matrix &matrix, auto make) {
      std::vector<decltype(make({}))> groups;
      for (int64_t row = 0; row < matrix.rows; ++row)
        for (int64_t first = 0; first < matrix.columns; first += 32)
          groups.push_back(make({&matrix.at(row, first), static_cast<size_t>(std::min<int64_t>(
                                                             32, matrix.columns - first))}));
      return groups;
    };
    auto rows = groupsOf(linear.input, [](std::span<const float> x) { return RowGroup(x); });
    auto columns = groupsOf(linear.weight, [](std::span<const float> w) { return WeightGroup(w); });
    const size_t count = (static_cast<size_t>(linear.input.columns) + 31) / 32;
    std::vector<std::pair<float, float>> result;
    for (size_t row = 0; row < rows.size(); row += count)
      for (size_t column = 0; column < columns.size(); column += count) {
        float sum = 0, step = 0;
        for (size_t g = 0; g < count; ++g) {
          const RowGroup &x = rows[row + g];
          const WeightGroup &w = columns[column + g];
          int32_t products = 0; // exact
          for (size_t k = 0; k < x.codes.size(); ++k)
            products += static_cast<int32_t>(x.codes[k]) * static_cast<int32_t>(w.codes[k]);
          volatile float factor = x.scale * w.scale;
          sum = multiplyAdd(static_cast<float>(products), factor, sum);
          sum = multiplyAdd(x.sum, w.minimum, sum);
          step += x.scale * (15 * w.scale + std::fabs(w.minimum));
        }
        volatile float biased = sum + linear.bias.at(0, static_cast<int64_t>(column / count));
        result.push_back({biased, step});
      }
    return result;
  }
};

TEST_P(Int4Test, HaveTheBitsOfTheirDefinition) {
  std::vector<std::array<int64_t, 3>> shapes = {{9, 64, 32},   {12, 37, 33}, {131, 48, 100},
                                                {1, 1000, 17}, {9, 1, 2},    {5, 33, 2}};
  for (int64_t rows = 1; rows < 10; ++rows)
    shapes.push_back({rows, 96, 16});
  shapes.push_back({onCpu() ? 40 : 3, 4500, 49});
  for (auto [rows, features, outputs] : shapes) {
    LinearModel linear(rows, features, outputs);
    addInputCorners(linear.input);
    addCorners(linear.weight);
    auto session = linear.open("int4", GetParam());
    if (!session && LinearModel::isMissing(session.error()))
      GTEST_SKIP() << session.error().message;
    ASSERT_TRUE(session) << session.error().message;
    HEDDLE_ASSERT(outputsOf, call(*session, "run",
                                  {{"x", Tensor::f32({rows, features}, linear.input.values)}}));
    std::span<const float> values = outputsOf.at("y").values<float>();
    auto wanted = expected(linear);
    ASSERT_EQ(values.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      auto [number, step] = wanted[i];
      bool isSame = std::bit_cast<uint32_t>(values[i]) == std::bit_cast<uint32_t>(number) ||
                    (std::isnan(values[i]) && std::isnan(number));
      // Another device may divide differently, round a tie to the other side, and overflow earlier.
      if (!onCpu())
        isSame = isSame || (std::isinf(number) && !std::isfinite(values[i])) ||
                 std::fabs(values[i] - number) <= 1e-5f * std::fabs(number) + step;
      ASSERT_TRUE(isSame) << rows << "x" << features << " row " << static_cast<int64_t>(i) / outputs
                          << " column " << static_cast<int64_t>(i) % outputs << ": expected "
                          << number << ", found " << values[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Int4Test,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v3-vnni", "x86-64-v4",
                                         "x86-64-v4-vnni", "native", "vulkan"),
                         targetName);

} // namespace
