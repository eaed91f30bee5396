//===- KernelToCpuF16AccumulateTest.cpp - Products of two f16 -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of products that accumulate in f16. The sums in f16 and the points at which they are added
// in f32 are fixed. Plain loops that round like f16 give the same bits, for any blocks of features
// and any other rows. Without f16 multiply-adds, a kernel gives the bits of the same kernel on f32.

#include "NarrowTensors.h"

#include "heddle/Support/CpuFeatures.h"
#include "heddle/Target/CpuTarget.h"

using namespace heddle;
using namespace heddle::test;

namespace {

using Halves = NarrowTensor<floatFromHalf, halfFromFloat>;

struct Shape {
  int64_t m, n, k;
  const char *plan = "ahead = 1";
};

std::string body(const Shape &shape, const std::string &element) {
  std::string k = std::to_string(shape.k), n = std::to_string(shape.n);
  std::string x = "!kernel.view<[d0, " + k + "], " + element + ">",
              w = "!kernel.view<[" + n + ", " + k + "], " + element + ", panel = 16>",
              y = "!kernel.view<[d0, " + n + "], f32>";
  return "kernel.func @product(%x: " + x + ", %w: " + w + ", %y: " + y +
         ") scalars(d0) grid(%i = d0 by 96, %j = " + n +
         " by 64) attributes {plan = #kernel.plan<mapping = cpu_tiles, " + shape.plan + ">} {\n" +
         "  %d0 = kernel.scalar \"d0\" : index\n  %left = arith.subi %d0, %i : index\n" +
         "  %c = kernel.contract %x[%i], %w[%j] : " + x + ", " + w + " -> tensor<96x64xf32>\n" +
         "  kernel.store %c, %y[%i, %j] rows(%left) : tensor<96x64xf32>, " + y + "\n}\n";
}

/// A number rounded once to f16, ties to even.
float asHalf(double x) {
  if (x == 0 || !std::isfinite(x))
    return static_cast<float>(x);
  double unit = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  double rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) >= 65536 ? std::copysign(INFINITY, static_cast<float>(x))
                                     : static_cast<float>(rounded);
}

/// Sums blocks of 256 features, even and odd ones separately in f16, then in f32. In f64, products
/// and sums are exact if the numbers are of similar magnitude.
float summedInHalves(Halves &x, int64_t row, Halves &w, int64_t column, int64_t k) {
  float sum = 0;
  for (int64_t from = 0; from < k; from += 256) {
    float parts[2] = {0, 0};
    for (int64_t i = from; i < std::min(k, from + 256); ++i) {
      double product =
          static_cast<double>(x.at(row * padded(k) + i)) * w.at(column * padded(k) + i);
      parts[i % 2] = asHalf(product + parts[i % 2]);
    }
    sum += parts[0] + parts[1];
  }
  return sum;
}

class F16Accumulate : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    target = *findCpuTarget(GetParam());
    if (!CompiledKernel::runsHere(GetParam()))
      GTEST_SKIP() << "no processor or emulator with " << GetParam();
  }

  struct Operands {
    explicit Operands(const Shape &s)
        : x(s.m * padded(s.k)), w(padded(s.n) * padded(s.k)), y(s.m * padded(s.n), -1) {
      x.fill(4), w.fill(1);
      for (int64_t row = 0; row < s.m; ++row)
        clearPadding(x, row, s.k, 0x7e00); // a NaN
      for (int64_t row = 0; row < padded(s.n); ++row)
        clearPadding(w, row, s.k, 0);
    }
    /// Zeroes the feature that completes a word. Nothing after it is read.
    static void clearPadding(Halves &rows, int64_t row, int64_t k, uint16_t rest) {
      std::fill(&rows[row * padded(k) + k], &rows[row * padded(k)] + padded(k), rest);
      if (k % 2 != 0)
        rows[row * padded(k) + k] = 0;
    }
    Halves x, w;
    Floats y;
  };

  void run(const Shape &s, Operands &operands) {
    CompiledKernel kernel = compileKernel(body(s, "f16"), GetParam());
    Halves panels = toPanels(operands.w, s.n, s.k);
    FlushDenormals mode;
    kernel.run({operands.x.bytes(), panels.bytes(), operands.y.bytes()}, {s.m});
  }

  /// Runs the same kernel on the same numbers as f32.
  Floats asFloats(const Shape &s, Operands &operands) {
    int64_t kp = padded(s.k);
    Floats x(s.m * kp), panels(padded(s.n) * kp), y(s.m * padded(s.n), -2);
    for (int64_t i = 0; i < s.m * kp; ++i)
      x[i] = operands.x.at(i);
    for (int64_t i = 0; i < padded(s.n); ++i)
      for (int64_t j = 0; j < kp; ++j)
        panels[(i / 16 * kp + j) * 16 + i % 16] = operands.w.at(i * kp + j);
    CompiledKernel kernel = compileKernel(body(s, "f32"), GetParam());
    FlushDenormals mode;
    kernel.run({x.bytes(), panels.bytes(), y.bytes()}, {s.m});
    return y;
  }

  CpuTarget target;
};

const Shape shapes[] = {{1, 80, 5},
                        {37, 80, 40},
                        {2, 64, 1},
                        {33, 48, 300},
                        {8, 64, 256},
                        {97, 16, 511},
                        {70, 80, 700, "ahead = 1, block = 256"},
                        {13, 64, 1025, "ahead = 1, block = 512"},
                        {96, 64, 1536, "ahead = 1, block = 512"}};

TEST_P(F16Accumulate, AreTheDefinition) {
  for (const Shape &s : shapes) {
    Operands operands(s);
    run(s, operands);
    Floats wide = target.f16Accumulate ? Floats(1) : asFloats(s, operands);
    for (int64_t row = 0; row < s.m; ++row)
      for (int64_t n = 0; n < s.n; ++n) {
        int64_t i = row * padded(s.n) + n;
        float expected =
            target.f16Accumulate ? summedInHalves(operands.x, row, operands.w, n, s.k) : wide[i];
        ASSERT_TRUE(sameBits(operands.y[i], expected))
            << s.m << "x" << s.n << "x" << s.k << " row " << row << " column " << n << ": expected "
            << expected << ", found " << operands.y[i];
      }
  }
}

/// One row, a few rows and many rows use different register tiles.
TEST_P(F16Accumulate, ARowDoesNotDependOnOthers) {
  Shape all{23, 64, 600};
  Operands many(all);
  run(all, many);
  for (int64_t rows : {1, 2, 7}) {
    Shape few = all;
    few.m = rows;
    Operands some(few);
    run(few, some);
    for (int64_t i = 0; i < rows * 64; ++i)
      ASSERT_TRUE(sameBits(some.y[i], many.y[i])) << rows << " rows, element " << i;
  }
}

/// With rows of at most 2 and weights of at most 240, sums stay within f16 even if every addition
/// rounds up. Larger sums become infinite, never another number.
TEST_P(F16Accumulate, TooLargeSumsAreInfinite) {
  Shape s{3, 16, 256};
  Operands operands(s);
  for (int64_t k = 0; k < s.k; ++k) {
    operands.x[k] = operands.x[s.k + k] = halfFromFloat(2.0f);
    operands.w[k] = halfFromFloat(240.0f);
    operands.w[s.k + k] = halfFromFloat(512.0f);
  }
  run(s, operands);
  EXPECT_NEAR(operands.y[0], 2.0f * 240 * 256, target.f16Accumulate ? 0.07f * 2 * 240 * 256 : 0);
  EXPECT_EQ(operands.y[1], target.f16Accumulate ? INFINITY : 2.0f * 512 * 256);
}

/// f16 denormals count, as factors and as sums.
TEST_P(F16Accumulate, DenormalsCount) {
  Shape s{1, 16, 2};
  Operands operands(s);
  operands.x[0] = 0x0001, operands.x[1] = 0;                           // 2^-24
  operands.w[0] = halfFromFloat(1.0f), operands.w[padded(2)] = 0x3800; // 1 and 1/2
  run(s, operands);
  EXPECT_EQ(operands.y[0], 0x1p-24f);
  EXPECT_EQ(operands.y[1], target.f16Accumulate ? 0.0f : 0x1p-25f); // a tie to even
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, F16Accumulate,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-fp16",
                                         "aarch64", "aarch64-fp16"),
                         isaName);

} // namespace
