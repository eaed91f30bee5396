//===- KernelToCpuBf16MatricesTest.cpp - bf16 through a matrix unit -------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of the order of sums of bf16 through a matrix unit, against plain loops. A row has the same
// bits among any number of rows.

#include "Bf16Attention.h"

using namespace heddle;
using namespace heddle::test;

namespace {
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

/// The sum of products a(k) * b(k) of k < count as the definition of tdpbf16ps orders it: in each
/// block of 32, one chain of even and one of odd products.
template <typename Left, typename Right>
float sumOf(int64_t count, Left a, Right b) {
  float sum = 0;
  for (int64_t first = 0; first < count; first += 32) {
    float chains[2] = {0, 0};
    for (int64_t k = first; k < std::min(first + 32, count); ++k)
      chains[k % 2] = std::fma(a(k), b(k), chains[k % 2]);
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
          ASSERT_TRUE(
              sameBits(y[row * columns + n],
                       sumOf(
                           features, [&](int64_t k) { return x.at(row * padded(features) + k); },
                           [&](int64_t k) { return w.at(n * padded(features) + k); })))
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

/// A tile that stores fewer than no rows, as tiles past the last group of an expert, reads none.
TEST_P(Bf16Matrices, TilesWithoutRows) {
  std::string text = body(64, 48, "mapping = cpu_tiles");
  text.replace(text.find("arith.subi %d0, %i"), 18, "arith.subi %i, %d0");
  CompiledKernel kernel = compileKernel(text, GetParam());
  Halves x(64 * 64), w(48 * 64);
  Floats y(64 * 48, -1);
  kernel.run({x.bytes(), w.bytes(), y.bytes()}, {40});
  for (int64_t i = 0; i < 40 * 48; ++i)
    ASSERT_EQ(y[i], -1) << "element " << i;
}

//===- Keys and values ----------------------------------------------------===//

/// Keys and values of attention without its softmax: rounded scores of keys are multiplied by
/// values. Keys [from, to) count, and of these the tiles whose bit is set.
struct KeyCase {
  int64_t queries, keys, features, columns, from, to;
  int64_t bits = -1, tile = 64;

  bool isVisited(int64_t key) const { return key >= from && key < to && bits >> (key / tile) & 1; }
};

/// The kernel of a case; `type` is the type of keys and values.
std::string keysBody(const KeyCase &c, const std::string &type) {
  const std::string f = std::to_string(c.features), n = std::to_string(c.columns),
                    stored = std::to_string(padded(c.columns)),
                    q = "!kernel.view<[d0, " + f + "], bf16>",
                    k = "!kernel.view<[d1, " + f + "], " + type + ", panel = 16>",
                    v = "!kernel.view<[d1, " + n + "], " + type + ">",
                    y = "!kernel.view<[d0, " + n + "], f32>", tile = std::to_string(c.tile),
                    tiles = c.bits == -1 ? "" : " tiles(%bits by " + tile + ")",
                    mask = "  %m = kernel.mask %c tiles(%bits, %bits by " + tile +
                           R"() else 0.0 : tensor<48x256xf32> {
    %all = arith.constant dense<true> : tensor<48x256xi1>
    kernel.mask.yield %all : tensor<48x256xi1>
  })";
  return "kernel.func @product(%q: " + q + ", %k: " + k + ", %v: " + v + ", %y: " + y +
         R"() scalars(d0, d1, d2, d3, d4) grid(%i = d0 by 48)
    attributes {plan = #kernel.plan<mapping = cpu_tiles>} {
  %zero = arith.constant 0 : index
  %d0 = kernel.scalar "d0" : index
  %left = arith.subi %d0, %i : index
  %from = kernel.scalar "d2" : index
  %to = kernel.scalar "d3" : index
  %d4 = kernel.scalar "d4" : index
  %bits = arith.index_cast %d4 : index to i32
  %c = kernel.contract %q[%i], %k[%zero] columns(%to) from(%from))" +
         tiles + " : " + q + ", " + k + " -> tensor<48x256xf32>\n" + mask + R"(
  %p = arith.truncf %m : tensor<48x256xf32> to tensor<48x256xbf16>
  %o = kernel.contract_rows %p, %v[%zero] rows(%to) from(%from))" +
         tiles + " {guarded} : tensor<48x256xbf16>, " + v + " -> tensor<48x" + stored + "xf32>\n" +
         "  kernel.store %o, %y[%i, %zero] rows(%left) : tensor<48x" + stored + "xf32>, " + y +
         "\n}\n";
}

/// Keys and values as a kernel reads them: bf16, or f32 that it rounds.
template <typename Tensor>
struct KeyTensors {
  explicit KeyTensors(const KeyCase &c)
      : q(c.queries * padded(c.features)), keys(c.keys * padded(c.features)),
        values(c.keys * padded(c.columns)), k(padded(c.keys) * padded(c.features)),
        v((padded(c.keys) + 1) * padded(c.columns)) {
    q.fill(1), keys.fill(2), values.fill(3);
    const int64_t pitch = padded(c.features), columns = padded(c.columns);
    for (int64_t key = 0; key < c.keys; ++key) {
      for (int64_t i = 0; i < c.features; ++i)
        place(k, key, i, pitch) = numberOf(k, keys.at(key * pitch + i));
      for (int64_t i = 0; i < columns; ++i)
        v[key * columns + i] = numberOf(v, values.at(key * columns + i));
    }
  }
  static uint16_t numberOf(Halves &, float number) { return bfloatFromFloat(number); }
  static float numberOf(Floats &, float number) { return number; }
  static uint16_t &place(Halves &k, int64_t key, int64_t i, int64_t pitch) {
    return k[inPanels(key, i, pitch)];
  }
  static float &place(Floats &k, int64_t key, int64_t i, int64_t pitch) {
    return k[key / 16 * 16 * pitch + i * 16 + key % 16];
  }
  Floats run(const CompiledKernel &kernel, const KeyCase &c) {
    Floats y(c.queries * padded(c.columns));
    FlushDenormals mode;
    kernel.run({q.bytes(), k.bytes(), v.bytes(), y.bytes()},
               {c.queries, c.keys, c.from, c.to, c.bits & 0xffffffff});
    return y;
  }

  Halves q, keys, values;
  Tensor k, v;
};

template <typename Tensor>
void checkKeys(const KeyCase &c, const std::string &type, const std::string &isa) {
  KeyTensors<Tensor> data(c);
  Floats y = data.run(compileKernel(keysBody(c, type), isa), c);
  FlushDenormals mode;
  const int64_t pitch = padded(c.features), columns = padded(c.columns);
  for (int64_t row = 0; row < c.queries; ++row) {
    std::vector<float> weights;
    for (int64_t key = 0; key < c.to; ++key)
      weights.push_back(c.isVisited(key)
                            ? Halves::rounded(sumOf(
                                  c.features, [&](int64_t i) { return data.q.at(row * pitch + i); },
                                  [&](int64_t i) { return data.keys.at(key * pitch + i); }))
                            : 0.0f);
    for (int64_t n = 0; n < c.columns; ++n)
      ASSERT_TRUE(sameBits(y[row * columns + n],
                           sumOf(
                               c.to, [&](int64_t key) { return weights[key]; },
                               [&](int64_t key) { return data.values.at(key * columns + n); })))
          << "row " << row << ", column " << n << " of " << c.queries << " queries, keys " << c.from
          << " to " << c.to << ", bits " << c.bits;
  }
}

/// Ranges begin and end inside a block of the unit, and tiles of 16 keys are narrower than one.
const KeyCase keyCases[] = {{1, 256, 64, 64, 0, 256},      {48, 256, 64, 64, 0, 256},
                            {37, 199, 80, 40, 0, 199},     {17, 250, 33, 16, 48, 201},
                            {50, 256, 128, 128, 16, 31},   {5, 256, 64, 48, 0, 256, 5},
                            {33, 240, 64, 64, 64, 230, 6}, {3, 256, 64, 64, 16, 150, 0x2d2, 16}};

TEST_P(Bf16Matrices, KeysAndValues) {
  for (const KeyCase &c : keyCases)
    checkKeys<Halves>(c, "bf16", GetParam());
}

TEST_P(Bf16Matrices, KeysAndValuesOfAnotherType) {
  for (const KeyCase &c : keyCases)
    checkKeys<Floats>(c, "f32", GetParam());
}

/// Values of hidden keys may be infinite. A row fragment with such a value is summed again, and its
/// other columns keep their bits.
TEST_P(Bf16Matrices, HiddenValuesMayBeInfinite) {
  const KeyCase c{20, 256, 64, 64, 0, 256, 0xd, 64};
  CompiledKernel kernel = compileKernel(keysBody(c, "bf16"), GetParam());
  KeyTensors<Halves> data(c);
  Floats clean = data.run(kernel, c);
  for (int64_t key : {64, 65, 100, 127}) // of the tile that is not visited
    data.v[key * 64 + 5] = key % 2 ? 0x7f80 : 0x7fc0;
  Floats hidden = data.run(kernel, c);
  for (int64_t i = 0; i < 20 * 64; ++i)
    ASSERT_TRUE(sameBits(clean[i], hidden[i])) << "element " << i;
  data.v[3 * 64 + 5] = 0x7f80;
  Floats infinite = data.run(kernel, c);
  EXPECT_FALSE(std::isfinite(infinite[5]));
  for (int64_t i = 0; i < 20 * 64; ++i)
    if (i % 64 != 5)
      ASSERT_TRUE(sameBits(clean[i], infinite[i])) << "element " << i;
}

/// A query has the same bits alone and among others, and near those of the softmax in f64.
TEST_P(Bf16Matrices, Attention) {
  CompiledKernel kernel = compileKernel(attentionBody(), GetParam());
  for (auto [queries, keys] :
       {std::array<int64_t, 2>{1, 1}, {1, 700}, {37, 37}, {101, 513}, {7, 1101}}) {
    Attention data(queries, keys), alone(1, keys);
    Floats found = data.run(kernel), first = alone.run(kernel);
    for (int64_t i = 0; i < queries * 64; i += 61)
      ASSERT_NEAR(found[i], data.expected(i / 64, i % 64), 3e-3) << keys << " keys, element " << i;
    for (int64_t i = 0; i < 64; ++i)
      ASSERT_TRUE(sameBits(found[i], first[i])) << keys << " keys, element " << i;
  }
}

TEST_P(Bf16Matrices, AttentionLeavesOutHiddenValues) { expectHiddenValuesLeftOut(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Amx, Bf16Matrices, testing::Values("x86-64-v4-amx-bf16"), isaName);
#ifdef HEDDLE_PLAIN_UNIT
INSTANTIATE_TEST_SUITE_P(Plain, Bf16Matrices, testing::Values("x86-64-v2", "x86-64-v3", "aarch64"),
                         isaName);
#endif

} // namespace
