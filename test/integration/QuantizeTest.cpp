//===- QuantizeTest.cpp - Int8 and f16 products against definitions -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares a linear compiled with --dtype=int8 or f16-sum with docs/semantics.md in plain loops.
// int8: codes of rows and of weights, exact sums, two scales; all instruction sets give these bits,
// whichever products they use. f16-sum: rows and weights of f16, one scale per row; targets that
// sum in f32 give these bits.
#include "LinearModel.h"

#include "heddle/Support/CpuFeatures.h"
#include "heddle/Support/Float.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

/// Rows of codes with one scale per row.
struct Codes {
  std::vector<int32_t> values;
  std::vector<float> scales;
};

/// Quantises a matrix row by row, by the definition.
Codes quantized(Matrix &matrix) {
  Codes codes;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    float largest = 0;
    bool usual = true;
    for (int64_t k = 0; k < matrix.columns; ++k) {
      usual = usual && std::fabs(matrix.at(row, k)) < 0x1p127f;
      largest = std::max(largest, std::fabs(matrix.at(row, k)));
    }
    bool none = largest < 0x1p-118f;
    codes.scales.push_back(!usual ? NAN : none ? 0 : largest / 127);
    for (int64_t k = 0; k < matrix.columns; ++k) {
      float product = usual && !none ? matrix.at(row, k) * (127 / largest) : 0;
      codes.values.push_back(static_cast<int32_t>(std::nearbyint(product)));
    }
  }
  return codes;
}

/// Rows as f16 whose largest magnitude is in [1, 2), and their powers of two.
std::pair<Matrix, std::vector<float>> inHalves(Matrix matrix) {
  std::vector<float> scales;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    std::span<float> values(&matrix.at(row, 0), static_cast<size_t>(matrix.columns));
    float largest = 0;
    bool usual = true;
    for (float x : values) {
      usual = usual && std::fabs(x) < 0x1p127f;
      largest = std::max(largest, std::fabs(x));
    }
    bool none = !usual || largest < 0x1p-101f;
    float scale = none ? 0 : std::ldexp(1.0f, std::ilogb(largest));
    scales.push_back(usual ? scale : NAN);
    for (float &x : values)
      x = none ? 0 : floatFromHalf(halfFromFloat(x / scale));
  }
  return {std::move(matrix), std::move(scales)};
}

/// Rows of the input with edge cases: rounding, zeros, numbers that are too large or not finite.
void addCorners(Matrix &input) {
  auto fill = [&](int64_t row, std::initializer_list<float> values) { input.fill(row, values); };
  fill(1, {127.0f, 2.5f, 3.5f, -2.5f, -3.5f, 0.5f, -0.5f}); // ties round to even
  fill(2, {0.0f, -0.0f});
  fill(3, {0x1p-130f, -0x1p-120f}); // almost zero
  fill(4, {0x1p126f, -0x1p125f, 1.0f});
  fill(5, {1.0f, NAN, 2.0f});
  fill(6, {1.0f, -INFINITY, 2.0f});
  fill(7, {1.0f, 0x1p127f, 2.0f});
  fill(8, {-1.0f}); // sums of maximum size
}

struct Linear : LinearModel {
  Linear(int64_t rows, int64_t features, int64_t outputs) : LinearModel(rows, features, outputs) {
    addCorners(input);
    for (int64_t k = 0; k < features; ++k) {
      weight.at(0, k) = 0;
      weight.at(1, k) = 1;
    }
  }

  std::vector<float> expected() {
    Codes x = quantized(input), w = quantized(weight);
    std::vector<float> result;
    for (int64_t row = 0; row < input.rows; ++row)
      for (int64_t n = 0; n < weight.rows; ++n) {
        int64_t sum = 0;
        for (int64_t k = 0; k < input.columns; ++k)
          sum += x.values[row * input.columns + k] * w.values[n * input.columns + k];
        result.push_back(static_cast<float>(sum) * x.scales[row] * w.scales[n] + bias.at(0, n));
      }
    return result;
  }

  /// Sums in f32, and bounds for the difference of sums in f16: half a unit in the last place of
  /// the partial sum at every step. A lane sums every other feature of a block of 256.
  std::pair<std::vector<float>, std::vector<double>> expectedOfHalves() {
    auto [x, scales] = inHalves(input);
    std::vector<float> result;
    std::vector<double> errors;
    for (int64_t row = 0; row < input.rows; ++row)
      for (int64_t n = 0; n < weight.rows; ++n) {
        float sum = 0; // products of two f16 are exact: a chain with one rounding per step
        double lanes[2] = {}, error = 0;
        for (int64_t k = 0; k < input.columns; ++k) {
          const float w = floatFromHalf(halfFromFloat(weight.at(n, k)));
          sum = std::fma(x.at(row, k), w, sum);
          double &lane = lanes[k % 2];
          lane = (k % 256 < 2 ? 0 : lane) + double(x.at(row, k)) * w;
          error += std::fabs(lane) * 0x1p-11 + 0x1p-25;
        }
        result.push_back(sum * scales[row] + bias.at(0, n));
        errors.push_back(error * scales[row]);
      }
    return {std::move(result), std::move(errors)};
  }
};

class QuantizeTest : public testing::TestWithParam<std::string> {
protected:
  bool onCpu() const { return GetParam() != "vulkan"; }
  /// Whether the code that runs computes sums in f16.
  bool sumsInHalves() const {
    const std::string needed[] = {"avx512_fp16"};
    return (GetParam() == "native" || GetParam() == "x86-64-v4-fp16") &&
           missingCpuFeatures(needed).empty();
  }

  void check(Linear linear, const std::string &dtype) {
    auto session = linear.open(dtype, GetParam());
    if (!session && LinearModel::isMissing(session.error()))
      GTEST_SKIP() << session.error().message;
    ASSERT_TRUE(session) << session.error().message;
    Tensor input = Tensor::f32({linear.input.rows, linear.input.columns}, linear.input.values);
    HEDDLE_ASSERT(outputs, call(*session, "run", {{"x", input}}));
    std::span<const float> found = outputs.at("y").values<float>();
    bool isInt8 = dtype == "int8";
    auto [expected, errors] =
        isInt8 ? std::pair(linear.expected(), std::vector<double>()) : linear.expectedOfHalves();
    ASSERT_EQ(found.size(), expected.size());
    // Another device may round the factor of a row, and therefore a tie, differently.
    const float allowed = isInt8 && !onCpu() ? 5e-3f : 0;
    int64_t columns = linear.weight.rows;
    for (size_t i = 0; i < expected.size(); ++i) {
      bool same = found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]));
      if (std::isfinite(expected[i]))
        same = same ||
               std::fabs(found[i] - expected[i]) <=
                   (!isInt8 && sumsInHalves() ? errors[i]
                                              : allowed * std::max(1.0f, std::fabs(expected[i])));
      ASSERT_TRUE(same) << linear.input.rows << "x" << linear.input.columns << " row "
                        << static_cast<int64_t>(i) / columns << " column "
                        << static_cast<int64_t>(i) % columns << ": expected " << expected[i]
                        << ", found " << found[i];
    }
  }
};

TEST_P(QuantizeTest, IsTheDefinition) {
  for (auto [rows, features, outputs] :
       {std::array<int64_t, 3>{9, 64, 32}, {12, 37, 33}, {131, 48, 100}, {1, 1000, 17}, {9, 1, 2}})
    for (const char *dtype : {"int8", "f16-sum"})
      check(Linear(rows, features, outputs), dtype);
}

/// More features than one block.
TEST_P(QuantizeTest, OfManyFeatures) {
  for (const char *dtype : {"int8", "f16-sum"})
    check(Linear(onCpu() ? 40 : 10, 4500, 49), dtype);
}

INSTANTIATE_TEST_SUITE_P(Targets, QuantizeTest,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v3-vnni", "x86-64-v4",
                                         "x86-64-v4-vnni", "x86-64-v4-amx", "x86-64-v4-fp16",
                                         "native", "vulkan"),
                         targetName);

} // namespace
