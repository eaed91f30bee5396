//===- KernelToCpuBf16Dot2Test.cpp - Products of bf16 against plain loops -===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of bf16 products, which have a fixed order (docs/semantics.md): pairs of the reduction
// index, the odd one first, each by a fused multiply-add, with denormals as zero. The processor's
// vdpbf16ps and the code of every instruction set are compared bit by bit.

#include "Bf16Attention.h"

using namespace heddle;
using namespace heddle::test;

namespace {

__attribute__((target("fma"), noinline)) float fused(float a, float b, float c) {
  return _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)));
}

/// One pair: the odd product, then the even one.
float pair(float evenA, float evenB, float oddA, float oddB, float sum) {
  return fused(evenA, evenB, fused(oddA, oddB, sum));
}

class Bf16Dot2 : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (isa() == "x86-64-v4-bf16" && !__builtin_cpu_supports("avx512bf16"))
      GTEST_SKIP() << "no vdpbf16ps";
    if (!CompiledKernel::runsHere(isa()))
      GTEST_SKIP() << "no emulator";
  }
  std::string isa() const { return GetParam(); }
};

//===- The processor -----------------------------------------------------===//

__attribute__((target("avx512f,avx512bf16"), noinline)) void
dotPairs(const float *sums, const uint32_t *a, const uint32_t *b, float *results) {
  asm volatile("vmovups (%0), %%zmm0\n"
               "vmovups (%1), %%zmm1\n"
               "vdpbf16ps (%2), %%zmm1, %%zmm0\n"
               "vmovups %%zmm0, (%3)\n"
               "vzeroupper"
               :
               : "r"(sums), "r"(a), "r"(b), "r"(results)
               : "xmm0", "xmm1", "memory");
}

TEST(Bf16Dot2Instruction, IsTheDefinition) {
  if (!__builtin_cpu_supports("avx512bf16"))
    GTEST_SKIP() << "no vdpbf16ps";
  uint64_t state = 1;
  auto bits = [&] { // half are similar numbers, half are any pattern
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t word = static_cast<uint32_t>(state >> 32);
    return state >> 31 & 1 ? word : (word & 0x83ff83ffu) | 0x3c003c00u;
  };
  int different = 0;
  for (int round = 0; round < 100000; ++round) {
    uint32_t a[16], b[16];
    float sums[16], found[16];
    for (int lane = 0; lane < 16; ++lane) {
      a[lane] = bits(), b[lane] = bits();
      uint32_t sum = bits();
      std::memcpy(&sums[lane], &sum, 4);
    }
    dotPairs(sums, a, b, found);
    FlushDenormals mode;
    for (int lane = 0; lane < 16; ++lane) {
      auto half = [](uint32_t word, int which) {
        return floatFromBFloat(static_cast<uint16_t>(word >> 16 * which));
      };
      float expected =
          pair(half(a[lane], 0), half(b[lane], 0), half(a[lane], 1), half(b[lane], 1), sums[lane]);
      different += !sameBits(found[lane], expected);
    }
  }
  EXPECT_EQ(different, 0);
}

//===- Products ----------------------------------------------------------===//

TEST_P(Bf16Dot2, Linear) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 80, 5},
                         {37, 80, 40},
                         {37, 192, 33},
                         {97, 16, 16},
                         {128, 240, 70},
                         {5, 64, 64}}) {
    CompiledKernel kernel =
        compileKernel(readBody("linear.mlir", {{"[d0, 768], f32", "[d0, 768], bf16"},
                                               {"[3072, 768], f32", "[3072, 768], bf16"},
                                               {"3072", std::to_string(n)},
                                               {"768", std::to_string(k)}}),
                      isa());
    int64_t kp = padded(k);
    Halves x(m * kp), w(padded(n) * kp);
    Floats b(n), r(m * n), y(m * n, -1);
    x.fill(4), w.fill(1), fill(b, 2), fill(r, 3);
    for (int64_t row = 0; row < n; ++row) // padding of weights is zero
      std::fill(&w[row * kp + k], &w[row * kp] + kp, 0);
    x[3] = 0x0040; // a denormal
    Halves panels = toPanels(w, n, k);
    FlushDenormals mode;
    kernel.run({x.bytes(), panels.bytes(), b.bytes(), r.bytes(), y.bytes()}, {m});
    int different = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t f = 0; f < k; f += 2)
          sum = pair(x.at(i * kp + f), w.at(j * kp + f), f + 1 < k ? x.at(i * kp + f + 1) : 0,
                     f + 1 < k ? w.at(j * kp + f + 1) : 0, sum);
        sum += b[j];
        different += !sameBits(y[i * n + j], (sum > 0 ? sum : 0.0f) + r[i * n + j]);
      }
    EXPECT_EQ(different, 0) << "M " << m << " N " << n << " K " << k;
  }
}

//===- Rounding ----------------------------------------------------------===//

TEST_P(Bf16Dot2, RoundsToRowsAndPanels) { expectRounding<Halves>(isa(), "bf16", 0x8000); }

//===- Attention ---------------------------------------------------------===//

/// An odd number of keys ends with half a pair, followed by NaN. Without fused multiply-adds only
/// the products are equal; the powers of two differ.
TEST_P(Bf16Dot2, Attention) {
  CompiledKernel kernel = compileKernel(attentionBody(), isa());
  CompiledKernel other =
      compileKernel(attentionBody(), isa() == "x86-64-v2" ? "x86-64-v2" : "x86-64-v3");
  for (auto [queries, keys] :
       {std::array<int64_t, 2>{1, 1}, {1, 700}, {37, 37}, {101, 513}, {7, 1101}}) {
    Attention data(queries, keys);
    Floats found = data.run(kernel), baseline = data.run(other);
    for (int64_t i = 0; i < queries * 64; ++i) {
      ASSERT_TRUE(sameBits(found[i], baseline[i])) << keys << " keys, element " << i;
      if (i % 61 == 0) {
        ASSERT_NEAR(found[i], data.expected(i / 64, i % 64), 3e-3)
            << keys << " keys, element " << i;
      }
    }
  }
}

TEST_P(Bf16Dot2, AttentionLeavesOutHiddenValues) { expectHiddenValuesLeftOut(isa()); }

INSTANTIATE_TEST_SUITE_P(InstructionSets, Bf16Dot2,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16",
                                         "aarch64"),
                         isaName);

} // namespace
