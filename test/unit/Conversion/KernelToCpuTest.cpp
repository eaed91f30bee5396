//===- KernelToCpuTest.cpp - Bodies against plain loops -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of bodies on CPUs. Compiles the bodies of test/data/bodies for each instruction set,
// and runs them with sizes that no fragment divides. With fused multiply-add, results equal the
// results of plain loops bit by bit.

#include "KernelRunner.h"

#include "heddle/Support/Float.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

static int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

/// Converts the rows of an [n, k] matrix to panels of 16.
static Floats toPanels(Floats &rows, int64_t n, int64_t k) {
  Floats panels(padded(n) * padded(k));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j)
      panels[i / 16 * 16 * padded(k) + j * 16 + i % 16] = rows[i * padded(k) + j];
  return panels;
}

static CompiledKernel compile(const std::string &text, const std::string &isa) {
  auto kernel = CompiledKernel::create(text, isa);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message;
    std::abort();
  }
  return *kernel;
}

static void expectEqualBits(Floats &a, Floats &b, const std::string &what) {
  ASSERT_EQ(a.size(), b.size());
  int64_t different = 0, first = -1;
  for (int64_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], 4) != 0 && !different++)
      first = i;
  EXPECT_EQ(different, 0) << what << ": first at " << first << ": " << (first < 0 ? 0 : a[first])
                          << " and " << (first < 0 ? 0 : b[first]);
}

class KernelToCpu : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!CompiledKernel::runsHere(isa()))
      GTEST_SKIP() << "no emulator";
  }
  std::string isa() const { return GetParam(); }
  bool fused() const { return isa() != "x86-64-v2"; }
  float multiplyAdd(float a, float b, float c) const {
    volatile float product = a * b;
    return fused() ? std::fma(a, b, c) : product + c;
  }
};

//===- Linear ------------------------------------------------------------===//

struct LinearSize {
  int64_t m, n, k, block;
};

TEST_P(KernelToCpu, Linear) {
  for (LinearSize size : {LinearSize{1, 80, 5, 0},
                          {37, 80, 40, 0},
                          {37, 3 * 64, 33, 0},
                          {97, 16, 16, 0},
                          {128, 240, 70, 32},
                          {5, 64, 64, 32}}) {
    auto [m, n, k, block] = size;
    std::string plan = block ? "ahead = 1, block = " + std::to_string(block) : "ahead = 1";
    CompiledKernel kernel = compile(
        readBody("linear.mlir",
                 {{"3072", std::to_string(n)}, {"768", std::to_string(k)}, {"ahead = 1", plan}}),
        isa());
    int64_t kp = padded(k);
    Floats x(m * kp, NAN), w(n * kp), b(n), r(m * n), y(m * n, -1), expected(m * n, -1);
    fill(w, 1), fill(b, 2), fill(r, 3);
    for (int64_t i = 0; i < m * kp; ++i)
      x[i] = std::sin(static_cast<float>(i));
    Floats panels = toPanels(w, n, k);
    // Memory after the last row is unchanged.
    Floats guard = y;
    kernel.run({x.bytes(), panels.bytes(), b.bytes(), r.bytes(), y.bytes()}, {m});
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t f = 0; f < k; ++f)
          sum = multiplyAdd(x[i * kp + f], w[j * kp + f], sum);
        sum += b[j];
        expected[i * n + j] = (sum > 0 ? sum : 0.0f) + r[i * n + j];
      }
    expectEqualBits(y, expected,
                    "M " + std::to_string(m) + " N " + std::to_string(n) + " K " +
                        std::to_string(k));
    for (int64_t i = m * n; i < m * n + 4 * n; ++i)
      ASSERT_EQ(std::memcmp(&y[i], &guard[i], 4), 0) << "written past the end";
  }
}

//===- Parts, heads and panels -------------------------------------------===//

TEST_P(KernelToCpu, ThreePartsIntoACache) {
  CompiledKernel kernel = compile(readBody("qkv.mlir"), isa());
  const int64_t k = 40, kp = 48, d = 32, heads = 2, capacity = 160;
  for (auto [batch, tokens, past] :
       {std::array<int64_t, 3>{1, 1, 0}, {2, 1, 19}, {2, 37, 0}, {1, 100, 7}}) {
    int64_t queryRows = padded(tokens);
    Floats x(batch * tokens * kp), wq(64 * kp), wk(64 * kp), wv(64 * kp);
    Floats q(batch * heads * queryRows * d, -1), keys(batch * heads * capacity * d, -1),
        values(batch * heads * capacity * d, -1);
    Floats eq = q, ek = keys, ev = values;
    fill(x, 1), fill(wq, 2), fill(wk, 3), fill(wv, 4);
    Floats pq = toPanels(wq, 64, k), pk = toPanels(wk, 64, k), pv = toPanels(wv, 64, k);
    kernel.run(
        {x.bytes(), pq.bytes(), pk.bytes(), pv.bytes(), q.bytes(), keys.bytes(), values.bytes()},
        {batch, tokens, queryRows, past, capacity});
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t n = 0; n < 64; ++n) {
          float sums[3] = {};
          Floats *weights[3] = {&wq, &wk, &wv};
          for (int part = 0; part < 3; ++part)
            for (int64_t f = 0; f < k; ++f)
              sums[part] = multiplyAdd(x[(b * tokens + t) * kp + f], (*weights[part])[n * kp + f],
                                       sums[part]);
          int64_t head = b * heads + n / d, c = n % d, row = past + t;
          eq[(head * queryRows + t) * d + c] = sums[0];
          ek[head * capacity * d + row / 16 * 16 * d + c * 16 + row % 16] = sums[1];
          ev[(head * capacity + row) * d + c] = sums[2];
        }
    std::string what = "batch " + std::to_string(batch) + " tokens " + std::to_string(tokens);
    expectEqualBits(q, eq, what + " queries");
    expectEqualBits(keys, ek, what + " keys");
    expectEqualBits(values, ev, what + " values");
  }
}

//===- Padded heads -------------------------------------------------------===//

struct HeadSizes {
  int64_t heads, size;

  int64_t all() const { return heads * size; }
  int64_t pitch() const { return padded(size); }
  std::vector<std::pair<std::string, std::string>> replacements(int64_t columns) const {
    auto text = [](int64_t n) { return std::to_string(n); };
    return {{"$PLAN", "mapping = cpu_tiles"},
            {"$STORED", text(padded(all()))},
            {"$COLUMNS", text(columns)},
            {"$ALL", text(all())},
            {"$ROWS", "8"},
            {"$H", text(heads)},
            {"$D", text(size)}};
  }
};

constexpr HeadSizes headSizes[] = {{3, 20}, {2, 24}, {5, 4}, {3, 44}};

/// Each head has its columns, followed by zeros. Nothing else is written.
TEST_P(KernelToCpu, StoresGoOverHeads) {
  const int64_t rows = 21, past = 3, capacity = 32;
  for (const bool isNarrow : {false, true})
    for (const HeadSizes &s : headSizes) {
      auto replacements = s.replacements(s.all() > 60 ? 48 : 16);
      replacements.push_back({"$TYPE", isNarrow ? "bf16" : "f32"});
      replacements.push_back(
          {"$NARROW", isNarrow ? "%t = arith.truncf %sum : tensor<8x" + replacements[2].second +
                                     "xf32> to tensor<8x" + replacements[2].second + "xbf16>"
                               : ""});
      if (!isNarrow)
        replacements.push_back({"%sum", "%t"});
      CompiledKernel kernel = compile(readBody("heads.mlir.in", replacements), isa());
      Floats x(rows * padded(s.all()));
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < padded(s.all()); ++c) // values after the last head are arbitrary
          x[r * padded(s.all()) + c] = static_cast<float>(1 + (r * 31 + c * 7) % 120);
      const int64_t matrix = capacity * s.pitch(), bytes = isNarrow ? 2 : 4;
      Floats v(s.heads * matrix, -1), k = v, ev = v, ek = v;
      auto set = [&](Floats &to, int64_t at, float value) {
        const uint16_t narrow = bfloatFromFloat(value);
        std::memcpy(to.bytes().data() + at * bytes,
                    isNarrow ? static_cast<const void *>(&narrow) : &value,
                    static_cast<size_t>(bytes));
      };
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < s.pitch(); ++c) {
            const int64_t row = past + r, word = 4 / bytes;
            const float value = c < s.size ? 2 * x[r * padded(s.all()) + h * s.size + c] : 0;
            set(ev, h * matrix + row * s.pitch() + c, value);
            set(ek,
                h * matrix + row / 16 * 16 * s.pitch() + c / word * word * 16 + row % 16 * word +
                    c % word,
                value);
          }
      kernel.run({x.bytes(), v.bytes(), k.bytes()}, {rows, past, capacity});
      const std::string what = std::to_string(s.heads) + " heads of " + std::to_string(s.size);
      expectEqualBits(v, ev, what + " as rows");
      expectEqualBits(k, ek, what + " as panels");
    }
}

/// Each row has its heads without gaps, followed by zeros. Nothing else is written.
TEST_P(KernelToCpu, StoresLeaveOutPadding) {
  const int64_t rows = 13;
  for (const HeadSizes &s : headSizes) {
    CompiledKernel kernel = compile(readBody("merge.mlir.in", s.replacements(s.pitch())), isa());
    const int64_t pitch = padded(s.all());
    Floats x(s.heads * rows * s.pitch(), 100), y(rows * pitch + 64, -1), expected = y;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < pitch; ++c)
        expected[r * pitch + c] = 0;
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < s.size; ++c) {
          const auto value = static_cast<float>(1 + (h * 57 + r * 31 + c * 7) % 120);
          x[(h * rows + r) * s.pitch() + c] = value;
          expected[r * pitch + h * s.size + c] = 2 * value;
        }
    kernel.run({x.bytes(), y.bytes()}, {rows});
    expectEqualBits(y, expected, std::to_string(s.heads) + " heads of " + std::to_string(s.size));
  }
}

//===- Norm and embedding ------------------------------------------------===//

/// Sums 16 lanes in ascending order, then combines them by the tree.
static float laneSum(const float *values, int64_t n) {
  float lanes[16];
  for (int64_t i = 0; i < n; ++i)
    lanes[i % 16] = i < 16 ? values[i] : lanes[i % 16] + values[i];
  for (int half = 8; half >= 1; half /= 2)
    for (int i = 0; i < half; ++i)
      lanes[i] += lanes[i + half];
  return lanes[0];
}

TEST_P(KernelToCpu, LayerNorm) {
  for (auto [m, n] : {std::array<int64_t, 2>{1, 80}, {37, 80}, {33, 16}, {3, 272}}) {
    CompiledKernel kernel = compile(readBody("norm.mlir", {{"80", std::to_string(n)}}), isa());
    Floats x(m * n), g(n), b(n), y(m * n, -1), expected(m * n);
    fill(x, 1), fill(g, 2), fill(b, 3);
    kernel.run({x.bytes(), g.bytes(), b.bytes(), y.bytes()}, {m});
    for (int64_t i = 0; i < m; ++i) {
      std::vector<float> centred(n), squares(n);
      float mean = laneSum(&x[i * n], n) / static_cast<float>(n);
      for (int64_t j = 0; j < n; ++j) {
        centred[j] = x[i * n + j] - mean;
        squares[j] = centred[j] * centred[j];
      }
      float scale = 1.0f / std::sqrt(laneSum(squares.data(), n) / static_cast<float>(n) + 1e-5f);
      for (int64_t j = 0; j < n; ++j) {
        volatile float normal = centred[j] * scale, product = normal * g[j];
        expected[i * n + j] = product + b[j];
      }
    }
    expectEqualBits(y, expected, "rows " + std::to_string(m) + " of " + std::to_string(n));
    EXPECT_EQ(y[m * n], -1) << "written past the end";
  }
}

TEST_P(KernelToCpu, PowersOfTwo) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, 1.5f, -1.25f, 0.75f, 0, infinity, -infinity, nan};
  const std::vector<float> exponents = {-1e30f, -200, -126, -125, -124, -1, 0, 3, 126, 127};
  CompiledKernel kernel = compile(readBody("scaleb.mlir"), isa());
  const int64_t rows = static_cast<int64_t>(exponents.size());
  Floats x(rows * 16), n(rows * 16), y(rows * 16), expected(rows * 16);
  for (int64_t i = 0; i < rows * 16; ++i) {
    x[i] = values[i % values.size()], n[i] = exponents[i / 16];
    // Infinity times 0 is excluded, because softmax weights are finite or NaN.
    if (n[i] < -125 && std::isinf(x[i]))
      x[i] = 1;
    expected[i] = n[i] < -125 && !std::isnan(x[i])
                      ? 0
                      : std::ldexp(x[i], static_cast<int>(std::max(n[i], -1000.0f)));
  }
  kernel.run({x.bytes(), n.bytes(), y.bytes()}, {rows});
  for (int64_t i = 0; i < rows * 16; ++i)
    if (n[i] >= -125 || !std::isnan(x[i])) // the exponent of a NaN is also NaN
      EXPECT_TRUE(y[i] == expected[i] || (std::isnan(y[i]) && std::isnan(expected[i])))
          << x[i] << " * 2^" << n[i] << ": expected " << expected[i] << ", found " << y[i];
}

TEST_P(KernelToCpu, Embedding) {
  CompiledKernel kernel = compile(readBody("gather.mlir"), isa());
  const int64_t e = 48, length = 7, m = 37;
  Floats ids(m), table(100 * e), positions(length * e), y(m * e, -1), expected(m * e);
  fill(table, 1), fill(positions, 2);
  for (int64_t i = 0; i < m; ++i) {
    int32_t id = static_cast<int32_t>(i * 31 % 100);
    std::memcpy(&ids[i], &id, 4);
    for (int64_t j = 0; j < e; ++j) {
      volatile float scaled = id ? table[id * e + j] * 2.0f : 0.0f;
      expected[i * e + j] = scaled + positions[i % length * e + j];
    }
  }
  kernel.run({ids.bytes(), table.bytes(), positions.bytes(), y.bytes()}, {m, length});
  expectEqualBits(y, expected, "embedding");
}

//===- Attention ---------------------------------------------------------===//

namespace {
/// Inputs of attention with `heads` heads of size `d` and keys in panels.
struct Attention {
  Attention(int64_t batch, int64_t queries, int64_t keys, int64_t d, int64_t heads)
      : batch(batch), queries(queries), keys(keys), d(d), heads(heads), queryRows(padded(queries)),
        keyRows(padded(keys)), q(batch * heads * queryRows * d, NAN),
        k(batch * heads * keyRows * d, NAN), v(batch * heads * keyRows * d, NAN), lengths(batch),
        out(batch * queries * heads * d, -1) {}

  float &key(int64_t head, int64_t row, int64_t c) {
    return k[head * keyRows * d + row / 16 * 16 * d + c * 16 + row % 16];
  }
  float &query(int64_t head, int64_t row, int64_t c) { return q[(head * queryRows + row) * d + c]; }
  float &value(int64_t head, int64_t row, int64_t c) { return v[(head * keyRows + row) * d + c]; }

  void fillAll() {
    Floats numbers((queries + 2 * keys) * d);
    for (int64_t head = 0; head < batch * heads; ++head) {
      fill(numbers, 7 * head + 1);
      int64_t n = 0;
      for (int64_t t = 0; t < queries; ++t)
        for (int64_t c = 0; c < d; ++c)
          query(head, t, c) = 3 * numbers[n++];
      for (int64_t t = 0; t < keys; ++t)
        for (int64_t c = 0; c < d; ++c) {
          key(head, t, c) = numbers[n++];
          value(head, t, c) = numbers[n++];
        }
    }
  }
  void setLength(int64_t b, int32_t length) { std::memcpy(&lengths[b], &length, 4); }
  int32_t length(int64_t b) {
    int32_t value;
    std::memcpy(&value, &lengths[b], 4);
    return value;
  }
  void run(const CompiledKernel &kernel) {
    kernel.run({q.bytes(), k.bytes(), v.bytes(), lengths.bytes(), out.bytes()},
               {batch, queries, queryRows, keys, keyRows});
  }
  /// Softmax in f64 for one element of the result.
  double expected(int64_t b, int64_t head, int64_t row, int64_t c) {
    std::vector<double> scores(length(b));
    double most = -1e300, sum = 0, result = 0;
    for (int64_t s = 0; s < length(b); ++s) {
      double dot = 0;
      for (int64_t i = 0; i < d; ++i)
        dot += static_cast<double>(query(b * heads + head, row, i)) * key(b * heads + head, s, i);
      scores[s] = dot * 0.125;
      most = std::max(most, scores[s]);
    }
    for (int64_t s = 0; s < length(b); ++s) {
      double weight = std::exp(scores[s] - most);
      sum += weight;
      result += weight * value(b * heads + head, s, c);
    }
    return length(b) ? result / sum : 0;
  }

  int64_t batch, queries, keys, d, heads, queryRows, keyRows;
  Floats q, k, v, lengths, out;
};
} // namespace

static std::string attentionBody(const std::string &order, int64_t d = 64, int64_t heads = 12) {
  std::string width = std::to_string(d), count = std::to_string(heads);
  return readBody("attention.mlir",
                  {{"cpu_strips", order},
                   {", 64]", ", " + width + "]"},
                   {"x64xf32", "x" + width + "xf32"},
                   {"x64xi1", "x" + width + "xi1"},
                   {"constant 64", "constant " + width},
                   {"[d0, 12,", "[d0, " + count + ","},
                   {"%h = 12 by", "%h = " + count + " by"},
                   {"[d0, d1, 768]", "[d0, d1, " + std::to_string(d * heads) + "]"}});
}

TEST_P(KernelToCpu, Attention) {
  for (int64_t d : {64, 32}) {
    CompiledKernel inside = compile(attentionBody("cpu_strips", d, 2), isa());
    CompiledKernel outside = compile(attentionBody("cpu_tiles", d, 2), isa());
    for (auto [queries, keys] :
         {std::array<int64_t, 2>{1, 1}, {1, 700}, {37, 37}, {101, 513}, {7, 1100}}) {
      Attention data(2, queries, keys, d, 2);
      data.fillAll();
      data.setLength(0, keys);
      data.setLength(1, keys / 3);
      data.run(inside);
      Floats first = data.out;
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t head = 0; head < 2; ++head)
          for (int64_t row = 0; row < queries; row += 1 + queries / 5)
            for (int64_t c = 0; c < d; c += 5)
              ASSERT_NEAR(first[(b * queries + row) * 2 * d + head * d + c],
                          data.expected(b, head, row, c), 2e-6)
                  << queries << " queries " << keys << " keys, sequence " << b << " head " << head
                  << " row " << row << " column " << c;
      data.run(outside);
      expectEqualBits(first, data.out, "rows inside and outside the key loop");
    }
  }
}

/// Infinite and NaN values past the length do not affect any result, but values before it do.
TEST_P(KernelToCpu, AttentionLeavesOutHiddenValues) {
  CompiledKernel kernel = compile(attentionBody("cpu_strips", 64, 1), isa());
  Attention data(1, 9, 40, 64, 1);
  data.fillAll();
  data.setLength(0, 33);
  data.run(kernel);
  Floats clean = data.out;
  for (int64_t s = 33; s < 40; ++s)
    data.value(0, s, 3) = s % 2 ? INFINITY : NAN;
  data.run(kernel);
  expectEqualBits(clean, data.out, "hidden values");
  data.value(0, 5, 3) = INFINITY;
  data.run(kernel);
  EXPECT_TRUE(std::isinf(data.out[3]));
  EXPECT_EQ(clean[4], data.out[4]);
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, KernelToCpu,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64",
                                         "native"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

//===- Across instruction sets -------------------------------------------===//

TEST(KernelToCpuBits, AttentionIsEqualOnAllInstructionSets) {
  Attention data(2, 101, 777, 64, 2);
  data.fillAll();
  data.setLength(0, 777);
  data.setLength(1, 520);
  data.run(compile(attentionBody("cpu_strips", 64, 2), "x86-64-v3"));
  Floats first = data.out;
  for (const char *other : {"x86-64-v4", "aarch64"}) {
    if (!CompiledKernel::runsHere(other))
      continue;
    std::fill_n(data.out.data(), data.out.size(), -1.0f);
    data.run(compile(attentionBody("cpu_strips", 64, 2), other));
    expectEqualBits(first, data.out, other);
  }
}

TEST(KernelToCpuBits, ARowAloneIsARowOfMany) {
  CompiledKernel kernel = compile(attentionBody("cpu_strips", 64, 1), "native");
  Attention many(1, 100, 600, 64, 1), alone(1, 1, 600, 64, 1);
  many.fillAll(), alone.fillAll();
  for (int64_t s = 0; s < 600; ++s)
    for (int64_t c = 0; c < 64; ++c) {
      alone.key(0, s, c) = many.key(0, s, c);
      alone.value(0, s, c) = many.value(0, s, c);
    }
  many.setLength(0, 600), alone.setLength(0, 600);
  many.run(kernel);
  for (int64_t row : {0, 5, 6, 95, 96, 99}) {
    for (int64_t c = 0; c < 64; ++c)
      alone.query(0, 0, c) = many.query(0, row, c);
    alone.run(kernel);
    for (int64_t c = 0; c < 64; ++c)
      ASSERT_EQ(std::memcmp(&alone.out[c], &many.out[row * 64 + c], 4), 0) << "row " << row;
  }
}

TEST(KernelToCpuBits, EqualBodiesGiveEqualBytes) {
  std::string text = readBody("norm.mlir");
  EXPECT_EQ(compile(text, "x86-64-v3").object(), compile(text, "x86-64-v3").object());
}
