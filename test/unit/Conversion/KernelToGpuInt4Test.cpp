//===- KernelToGpuInt4Test.cpp - i4 on a Vulkan device --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of products of int4 groups on GPUs, compared bit by bit with plain loops.

#include "GpuBodies.h"
#include "Int4Tensors.h"

using namespace heddle;
using namespace heddle::test;

namespace {

class KernelToGpuInt4 : public GpuTest {
protected:
  void check(const NibbleRows &x, const NibbleMatrix &w, int64_t columns) {
    const size_t rowWords = x.bytes.size() / 4, outputs = x.m * stored(w.n);
    Arena memory(rowWords + x.scales.size() + outputs + 256, false),
        weights(w.words.size() + 64, true);
    size_t xs = memory.take(rowWords), ss = memory.take(x.scales.size()), ys = memory.take(outputs),
           ws = weights.take(w.words.size());
    std::memcpy(memory.at(xs), x.bytes.data(), x.bytes.size());
    std::ranges::copy(x.scales, memory.at(ss));
    std::memcpy(weights.at(ws), w.words.data(), w.words.size() * 4);
    Shader shader =
        compile(nibbleBody(x.k, w.n, 64, columns, "mapping = blocked, threads = [8, 8]", w.type));
    ASSERT_FALSE(shader.empty());
    run(shader, memory, weights, {x.m},
        {memory.argument(xs), memory.argument(ss), weights.argument(ws), memory.argument(ys)},
        {tiles(x.m, 64), tiles(w.n, columns), 1});
    // Devices may round the product of their Fma, as Mesa does on CPUs, but then they round all
    // products.
    std::string first = differenceOf(x, w, memory.at(ys), x.times(w, /*isFused=*/true));
    if (!first.empty())
      EXPECT_EQ(differenceOf(x, w, memory.at(ys), x.times(w, /*isFused=*/false)), "") << first;
  }

  static std::string differenceOf(const NibbleRows &x, const NibbleMatrix &w, const float *y,
                                  const std::vector<float> &expected) {
    for (int64_t row = 0; row < x.m; ++row)
      for (int64_t n = 0; n < w.n; ++n) {
        float wanted = expected[row * w.n + n], found = y[row * stored(w.n) + n];
        if (std::memcmp(&wanted, &found, 4) != 0 && !(std::isnan(wanted) && std::isnan(found)))
          return text(x.m) + " rows of " + text(x.k) + ": row " + text(row) + ", column " +
                 text(n) + ": expected " + std::to_string(wanted) + ", found " +
                 std::to_string(found);
      }
    return "";
  }
};

struct Shape {
  int64_t m, k, n, columns;
};

TEST_F(KernelToGpuInt4, LinearIsTheDefinition) {
  for (const Shape &s : {Shape{64, 64, 128, 128}, Shape{37, 71, 128, 128}, Shape{1, 1, 16, 16},
                         Shape{9, 18, 96, 48}, Shape{70, 133, 80, 16}, Shape{3, 32, 48, 48}})
    check({s.m, s.k, 4}, {s.n, s.k, 1}, s.columns);
  for (int64_t m = 1; m < 10; ++m)
    check({m, 45, 4}, {64, 45, 1}, 64);
}

TEST_F(KernelToGpuInt4, SumsAreAsLargeAsTheyCanBe) {
  for (int byte : {127, -127, -128}) {
    NibbleRows x(5, 96, 4);
    NibbleMatrix w(48, 96, 1);
    std::ranges::fill(x.bytes, static_cast<int8_t>(byte));
    std::ranges::fill(w.codes, 15);
    w.store();
    check(x, w, 48);
  }
}

/// Signed codes of bytes, in groups of 32 and of 16.
TEST_F(KernelToGpuInt4, BytesAreTheDefinition) {
  for (DType type : {DType::SI8, DType::SI6}) {
    for (const Shape &s : {Shape{64, 64, 128, 128}, Shape{37, 71, 128, 128}, Shape{1, 1, 16, 16},
                           Shape{9, 18, 96, 48}, Shape{70, 133, 80, 16}, Shape{3, 32, 48, 48}})
      check({s.m, s.k, 4, type}, {s.n, s.k, 1, type}, s.columns);
    for (int byte : {127, -128}) {
      NibbleRows x(5, 96, 4, type);
      NibbleMatrix w(48, 96, 1, type);
      std::ranges::fill(x.bytes, static_cast<int8_t>(byte));
      std::ranges::fill(w.codes, int16_t{-128});
      w.store();
      check(x, w, 48);
    }
  }
}

TEST_F(KernelToGpuInt4, GatheredRowsAreTheDefinition) {
  for (DType type : {DType::I4, DType::SI8, DType::SI6})
    for (int64_t k : {16, 32, 71, 224}) {
      const int64_t m = 37;
      const NibbleMatrix w(176, k, 1, type);
      Arena memory(m + m * stored(k) + 256, false), weights(w.words.size() + 64, true);
      const size_t ids = memory.take(m), ys = memory.take(m * stored(k)),
                   ws = weights.take(w.words.size());
      for (int32_t i = 0; i < m; ++i) {
        const int32_t id = i * 31 % 176;
        std::memcpy(memory.at(ids) + i, &id, 4);
      }
      std::memcpy(weights.at(ws), w.words.data(), w.words.size() * 4);
      Shader shader = compile(nibbleGather(w, 16, "mapping = strided, threads = [16, 4]"));
      ASSERT_FALSE(shader.empty());
      run(shader, memory, weights, {m},
          {memory.argument(ids), weights.argument(ws), memory.argument(ys)}, {tiles(m, 16), 1, 1});
      for (int64_t i = 0; i < m; ++i)
        for (int64_t c = 0; c < k; ++c)
          ASSERT_EQ(memory.at(ys)[i * stored(k) + c], w.at(i * 31 % 176, c))
              << toString(type) << ", " << k << " columns: row " << i << ", column " << c;
    }
}

TEST_F(KernelToGpuInt4, NaNIsNotLost) {
  NibbleRows x(9, 70, 4);
  NibbleMatrix w(64, 70, 1);
  w.scales[17 * w.groups + 1] = w.minimums[17 * w.groups + 1] = 0x7e00;
  w.scales[5 * w.groups + 2] = w.minimums[5 * w.groups + 2] = 0;
  x.scales[4 * x.scalePitch + 4] = x.scales[4 * x.scalePitch + 5] = NAN;
  w.store();
  check(x, w, 64);
}

} // namespace
