//===- KernelToCpuInt4Test.cpp - Products with i4 against plain loops -----===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of products with i4. Results are compared bit by bit with the definition, on every
// instruction set and with every kind of multiplication.

#include "Int4Tensors.h"
#include "NarrowTensors.h"

using namespace heddle;
using namespace heddle::test;

namespace {

class Int4 : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!CompiledKernel::runsHere(isa()))
      GTEST_SKIP() << "no such processor, no emulator";
  }
  std::string isa() const { return GetParam(); }
  bool isFused() const { return isa() != "x86-64-v2"; }

  CompiledKernel compile(int64_t k, int64_t n,
                         const std::string &plan = "mapping = cpu_tiles, ahead = 1") {
    return compileKernel(nibbleBody(k, n, 96, 48, plan), isa());
  }
  void check(const CompiledKernel &kernel, NibbleRows x, NibbleMatrix w) {
    auto bytesOf = [](auto &memory) { return std::as_writable_bytes(std::span(memory)); };
    Floats bytes(x.m * x.pitch / 4), scales(x.m * x.scalePitch), y(x.m * w.n, -1);
    std::memcpy(bytes.data(), x.bytes.data(), x.bytes.size());
    std::ranges::copy(x.scales, scales.data());
    FlushDenormals mode;
    kernel.run({bytes.bytes(), scales.bytes(), bytesOf(w.words), y.bytes()}, {x.m});
    std::vector<float> expected = x.times(w, isFused());
    for (size_t i = 0; i < expected.size(); ++i) {
      auto at = static_cast<int64_t>(i);
      ASSERT_TRUE(sameBits(y[at], expected[i]))
          << x.m << " rows of " << x.k << ": row " << at / w.n << ", column " << at % w.n
          << ": expected " << expected[i] << ", found " << y[at];
    }
  }
};

/// Features end inside a word, a line and a group. Row counts are small and large, with whole and
/// partial matrices.
TEST_P(Int4, LinearIsTheDefinition) {
  for (int64_t k : {1, 5, 32, 33, 40, 71, 139, 224}) {
    CompiledKernel kernel = compile(k, 96);
    for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 37, 61, 128})
      check(kernel, {m, k, 4}, {96, k, 1});
  }
}

/// The last column tile is partial.
TEST_P(Int4, ColumnsOfSeveralTiles) {
  CompiledKernel kernel = compile(64, 176);
  for (int64_t m : {1, 9, 33, 100})
    check(kernel, {m, 64, 4}, {176, 64, 1});
}

TEST_P(Int4, InBlocksOfFeatures) {
  for (int64_t k : {288, 339}) {
    CompiledKernel kernel = compile(k, 48, "mapping = cpu_tiles, ahead = 1, block = 64");
    for (int64_t m : {1, 4, 21, 96})
      check(kernel, {m, k, 4}, {48, k, 1});
  }
}

/// The largest sums of both signs, also for the byte -128, which quantisation does not produce.
TEST_P(Int4, NothingSaturates) {
  CompiledKernel kernel = compile(96, 48);
  for (int byte : {127, -127, -128})
    for (int64_t m : {1, 9, 19}) {
      NibbleRows x(m, 96, 4);
      NibbleMatrix w(48, 96, 1);
      std::ranges::fill(x.bytes, static_cast<int8_t>(byte));
      std::ranges::fill(w.codes, 15);
      w.store();
      check(kernel, x, w);
    }
}

/// Every finite f16 number as a scale and as a minimum.
TEST_P(Int4, AllScalesAreExact) {
  constexpr int64_t n = 0x7c00, k = 8;
  CompiledKernel kernel = compile(k, n);
  for (int64_t m : {1, 6, 17}) {
    NibbleRows x(m, k, 4);
    NibbleMatrix w(n, k, 1);
    for (int64_t i = 0; i < n; ++i) {
      w.scales[i] = static_cast<uint16_t>(i);
      w.minimums[i] = static_cast<uint16_t>((n - 1 - i) | (i % 2) << 15);
    }
    w.store();
    check(kernel, x, w);
  }
}

/// NaN in a group of a column reaches its sum, and NaN in a group of a row reaches all results of
/// the row. Other results are unaffected, even if zeros are multiplied.
TEST_P(Int4, NaNIsNotLost) {
  const int64_t n = 64, k = 70;
  CompiledKernel kernel = compile(k, n);
  for (int64_t m : {1, 3, 40}) {
    NibbleRows x(m, k, 4);
    NibbleMatrix w(n, k, 1);
    for (int64_t c = 32; c < 64; ++c)
      w.codes[17 * k + c] = 0;
    w.scales[17 * w.groups + 1] = w.minimums[17 * w.groups + 1] = 0x7e00;
    w.scales[5 * w.groups + 2] = w.minimums[5 * w.groups + 2] = 0;
    x.scales[(m / 2) * x.scalePitch + 4] = x.scales[(m / 2) * x.scalePitch + 5] = NAN;
    w.store();
    std::vector<float> expected = x.times(w);
    for (int64_t i = 0; i < m * n; ++i)
      ASSERT_EQ(std::isnan(expected[i]), i % n == 17 || i / n == m / 2);
    check(kernel, x, w);
  }
}

/// Signed codes of bytes, in groups of 32 and of 16.
TEST_P(Int4, BytesAreTheDefinition) {
  for (DType type : {DType::SI8, DType::SI6})
    for (int64_t k : {1, 16, 21, 32, 71, 139, 224}) {
      CompiledKernel kernel =
          compileKernel(nibbleBody(k, 176, 96, 48, "mapping = cpu_tiles, ahead = 1", type), isa());
      for (int64_t m : {1, 2, 3, 5, 9, 16, 37, 128})
        check(kernel, {m, k, 4, type}, {176, k, 1, type});
    }
}

TEST_P(Int4, BytesDoNotSaturate) {
  for (DType type : {DType::SI8, DType::SI6}) {
    CompiledKernel kernel = compileKernel(
        nibbleBody(352, 48, 96, 48, "mapping = cpu_tiles, ahead = 1, block = 64", type), isa());
    for (int code : {-128, 127})
      for (int byte : {127, -127, -128}) {
        NibbleRows x(19, 352, 4, type);
        NibbleMatrix w(48, 352, 1, type);
        std::ranges::fill(x.bytes, static_cast<int8_t>(byte));
        std::ranges::fill(w.codes, static_cast<int16_t>(code));
        w.store();
        check(kernel, x, w);
      }
  }
}

/// Rows of a table. Each product of a scale and a code is exact, so all instruction sets agree.
TEST_P(Int4, GatheredRowsAreTheDefinition) {
  for (DType type : {DType::I4, DType::SI8, DType::SI6})
    for (int64_t k : {16, 32, 71, 224}) {
      const int64_t n = 176, m = 37, pitch = padded(k);
      NibbleMatrix w(n, k, 1, type);
      CompiledKernel kernel = compileKernel(nibbleGather(w, 32, "mapping = cpu_tiles"), isa());
      Floats ids(m), y(m * pitch, -1);
      for (int32_t i = 0; i < m; ++i) {
        const int32_t id = i * 31 % static_cast<int32_t>(n);
        std::memcpy(&ids[i], &id, 4);
      }
      FlushDenormals mode;
      kernel.run({ids.bytes(), std::as_writable_bytes(std::span(w.words)), y.bytes()}, {m});
      for (int64_t i = 0; i < m; ++i)
        for (int64_t c = 0; c < k; ++c)
          ASSERT_TRUE(sameBits(y[i * pitch + c], w.at(i * 31 % n, c)))
              << toString(type) << ", " << k << " columns: row " << i << ", column " << c
              << ": expected " << w.at(i * 31 % n, c) << ", found " << y[i * pitch + c];
    }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, Int4,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v3-vnni", "x86-64-v4",
                                         "x86-64-v4-vnni", "x86-64-v4-amx", "aarch64"),
                         isaName);

} // namespace
