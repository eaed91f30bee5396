//===- KernelToCpuNibblesTest.cpp - Products with i4 against those of f32 -===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes of i4 are a form of storage: a kernel that reads them gives, bit by bit,
// what the same kernel gives of the numbers they stand for as f32.

#include "NarrowTensors.h"
#include "NibbleTensors.h"

using namespace heddle;
using namespace heddle::test;

namespace {

class Nibbles : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!CompiledKernel::runsHere(isa()))
      GTEST_SKIP() << "no emulator";
  }
  std::string isa() const { return GetParam(); }
};

/// One row, few and many; features that end inside a word, a group or a block; blocks of features
/// that begin inside a group, and at one.
TEST_P(Nibbles, LinearGivesTheBitsOfF32) {
  for (const LinearShape &s :
       {LinearShape{1, 80, 5}, LinearShape{37, 80, 40}, LinearShape{37, 192, 33},
        LinearShape{97, 16, 16}, LinearShape{128, 240, 71}, LinearShape{5, 64, 64},
        LinearShape{2, 64, 1}, LinearShape{3, 144, 131},
        LinearShape{70, 80, 139, "prefetch = 1, kblock = 48"},
        LinearShape{1, 80, 339, "prefetch = 1, kblock = 96"}, LinearShape{96, 64, 1024}}) {
    CompiledKernel narrow = compileKernel(linearBody(s.n, s.k, s.schedule, "i4"), isa()),
                   wide = compileKernel(linearBody(s.n, s.k, s.schedule, "f32"), isa());
    int64_t kp = padded(s.k);
    Floats x(s.m * kp), b(s.n), r(s.m * s.n), y(s.m * s.n, -1), expected(s.m * s.n, -2);
    fill(x, 4), fill(b, 2), fill(r, 3);
    NibbleMatrix w(s.n, s.k, 1);
    std::vector<float> panels = w.panels(kp);
    FlushDenormals mode;
    narrow.run(
        {x.bytes(), std::as_writable_bytes(std::span(w.words)), b.bytes(), r.bytes(), y.bytes()},
        {s.m});
    wide.run({x.bytes(), std::as_writable_bytes(std::span(panels)), b.bytes(), r.bytes(),
              expected.bytes()},
             {s.m});
    expectSameBits(s, y, expected);
  }
}

/// Every scale that f16 has with every code, and every code in every place of a word, beside codes of
/// 0; times 1 and times -1: what the activation leaves of both is the magnitude.
TEST_P(Nibbles, AllValuesAreExact) {
  constexpr int64_t n = 0x7c00, k = 8; // finite numbers of f16
  CompiledKernel kernel = compileKernel(linearBody(n, k, "prefetch = 1", "i4"), isa());
  NibbleMatrix w(n, k, 1);
  Floats b(n);
  for (int64_t m : {2, 6}) { // rows that are decoded in registers, and in scratch
    Floats x(m * padded(k)), r(m * n), y(m * n, -1);
    for (int64_t code = 0; code < 16; ++code) {
      for (int64_t row = 0; row < n; ++row) {
        w.scaleAt(row, 0) = static_cast<uint16_t>(row);
        w.wordAt(row, 0) = 0x88888888u;
        uint32_t shift = static_cast<uint32_t>((code + row) % k * 4);
        w.wordAt(row, 0) ^= (8u ^ static_cast<uint32_t>(code)) << shift;
      }
      for (int64_t row = 0; row < m; ++row)
        std::fill_n(&x[row * padded(k)], k, row % 2 ? -1.0f : 1.0f);
      {
        FlushDenormals mode;
        kernel.run({x.bytes(), std::as_writable_bytes(std::span(w.words)), b.bytes(), r.bytes(),
                    y.bytes()},
                   {m});
      }
      for (int64_t row = 0; row < m; ++row)
        for (int64_t i = 0; i < n; ++i) {
          float scale = floatFromHalf(static_cast<uint16_t>(i));
          float value = (row % 2 ? -1.0f : 1.0f) * scale * static_cast<float>(code - 8);
          ASSERT_EQ(y[row * n + i], value > 0 ? value : 0.0f)
              << "scale " << scale << ", code " << code - 8 << ", row " << row;
        }
    }
  }
}

/// A column whose scale is NaN has NaN for a sum, others do not see it.
TEST_P(Nibbles, ScalesThatAreNaNAreNotLost) {
  const int64_t n = 64, k = 70;
  std::string body = linearBody(n, k, "prefetch = 1", "i4");
  const std::string relu = "arith.select %p, %h, %zero"; // makes 0 of NaN
  body.replace(body.find(relu), relu.size(), "arith.select %p, %h, %h");
  CompiledKernel kernel = compileKernel(body, isa());
  for (int64_t m : {1, 3, 40}) {
    NibbleMatrix w(n, k, 1);
    w.scaleAt(17, 1) = 0x7e00;
    Floats x(m * padded(k)), b(n), r(m * n), y(m * n, -1);
    fill(x, 4);
    kernel.run(
        {x.bytes(), std::as_writable_bytes(std::span(w.words)), b.bytes(), r.bytes(), y.bytes()},
        {m});
    for (int64_t i = 0; i < m * n; ++i)
      ASSERT_EQ(std::isnan(y[i]), i % n == 17) << m << " rows, element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, Nibbles,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"),
                         isaName);

} // namespace
