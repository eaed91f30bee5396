//===- KernelToGpuF16Test.cpp - f16 on a Vulkan device --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of f16 as a storage format on GPUs. A kernel with f16 weights, or also f16 rows, gives the
// same bits as this kernel on the same numbers as f32. Every f16 number is widened exactly, and
// stored numbers equal the results of halfFromFloat.

#include "GpuBodies.h"
#include "NarrowTensors.h"

using namespace heddle;
using namespace heddle::test;

namespace {

class KernelToGpuF16 : public GpuTest {};

/// A linear layer with f16 or f32 weights of equal values.
class Linear {
public:
  Linear(int64_t m, int64_t k, int64_t n, int64_t columns)
      : m(m), k(k), n(n), columns(columns), x(m * stored(k)), w(n * k), result(m * stored(n)) {}

  std::vector<float> run(bool half, bool halfRows = false) {
    Arena memory(x.size() + 2 * result.size() + 256),
        weights(stored(n) * stored(k) + n + 256, true);
    size_t xs = memory.take(x.size()), rs = memory.take(result.size()),
           ys = memory.take(result.size());
    size_t ws = weights.take(stored(n) * stored(k) / (half ? 2 : 1)), bs = weights.take(stored(n));
    auto *rows = reinterpret_cast<uint16_t *>(memory.at(xs));
    for (size_t i = 0; i < x.size(); ++i)
      halfRows ? void(rows[i] = halfFromFloat(x[i])) : void(memory.at(xs)[i] = x[i]);
    std::fill_n(memory.at(rs), result.size(), 0.0f);
    std::fill_n(weights.at(bs), stored(n), 0.0f);
    std::fill_n(weights.at(ws), stored(n) * stored(k) / (half ? 2 : 1), 0.0f);
    auto *halves = reinterpret_cast<uint16_t *>(weights.at(ws));
    for (int64_t row = 0; row < n; ++row)
      for (int64_t c = 0; c < k; ++c)
        if (half)
          halves[inPanels(row, c, stored(k))] = w[row * k + c];
        else
          weights.at(ws)[row / 16 * 16 * stored(k) + c * 16 + row % 16] =
              floatFromHalf(w[row * k + c]);
    std::string body = bodyText("linear", {{"ROWS", "64"},
                                           {"COLUMNS", text(columns)},
                                           {"K", text(k)},
                                           {"N", text(n)},
                                           {"PLAN", "mapping = blocked, threads = [8, 8]"}});
    const std::string wide = text(k) + "], f32, panel", narrow = text(k) + "], f16, panel";
    for (size_t at = 0; half && (at = body.find(wide, at)) != std::string::npos; ++at)
      body.replace(at, wide.size(), narrow);
    const std::string wideRows = "[d0, " + text(k) + "], f32>",
                      narrowRows = "[d0, " + text(k) + "], f16>";
    for (size_t at = 0; halfRows && (at = body.find(wideRows, at)) != std::string::npos; ++at)
      body.replace(at, wideRows.size(), narrowRows);
    Shader words = compile(body);
    EXPECT_FALSE(words.empty());
    if (!words.empty())
      heddle::test::run(words, memory, weights, {m},
                        {memory.argument(xs), weights.argument(ws), weights.argument(bs),
                         memory.argument(rs), memory.argument(ys)},
                        {tiles(m, 64), tiles(n, columns), 1});
    std::copy_n(memory.at(ys), result.size(), result.begin());
    return result;
  }

  int64_t m, k, n, columns;
  std::vector<float> x; ///< rows with pitch stored(k)
  std::vector<uint16_t> w;
  std::vector<float> result;
};

TEST_F(KernelToGpuF16, LinearGivesTheBitsOfF32) {
  for (auto [m, k, n, columns] : {std::array<int64_t, 4>{64, 64, 128, 128},
                                  {37, 71, 128, 128},
                                  {1, 1, 16, 16},
                                  {9, 18, 96, 48},
                                  {70, 33, 80, 16}}) {
    Linear linear(m, k, n, columns);
    Random random;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t c = 0; c < k; ++c)
        linear.x[i * stored(k) + c] = random();
    for (uint16_t &weight : linear.w)
      weight = halfFromFloat(random());
    auto expectEqual = [&, m = m, k = k, n = n](const std::vector<float> &half,
                                                const std::vector<float> &wide) {
      for (int64_t i = 0; i < m; ++i)
        EXPECT_EQ(std::memcmp(&half[i * stored(n)], &wide[i * stored(n)], n * sizeof(float)), 0)
            << "M " << m << " K " << k << " N " << n << ", row " << i;
    };
    expectEqual(linear.run(true), linear.run(false));
    for (float &value : linear.x) // numbers that f16 can represent
      value = floatFromHalf(halfFromFloat(value));
    expectEqual(linear.run(true, /*halfRows=*/true), linear.run(false));
  }
}

/// Both halves of a word, times 1 and times -1. The activation keeps the positive result, which is
/// the magnitude.
TEST_F(KernelToGpuF16, AllNumbersAreWidenedExactly) {
  constexpr int64_t n = 1 << 16;
  for (int64_t place : {0, 1}) {
    Linear linear(2, 2, n, 128);
    for (int64_t i = 0; i < n; ++i)
      linear.w[i * 2 + place] = static_cast<uint16_t>(i);
    linear.x[place] = 1;
    linear.x[stored(2) + place] = -1;
    std::vector<float> found = linear.run(true);
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t i = 0; i < n; ++i) {
        float value = floatFromHalf(static_cast<uint16_t>(i)) * (row ? -1.0f : 1.0f);
        if (std::isnan(value))
          ASSERT_TRUE(std::isnan(found[row * n + i])) << i << " in row " << row;
        else
          ASSERT_EQ(found[row * n + i], value > 0 ? value : 0.0f) << i << " in row " << row;
      }
  }
}

TEST_F(KernelToGpuF16, RoundsToRowsAndPanels) {
  Shader words =
      compile(roundingBody("f16", " attributes {plan = #kernel.plan<mapping = strided, threads = "
                                  "[8, 4]>, storage = [#kernel.storage<memory>, "
                                  "#kernel.storage<memory>, #kernel.storage<memory>]}"));
  ASSERT_FALSE(words.empty());
  const int64_t n = 48;
  for (auto [m, at] : {std::array<int64_t, 2>{1, 0}, {1, 19}, {300, 7}, {64, 16}}) {
    int64_t rows = padded(m + at);
    Arena memory(60'000), weights(64, true);
    size_t x = memory.take(m * n), y = memory.take(m * n / 2), p = memory.take(rows * n / 2);
    // Excludes f32 denormals, which a device may keep or flush.
    fillForRounding({memory.at(x), static_cast<size_t>(m * n)}, 0x1000, 0x10000000);
    run(words, memory, weights, {m, rows, at},
        {memory.argument(x), memory.argument(y), memory.argument(p)}, {tiles(m, 32), 1, 1});
    auto *stored = reinterpret_cast<uint16_t *>(memory.at(y)),
         *panels = reinterpret_cast<uint16_t *>(memory.at(p));
    for (int64_t i = 0; i < m * n; ++i) {
      float value = memory.at(x)[i];
      uint16_t expected = halfFromFloat(value), panel = panels[inPanels(at + i / n, i % n, n)];
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(floatFromHalf(stored[i])) && std::isnan(floatFromHalf(panel)));
        continue;
      }
      ASSERT_EQ(stored[i], expected) << m << " rows, element " << i << ", of " << value;
      ASSERT_EQ(panel, expected) << m << " rows at " << at << ", element " << i;
    }
  }
}

} // namespace
