//===- KernelToCpuBf16MatricesTest.cpp - bf16 through a matrix unit -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the order of sums of bf16 through a matrix unit, against plain loops. A row has the same
// bits among any number of rows.

#include "NarrowTensors.h"

using namespace heddle;
using namespace heddle::test;

namespace {
using Halves = NarrowTensor<floatFromBFloat, bfloatFromFloat>;

std::string body(int64_t features, int64_t outputs, const std::string &plan) {
  std::string k = std::to_string(features), n = std::to_string(outputs),
              x = "!kernel.view<[d0, " + k + "], bf16>",
              w = "!kernel.view<[" + n + ", " + k + "], bf16, panel = 16>",
              y = "!kernel.view<[d0, " + n + "], f32>";
  return "kernel.func @product(%x: " + x + ", %w: " + w + ", %y: " + y +
         ") scalars(d0) grid(%i = d0 by 48, %j = " + n +
         " by 48) attributes {plan = #kernel.plan<" + plan +
         ">, storage = [#kernel.storage<memory>, #kernel.storage<weight>, "
         "#kernel.storage<memory>]} {\n"
         "  %d0 = kernel.scalar \"d0\" : index\n  %left = arith.subi %d0, %i : index\n"
         "  %c = kernel.contract %x[%i], %w[%j] : " +
         x + ", " + w + " -> tensor<48x48xf32>\n" +
         "  kernel.store %c, %y[%i, %j] rows(%left) : tensor<48x48xf32>, " + y + "\n}\n";
}

/// The sum of a row and a column as the definition of tdpbf16ps orders it: in each block of 32
/// features, one chain of even and one of odd features.
float sumOf(Halves &x, int64_t row, Halves &w, int64_t column, int64_t features) {
  const int64_t pitch = padded(features);
  float sum = 0;
  for (int64_t first = 0; first < features; first += 32) {
    float chains[2] = {0, 0};
    for (int64_t k = first; k < std::min(first + 32, features); ++k)
      chains[k % 2] = std::fma(x.at(row * pitch + k), w.at(column * pitch + k), chains[k % 2]);
    sum += chains[0] + chains[1];
  }
  return sum;
}

class Bf16Matrices : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!CompiledKernel::runsHere(GetParam()))
      GTEST_SKIP() << "no such processor, no emulator";
  }
  void check(int64_t features, int64_t outputs, const std::string &plan) {
    CompiledKernel kernel = compileKernel(body(features, outputs, plan), GetParam());
    Halves w(padded(outputs) * padded(features));
    w.fill(2);
    for (int64_t n = 0; n < outputs; ++n) // the padding of weights is zero
      for (int64_t k = features; k < padded(features); ++k)
        w[n * padded(features) + k] = 0;
    Halves panels = toPanels(w, outputs, features);
    for (int64_t rows : {1, 2, 15, 16, 17, 33, 48, 70}) {
      Halves x(rows * padded(features));
      x.fill(1);
      const int64_t columns = padded(outputs);
      Floats y(rows * columns);
      FlushDenormals mode;
      kernel.run({x.bytes(), panels.bytes(), y.bytes()}, {rows});
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t n = 0; n < outputs; ++n)
          ASSERT_TRUE(sameBits(y[row * columns + n], sumOf(x, row, w, n, features)))
              << rows << " rows of " << features << ": row " << row << ", column " << n;
    }
  }
};

/// Features end inside a word and inside a matrix.
TEST_P(Bf16Matrices, SumsHaveTheOrderOfTheUnit) {
  for (int64_t features : {1, 2, 31, 32, 33, 64, 101, 200})
    check(features, 96, "mapping = cpu_tiles, ahead = 1");
}

TEST_P(Bf16Matrices, PartialTiles) { check(72, 80, "mapping = cpu_tiles, ahead = 1"); }

/// A plan with blocks of features changes no bit, because the unit sums all features at once.
TEST_P(Bf16Matrices, InBlocksOfFeatures) {
  check(200, 48, "mapping = cpu_tiles, ahead = 1, block = 64");
}

INSTANTIATE_TEST_SUITE_P(Amx, Bf16Matrices, testing::Values("x86-64-v4-amx-bf16"), isaName);
#ifdef HEDDLE_PLAIN_UNIT
INSTANTIATE_TEST_SUITE_P(Plain, Bf16Matrices, testing::Values("x86-64-v2", "x86-64-v3", "aarch64"),
                         isaName);
#endif

} // namespace
