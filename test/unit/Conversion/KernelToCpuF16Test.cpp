//===- KernelToCpuF16Test.cpp - Products with f16 compared with f32 -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of f16 as a storage format. A kernel that reads f16 gives the same bits as this kernel on
// the same numbers as f32, on every instruction set. Stored numbers equal the results of
// halfFromFloat.

#include "NarrowTensors.h"

#include <limits>

using namespace heddle;
using namespace heddle::test;

namespace {

using Halves = NarrowTensor<floatFromHalf, halfFromFloat>;

class F16 : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!CompiledKernel::runsHere(isa()))
      GTEST_SKIP() << "no emulator";
  }
  std::string isa() const { return GetParam(); }
};

//===- Products with weights ---------------------------------------------===//

/// Converts the weights of `rows` to f32 panels.
Floats widePanels(Halves &rows, int64_t n, int64_t k) {
  Floats panels(padded(n) * padded(k));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      panels[(i / 16 * padded(k) + j) * 16 + i % 16] = rows.at(i * padded(k) + j);
  return panels;
}

TEST_P(F16, LinearGivesTheBitsOfF32) {
  for (const LinearShape &s :
       {LinearShape{1, 80, 5}, LinearShape{37, 80, 40}, LinearShape{37, 192, 33},
        LinearShape{97, 16, 16}, LinearShape{128, 240, 71}, LinearShape{5, 64, 64},
        LinearShape{2, 64, 1}, LinearShape{70, 80, 139, "ahead = 1, block = 48"},
        LinearShape{96, 64, 1024}}) {
    CompiledKernel half = compileKernel(linearBody(s.n, s.k, s.plan, "f16"), isa()),
                   wide = compileKernel(linearBody(s.n, s.k, s.plan, "f32"), isa());
    int64_t kp = padded(s.k);
    Floats x(s.m * kp), b(s.n), r(s.m * s.n), y(s.m * s.n, -1), expected(s.m * s.n, -2);
    Halves w(padded(s.n) * kp);
    w.fill(1), fill(x, 4), fill(b, 2), fill(r, 3);
    const uint16_t special[] = {0x0001, 0x83ff, 0x7bff, 0x8000, 0x0400}; // with denormals
    for (int64_t row = 0; row < s.n; ++row) {
      w[row * kp + row % s.k] = special[row % 5];
      std::fill(&w[row * kp + s.k], &w[row * kp] + kp, 0); // padding of weights is zero
    }
    Halves panels = toPanels(w, s.n, s.k);
    Floats asFloats = widePanels(w, s.n, s.k);
    FlushDenormals mode;
    half.run({x.bytes(), panels.bytes(), b.bytes(), r.bytes(), y.bytes()}, {s.m});
    wide.run({x.bytes(), asFloats.bytes(), b.bytes(), r.bytes(), expected.bytes()}, {s.m});
    expectSameBits(s, y, expected);
  }
}

/// Every f16 number as a weight, in both halves of a word, times 1 and times -1. The activation
/// keeps the positive result, which is the magnitude.
TEST_P(F16, AllNumbersAreWidenedExactly) {
  constexpr int64_t n = 1 << 16, k = 2;
  CompiledKernel kernel = compileKernel(linearBody(n, k, "ahead = 1", "f16"), isa());
  Floats b(n);
  for (int64_t m : {1, 2, 17}) // rows widened in registers and in scratch
    for (int64_t place : {0, 1}) {
      Halves w(n * padded(k));
      Floats x(m * padded(k)), r(m * n), y(m * n, -1);
      for (int64_t i = 0; i < n; ++i)
        w[i * padded(k) + place] = static_cast<uint16_t>(i);
      for (int64_t row = 0; row < m; ++row)
        x[row * padded(k) + place] = row % 2 ? -1.0f : 1.0f;
      Halves panels = toPanels(w, n, k);
      {
        FlushDenormals mode;
        kernel.run({x.bytes(), panels.bytes(), b.bytes(), r.bytes(), y.bytes()}, {m});
      }
      for (int64_t row = 0; row < m; ++row)
        for (int64_t i = 0; i < n; ++i) {
          float value = floatFromHalf(static_cast<uint16_t>(i)) * (row % 2 ? -1.0f : 1.0f);
          ASSERT_EQ(y[row * n + i], value > 0 ? value : 0.0f) << i << " in row " << row;
        }
    }
}

//===- Rounding ----------------------------------------------------------===//

TEST_P(F16, RoundsToRowsAndPanels) { expectRounding<Halves>(isa(), "f16", 0x1000); }

//===- Attention ---------------------------------------------------------===//

std::string attentionBody(const std::string &kept) {
  return readBody("attention.mlir", {{"d4, 64], f32", "d4, 64], " + kept},
                                     {"[d0, 12,", "[d0, 1,"},
                                     {"%h = 12 by", "%h = 1 by"},
                                     {"[d0, d1, 768]", "[d0, d1, 64]"}});
}

/// Keys and values as f16 and as equal f32, followed by NaN.
struct Attention {
  Attention(int64_t queries, int64_t keys)
      : queries(queries), keys(keys), q(padded(queries) * 64), wideK(padded(keys) * 64, nan),
        wideV((padded(keys) + 1) * 64, nan), length(1), k(padded(keys) * 64, 0x7e00),
        v((padded(keys) + 1) * 64, 0x7e00) {
    Halves numbers(keys * 64);
    fill(q, 1), numbers.fill(2);
    for (int64_t i = 0; i < keys * 64; ++i) {
      uint16_t key = halfFromFloat(3 * numbers.at(i));
      k[inPanels(i / 64, i % 64, 64)] = key;
      wideK[(i / 64 / 16 * 64 + i % 64) * 16 + i / 64 % 16] = floatFromHalf(key);
    }
    numbers.fill(3);
    for (int64_t i = 0; i < keys * 64; ++i)
      setValue(i, numbers[i]);
    setLength(static_cast<int32_t>(keys));
  }
  void setValue(int64_t i, uint16_t bits) {
    v[i] = bits;
    wideV[i] = floatFromHalf(bits);
  }
  void setLength(int32_t all) { std::memcpy(&length[0], &all, 4); }
  Floats run(const CompiledKernel &kernel, std::span<std::byte> ks, std::span<std::byte> vs) {
    Floats out(queries * 64, -1);
    FlushDenormals mode;
    kernel.run({q.bytes(), ks, vs, length.bytes(), out.bytes()},
               {1, queries, padded(queries), keys, padded(keys)});
    return out;
  }
  static constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  int64_t queries, keys;
  Floats q, wideK, wideV, length;
  Halves k, v;
};

TEST_P(F16, AttentionGivesTheBitsOfF32) {
  CompiledKernel half = compileKernel(attentionBody("f16"), isa()),
                 wide = compileKernel(attentionBody("f32"), isa());
  for (auto [queries, keys] :
       {std::array<int64_t, 2>{1, 1}, {1, 700}, {3, 37}, {37, 37}, {101, 513}, {7, 1101}}) {
    Attention data(queries, keys);
    Floats found = data.run(half, data.k.bytes(), data.v.bytes()),
           expected = data.run(wide, data.wideK.bytes(), data.wideV.bytes());
    for (int64_t i = 0; i < queries * 64; ++i)
      ASSERT_TRUE(sameBits(found[i], expected[i])) << keys << " keys, element " << i;
  }
}

TEST_P(F16, AttentionLeavesOutHiddenValues) {
  CompiledKernel kernel = compileKernel(attentionBody("f16"), isa());
  Attention data(9, 40);
  data.setLength(33);
  Floats clean = data.run(kernel, data.k.bytes(), data.v.bytes());
  for (int64_t s = 33; s < 40; ++s)
    data.setValue(s * 64 + 3, s % 2 ? 0x7c00 : 0x7e00);
  Floats hidden = data.run(kernel, data.k.bytes(), data.v.bytes());
  for (int64_t i = 0; i < 9 * 64; ++i)
    ASSERT_TRUE(sameBits(clean[i], hidden[i])) << "element " << i;
  data.setValue(5 * 64 + 3, 0x7c00);
  Floats infinite = data.run(kernel, data.k.bytes(), data.v.bytes());
  EXPECT_TRUE(std::isinf(infinite[3]));
  EXPECT_TRUE(sameBits(clean[4], infinite[4]));
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, F16,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"),
                         isaName);

} // namespace
