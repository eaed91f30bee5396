//===- KernelToGpuTest.cpp - Hand-written bodies on a Vulkan device -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of bodies on GPUs. Compiles the bodies of test/data/bodies to SPIR-V and compares
// their results on the first device with plain loops in f64. Cases are odd sizes, several tiles,
// and that the bits of a row depend only on the row. All memory that is not an input is NaN.

#include "GpuBodies.h"

using namespace heddle;
using namespace heddle::test;

namespace {

class KernelToGpu : public GpuTest {};

//===- Linear ------------------------------------------------------------===//

struct Linear {
  int64_t m, k, n, rows, columns;
  std::string plan = "mapping = blocked, threads = [8, 8]";
};

class LinearRun {
public:
  explicit LinearRun(const Linear &shape)
      : s(shape), memory(4'000'000), weights(2'000'000, true), x(memory.take(s.m * stored(s.k))),
        r(memory.take(s.m * stored(s.n))), y(memory.take(s.m * stored(s.n))),
        w(weights.take(stored(s.n) * stored(s.k))), b(weights.take(stored(s.n))) {
    Random random;
    dense.resize(s.n * s.k);
    for (float &value : dense)
      value = random();
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.k; ++j)
        memory.at(x)[i * stored(s.k) + j] = random();
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j)
        memory.at(r)[i * stored(s.n) + j] = random();
    for (int64_t i = 0; i < s.n; ++i) {
      weights.at(b)[i] = random();
      for (int64_t j = 0; j < s.k; ++j)
        weights.at(w)[i / 16 * 16 * stored(s.k) + j * 16 + i % 16] = dense[i * s.k + j];
    }
    words = compile(bodyText("linear", {{"ROWS", text(s.rows)},
                                        {"COLUMNS", text(s.columns)},
                                        {"K", text(s.k)},
                                        {"N", text(s.n)},
                                        {"PLAN", s.plan}}));
  }

  void launch() {
    run(words, memory, weights, {s.m},
        {memory.argument(x), weights.argument(w), weights.argument(b), memory.argument(r),
         memory.argument(y)},
        {tiles(s.m, s.rows), tiles(s.n, s.columns), 1});
  }

  double expected(int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < s.k; ++c)
      sum += double(memory.at(x)[i * stored(s.k) + c]) * dense[j * s.k + c];
    return std::max(sum + weights.at(b)[j], 0.0) + memory.at(r)[i * stored(s.n) + j];
  }

  Linear s;
  Arena memory, weights;
  size_t x, r, y, w, b;
  std::vector<float> dense;
  Shader words;
};

class LinearTest : public GpuTest, public ::testing::WithParamInterface<Linear> {};

TEST_P(LinearTest, AgreesWithLoops) {
  LinearRun run(GetParam());
  ASSERT_FALSE(run.words.empty());
  run.launch();
  for (int64_t i = 0; i < run.s.m; ++i)
    for (int64_t j = 0; j < run.s.n; ++j)
      ASSERT_NEAR(run.memory.at(run.y)[i * stored(run.s.n) + j], run.expected(i, j), 1e-4)
          << i << ", " << j;
  // Nothing is written past the last row.
  float after = run.memory.at(run.y)[run.s.m * stored(run.s.n)];
  EXPECT_TRUE(std::isnan(after)) << after;
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearTest,
                         ::testing::Values(Linear{64, 64, 128, 64, 128},
                                           Linear{37, 70, 128, 64, 128}, Linear{1, 48, 64, 64, 64},
                                           Linear{100, 33, 48, 64, 16,
                                                  "mapping = blocked, threads = [8, 4]"},
                                           Linear{65, 128, 96, 64, 32}, Linear{9, 17, 80, 64, 80},
                                           Linear{9, 17, 96, 64, 96}, Linear{9, 3, 96, 64, 48}));

/// A row has the same bits alone and with other rows, for every tile.
TEST_F(KernelToGpu, LinearRowsDoNotDependOnTheTile) {
  LinearRun many({67, 100, 128, 64, 128}),
      few({3, 100, 128, 32, 64, "mapping = blocked, threads = [4, 8]"});
  // The last rows of `many` are all rows of `few`.
  for (int64_t i = 0; i < 3; ++i) {
    std::memcpy(few.memory.at(few.x) + i * 112, many.memory.at(many.x) + (64 + i) * 112, 400);
    std::memcpy(few.memory.at(few.r) + i * 128, many.memory.at(many.r) + (64 + i) * 128, 512);
  }
  std::memcpy(few.weights.at(0), many.weights.at(0), (128 * 112 + 128) * 4);
  many.launch();
  few.launch();
  EXPECT_EQ(std::memcmp(few.memory.at(few.y), many.memory.at(many.y) + 64 * 128, 3 * 128 * 4), 0);
}

//===- Parts, panels at any row ------------------------------------------===//

struct Keys {
  int64_t batch, t, k, heads, d, from;
};

class KeysTest : public GpuTest, public ::testing::WithParamInterface<Keys> {};

TEST_P(KeysTest, StoresHeadsAndPanels) {
  const Keys s = GetParam();
  const int64_t rows = padded(s.from + s.t), n = s.heads * s.d;
  Arena memory(1'000'000), weights(1'000'000, true);
  size_t x = memory.take(s.batch * s.t * stored(s.k)),
         k = memory.take(s.batch * s.heads * rows * s.d),
         v = memory.take(s.batch * s.heads * rows * s.d);
  size_t wk = weights.take(n * stored(s.k)), wv = weights.take(n * stored(s.k));
  Random random;
  for (int64_t i = 0; i < s.batch * s.t; ++i)
    for (int64_t j = 0; j < s.k; ++j)
      memory.at(x)[i * stored(s.k) + j] = random();
  for (size_t w : {wk, wv})
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < s.k; ++j)
        weights.at(w)[i / 16 * 16 * stored(s.k) + j * 16 + i % 16] = random();
  Shader words = compile(bodyText("keys", {{"ROWS", "64"},
                                           {"COLUMNS", "16"},
                                           {"K", text(s.k)},
                                           {"N", text(n)},
                                           {"H", text(s.heads)},
                                           {"D", text(s.d)},
                                           {"PLAN", "mapping = blocked, threads = [8, 4]"}}));
  ASSERT_FALSE(words.empty());
  run(words, memory, weights, {s.batch, s.t, rows, s.from},
      {memory.argument(x), weights.argument(wk), weights.argument(wv), memory.argument(k),
       memory.argument(v)},
      {s.batch, tiles(s.t, 64), 2 * tiles(n, 16)});
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t c = 0; c < s.d; ++c) {
          const int64_t matrix = (b * s.heads + h) * rows * s.d, t = row - s.from;
          float key = memory.at(k)[matrix + row / 16 * 16 * s.d + c * 16 + row % 16];
          float value = memory.at(v)[matrix + row * s.d + c];
          if (t < 0 || t >= s.t) { // rows of other launches
            ASSERT_TRUE(std::isnan(key) && std::isnan(value)) << row << ", " << c;
            continue;
          }
          double expected[2] = {0, 0};
          for (int64_t j = 0; j < s.k; ++j)
            for (int part = 0; part < 2; ++part) {
              const int64_t column = h * s.d + c;
              expected[part] +=
                  double(memory.at(x)[(b * s.t + t) * stored(s.k) + j]) *
                  weights.at(part ? wv : wk)[column / 16 * 16 * stored(s.k) + j * 16 + column % 16];
            }
          ASSERT_NEAR(key, expected[0], 1e-4) << row << ", " << c;
          ASSERT_NEAR(value, expected[1], 1e-4) << row << ", " << c;
        }
}

INSTANTIATE_TEST_SUITE_P(Shapes, KeysTest,
                         ::testing::Values(Keys{2, 19, 33, 2, 32, 0}, Keys{1, 7, 16, 3, 48, 5},
                                           Keys{2, 70, 20, 1, 16, 3}, Keys{3, 1, 64, 2, 16, 21}));

//===- Padded heads -------------------------------------------------------===//

struct HeadSizes {
  int64_t heads, size;
};

class HeadsTest : public GpuTest, public ::testing::WithParamInterface<HeadSizes> {
protected:
  static Values values(int64_t columns, const std::string &threads) {
    const auto [heads, size] = GetParam();
    return {{"PLAN", threads},
            {"STORED", text(padded(heads * size))},
            {"COLUMNS", text(columns)},
            {"ALL", text(heads * size)},
            {"ROWS", "32"},
            {"TYPE", "f32"},
            {"H", text(heads)},
            {"D", text(size)},
            {"NARROW", "%t = arith.addf %sum, %sum : tensor<32x" + text(columns) + "xf32>"}};
  }
};

/// Each head has its columns, followed by zeros. Nothing else is written.
TEST_P(HeadsTest, StoresGoOverHeads) {
  const auto [heads, size] = GetParam();
  const int64_t t = 41, from = 6, rows = 48, pitch = padded(size), all = padded(heads * size);
  Arena memory(200'000), weights(64, true);
  size_t x = memory.take(t * all), v = memory.take(heads * rows * pitch),
         k = memory.take(heads * rows * pitch);
  for (int64_t i = 0; i < t * all; ++i)
    memory.at(x)[i] = static_cast<float>(1 + i % 977); // values after the last head are arbitrary
  Shader words = compile(bodyText("heads", values(16, "mapping = strided, threads = [8, 4]")));
  ASSERT_FALSE(words.empty());
  run(words, memory, weights, {t, from, rows},
      {memory.argument(x), memory.argument(v), memory.argument(k)}, {tiles(t, 32), all / 16, 1});
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = 0; c < pitch; ++c) {
        const int64_t matrix = h * rows * pitch, r = row - from;
        const float value = memory.at(v)[matrix + row * pitch + c],
                    key = memory.at(k)[matrix + row / 16 * 16 * pitch + c * 16 + row % 16];
        if (r < 0 || r >= t) {
          ASSERT_TRUE(std::isnan(key) && std::isnan(value)) << h << ", " << row << ", " << c;
          continue;
        }
        const float expected = c < size ? 4 * memory.at(x)[r * all + h * size + c] : 0;
        ASSERT_EQ(value, expected) << h << ", " << row << ", " << c;
        ASSERT_EQ(key, expected) << h << ", " << row << ", " << c;
      }
}

/// Each row has its heads without gaps, followed by zeros. Nothing else is written.
TEST_P(HeadsTest, StoresLeaveOutPadding) {
  const auto [heads, size] = GetParam();
  const int64_t t = 41, pitch = padded(size), all = padded(heads * size);
  Arena memory(200'000), weights(64, true);
  size_t x = memory.take(heads * t * pitch), y = memory.take(t * all + 64);
  for (int64_t i = 0; i < heads * t * pitch; ++i)
    memory.at(x)[i] = static_cast<float>(1 + i % 977);
  Shader words = compile(bodyText("merge", values(pitch, "mapping = strided, threads = [8, 4]")));
  ASSERT_FALSE(words.empty());
  run(words, memory, weights, {t}, {memory.argument(x), memory.argument(y)},
      {heads, tiles(t, 32), 1});
  for (int64_t r = 0; r < t; ++r)
    for (int64_t c = 0; c < all; ++c) {
      const float expected =
          c < heads * size ? 2 * memory.at(x)[(c / size * t + r) * pitch + c % size] : 0;
      ASSERT_EQ(memory.at(y)[r * all + c], expected) << r << ", " << c;
    }
  EXPECT_TRUE(std::isnan(memory.at(y)[t * all]));
}

INSTANTIATE_TEST_SUITE_P(Shapes, HeadsTest,
                         ::testing::Values(HeadSizes{3, 20}, HeadSizes{2, 24}, HeadSizes{5, 4},
                                           HeadSizes{3, 44}));

//===- Rows without a contraction ----------------------------------------===//

struct Norm {
  int64_t m, e, rows;
};

class NormTest : public GpuTest, public ::testing::WithParamInterface<Norm> {};

TEST_P(NormTest, AgreesWithLoops) {
  const Norm s = GetParam();
  Arena memory(2'000'000), weights(100'000, true);
  size_t x = memory.take(s.m * stored(s.e)), y = memory.take(s.m * stored(s.e)),
         g = weights.take(stored(s.e)), b = weights.take(stored(s.e));
  Random random;
  for (int64_t j = 0; j < static_cast<int64_t>(stored(s.e));
       ++j) { // padding of vectors and rows is zero
    weights.at(g)[j] = j < s.e ? random() : 0;
    weights.at(b)[j] = j < s.e ? random() : 0;
    for (int64_t i = 0; i < s.m; ++i)
      memory.at(x)[i * stored(s.e) + j] = j < s.e ? 3 + random() : 0;
  }
  char inverse[32];
  std::snprintf(inverse, sizeof inverse, "%.9e", 1.0 / s.e);
  Shader words = compile(
      bodyText("norm", {{"ROWS", text(s.rows)},
                        {"E", text(s.e)},
                        {"P", text(padded(s.e))},
                        {"INVERSE", inverse},
                        {"PLAN", "mapping = strided, threads = [" + text(s.rows) + ", 4]"}}));
  ASSERT_FALSE(words.empty());
  run(words, memory, weights, {s.m},
      {memory.argument(x), weights.argument(g), weights.argument(b), memory.argument(y)},
      {tiles(s.m, s.rows), 1, 1});
  for (int64_t i = 0; i < s.m; ++i) {
    const float *row = memory.at(x) + i * stored(s.e);
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < s.e; ++j)
      mean += row[j] / double(s.e);
    for (int64_t j = 0; j < s.e; ++j)
      variance += (row[j] - mean) * (row[j] - mean) / double(s.e);
    for (int64_t j = 0; j < s.e; ++j) {
      double expected =
          (row[j] - mean) / std::sqrt(variance + 1e-5) * weights.at(g)[j] + weights.at(b)[j];
      ASSERT_NEAR(memory.at(y)[i * stored(s.e) + j], expected, 2e-5) << i << ", " << j;
    }
  }
  EXPECT_TRUE(std::isnan(memory.at(y)[s.m * stored(s.e)]));
}

INSTANTIATE_TEST_SUITE_P(Shapes, NormTest,
                         ::testing::Values(Norm{5, 768, 16}, Norm{33, 100, 32}, Norm{3, 4096, 16},
                                           Norm{1, 16, 16}, Norm{40, 7, 32}));

/// The language defines the order of a row's sum: sixteen lanes in ascending order, then l and l +
/// 8, l and l + 4, ...
TEST_F(KernelToGpu, SumsOfRowsGoThroughSixteenLanes) {
  const int64_t e = 80;
  Arena memory(10'000), weights(10'000, true);
  size_t x = memory.take(e), y = memory.take(e);
  Random random;
  for (int64_t j = 0; j < e; ++j)
    memory.at(x)[j] = std::ldexp(random(), int(j % 23));
  Shader words = compile(R"(
    kernel.func @sum(%x: !kernel.view<[d0, 80], f32>, %y: !kernel.view<[d0], f32>) scalars(d0) grid(%i = d0 by 16) {
      %z = arith.constant 0 : index
      %t = kernel.load %x[%i, %z] : !kernel.view<[d0, 80], f32> -> tensor<16x80xf32>
      %s = kernel.reduce add %t : tensor<16x80xf32> -> tensor<16x1xf32>
      %m = kernel.scalar "d0" : index
      kernel.store_vector %s, %y[%i] rows(%m) : tensor<16x1xf32>, !kernel.view<[d0], f32>
    })");
  ASSERT_FALSE(words.empty());
  run(words, memory, weights, {1}, {memory.argument(x), memory.argument(y)}, {1, 1, 1});
  float lanes[16] = {};
  for (int64_t j = 0; j < e; ++j)
    lanes[j % 16] += memory.at(x)[j];
  for (int half = 8; half >= 1; half /= 2)
    for (int l = 0; l < half; ++l)
      lanes[l] += lanes[l + half];
  EXPECT_EQ(memory.at(y)[0], lanes[0]);
  EXPECT_TRUE(std::isnan(memory.at(y)[1]));
}

TEST_F(KernelToGpu, EmbeddingGathersAndAddsPositions) {
  const int64_t batch = 3, t = 21, vocabulary = 50, e = 72;
  Arena memory(100'000), weights(100'000, true);
  size_t ids = memory.take(batch * t), pos = memory.take(t * stored(e)),
         y = memory.take(batch * t * stored(e)), table = weights.take(vocabulary * stored(e));
  Random random;
  for (int64_t i = 0; i < batch * t; ++i)
    memory.wordsAt(ids)[i] = i % 5 ? random.below(vocabulary) : 0;
  for (size_t i = 0; i < t * stored(e); ++i)
    memory.at(pos)[i] = random();
  for (size_t i = 0; i < vocabulary * stored(e); ++i)
    weights.at(table)[i] = random();
  Shader words = compile(bodyText("embed", {{"ROWS", "32"},
                                            {"COLUMNS", "80"},
                                            {"V", text(vocabulary)},
                                            {"E", text(e)},
                                            {"PLAN", "mapping = strided, threads = [8, 4]"}}));
  ASSERT_FALSE(words.empty());
  run(words, memory, weights, {batch, t},
      {memory.argument(ids), weights.argument(table), memory.argument(pos), memory.argument(y)},
      {batch, tiles(t, 32), 1});
  for (int64_t i = 0; i < batch * t; ++i)
    for (int64_t j = 0; j < e; ++j) {
      int32_t id = memory.wordsAt(ids)[i];
      float expected = (id ? weights.at(table)[id * stored(e) + j] : 0.0f) +
                       memory.at(pos)[i % t * stored(e) + j];
      ASSERT_EQ(memory.at(y)[i * stored(e) + j], expected) << i << ", " << j;
    }
  EXPECT_TRUE(std::isnan(memory.at(y)[batch * t * stored(e)]));
}

} // namespace
