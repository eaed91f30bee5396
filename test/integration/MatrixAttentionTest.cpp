//===- MatrixAttentionTest.cpp - Attention at level 2 of Vulkan devices ---===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Level 2 computes both products of attention on matrix units. Results are close to level 0's, and
// a query's bits do not depend on other queries: alone, with others, in a batch, padded, packed, in
// a step of grouped heads, and next to values that are not finite. A device whose units lack bf16
// runs attention in this type at level 1.
#include "TwoLevels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace heddle;
using namespace heddle::test;

namespace {

/// An attention as the text of a function.
struct Attention {
  std::string name, mask, arguments;             ///< the mask defines %m, or is empty
  int64_t heads = 2, keyHeads = 2, features = 0; ///< 0: the test's number
  std::string queries = "T", more = "";

  std::string text() const {
    auto type = [&](int64_t count, const std::string &rows) {
      return "tensor<?x" + std::to_string(count) + "x" + rows + "x" + std::to_string(features) +
             "xf32>";
    };
    const std::string rows = queries == "1" ? "1" : "?", q = type(heads, rows),
                      k = type(keyHeads, "?");
    auto argument = [&](const std::string &side, const std::string &type, int64_t count,
                        const std::string &length) {
      return "%" + side + ": " + type + " {transformer.name = \"" + side +
             "\", transformer.dims = [\"B\", " + std::to_string(count) + ", " + length + ", " +
             std::to_string(features) + "]}";
    };
    return "func.func @" + name + "(" +
           argument("q", q, heads, queries == "1" ? "1" : "\"" + queries + "\"") + ", " +
           argument("k", k, keyHeads, "\"S\"") + ", " + argument("v", k, keyHeads, "\"S\"") +
           arguments + ") -> (" + q + " {transformer.name = \"o\"}) {\n" + mask +
           "  %o = transformer.attention %q, %k, %v" + (mask.empty() ? "" : " mask(%m)") +
           " {scale = 0.11 : f32" + more + "} : (" + q + ", " + k + ", " + k + ") -> " + q +
           "\n  return %o : " + q + "\n}\n";
  }
};

const std::string lengths =
                      ", %n: tensor<?xi32> {transformer.name = \"n\", transformer.dims = [\"B\"]}",
                  starts = ", %s: tensor<?xi32> {transformer.name = \"s\"}";
const std::string
    causal = "  %m = transformer.mask.causal\n",
    packed = "  %d = transformer.mask.documents starts(%s, %s) : tensor<?xi32>, tensor<?xi32>\n"
             "  %c = transformer.mask.causal\n  %m = transformer.mask.and %d, %c\n";

/// Rows of some heads: [heads][rows][features].
struct Heads {
  int64_t heads, rows, features;
  std::vector<float> values;

  static Heads of(int64_t heads, int64_t rows, int64_t features, uint32_t seed) {
    return {heads, rows, features, numbers(heads * rows, features, seed).values};
  }
  float *row(int64_t head, int64_t row) { return &values[(head * rows + row) * features]; }
  /// Rows [first, first + some) of every head.
  Heads part(int64_t first, int64_t some) {
    Heads result{heads, some, features, {}};
    for (int64_t head = 0; head < heads; ++head)
      result.values.insert(result.values.end(), row(head, first),
                           row(head, first) + some * features);
    return result;
  }
  Tensor tensor(int64_t batch) const {
    return Tensor::f32({batch, heads / batch, rows, features}, values);
  }
};

class MatrixAttentionTest : public testing::TestWithParam<std::tuple<std::string, int64_t>>,
                            protected TwoLevels {
protected:
  void open(std::initializer_list<Attention> functions) {
    if (!std::getenv("HEDDLE_TEST_DRIVERS"))
      GTEST_SKIP()
          << "the driver needs matrices; scripts/test drivers runs it on one that has some";
    std::string text;
    for (Attention function : functions) {
      if (!function.features)
        function.features = features;
      text += function.text();
    }
    LinearModel none(1, 1, 1);
    ASSERT_NO_FATAL_FAILURE(
        openLevels(none, std::get<0>(GetParam()), text, 2, [&](const Program &program) {
          for (const Kernel &kernel : program.kernels)
            for (const VulkanVariant &variant : kernel.vulkan)
              forms += variant.level == 2;
        }));
  }

  Heads run(size_t session, const std::string &function, const Heads &q, const Heads &k,
            const Heads &v, Tensors more = {}, int64_t batch = 1) {
    more.emplace("q", q.tensor(batch));
    more.emplace("k", k.tensor(batch));
    more.emplace("v", v.tensor(batch));
    auto result = call(sessions[session], function, more);
    EXPECT_TRUE(result) << result.error().message;
    Heads out{q.heads, q.rows, v.features, {}};
    if (!result)
      return out;
    std::span<const float> o = result->at("o").values<float>();
    out.values.assign(o.begin(), o.end());
    return out;
  }

  static void expectBits(const Heads &found, const Heads &expected) {
    ASSERT_EQ(found.values.size(), expected.values.size());
    EXPECT_EQ(std::memcmp(found.values.data(), expected.values.data(),
                          found.values.size() * sizeof(float)),
              0);
  }

  /// A sum in another order may round a weight of bf16 to its neighbour.
  static void expectNear(const Heads &found, const Heads &expected) {
    const float tolerance = std::get<0>(GetParam()) == "bf16" ? 1e-2f : 2e-3f;
    ASSERT_EQ(found.values.size(), expected.values.size());
    for (size_t i = 0; i < found.values.size(); ++i)
      if (std::isfinite(expected.values[i]))
        ASSERT_NEAR(found.values[i], expected.values[i], tolerance) << "at " << i;
      else
        ASSERT_FALSE(std::isfinite(found.values[i])) << "at " << i;
  }

  const int64_t features = std::get<1>(GetParam());
  static constexpr int shapes = 3; ///< number of matrix shapes, for f16 or bf16, for which a file
                                   ///< has kernels
  int forms = 0;                   ///< number of kernel variants at level 2
};

TEST_P(MatrixAttentionTest, QueriesHaveTheirBitsInAnyCompany) {
  ASSERT_NO_FATAL_FAILURE(open({{"run", causal, ""}}));
  if (sessions.size() < 2)
    return;
  EXPECT_EQ(forms, shapes);
  constexpr int64_t rows = 150;
  Heads q = Heads::of(2, rows, features, 1), k = Heads::of(2, rows, features, 2),
        v = Heads::of(2, rows, features, 3);
  k.row(1, 30)[7] = 300.0f; // few keys have all of the weight
  q.row(0, 9)[0] = 3e20f;   // rows of very large and very small numbers have different scales
  for (int64_t i = 0; i < features; ++i)
    q.row(1, 20)[i] *= 1e-25f;
  Heads all = run(1, "run", q, k, v);
  q.row(0, 9)[0] = 3e4f;
  expectNear(run(1, "run", q, k, v), run(0, "run", q, k, v));
  q.row(0, 9)[0] = 3e20f;
  for (auto [first, some] :
       {std::pair<int64_t, int64_t>{149, 1}, {9, 1}, {63, 1}, {64, 1}, {3, 40}, {100, 50}}) {
    SCOPED_TRACE(std::to_string(some) + " queries from " + std::to_string(first));
    const int64_t end = first + some;
    expectBits(run(1, "run", q.part(first, some), k.part(0, end), v.part(0, end)),
               all.part(first, some));
  }
}

TEST_P(MatrixAttentionTest, BatchesAndPadding) {
  Attention function{"run", "  %m = transformer.mask.lengths %n : tensor<?xi32>\n", lengths};
  const int64_t half = features / 2;
  function.features = half;
  ASSERT_NO_FATAL_FAILURE(open({function}));
  if (sessions.size() < 2)
    return;
  constexpr int64_t rows = 130, length = 70;
  Heads q = Heads::of(4, rows, half, 4), k = Heads::of(4, rows, half, 5),
        v = Heads::of(4, rows, half, 6);
  const std::vector<int32_t> counts{length, rows};
  const Tensors more{{"n", Tensor::i32({2}, counts)}};
  Heads all = run(1, "run", q, k, v, more, 2);
  expectNear(all, run(0, "run", q, k, v, more, 2));
  // One text alone and without padding.
  const std::vector<int32_t> own{length};
  auto firstOf = [](const Heads &from) {
    Heads one{2, from.rows, from.features, {}};
    one.values.assign(from.values.begin(), from.values.begin() + from.values.size() / 2);
    return one;
  };
  expectBits(run(1, "run", firstOf(q).part(0, length), firstOf(k).part(0, length),
                 firstOf(v).part(0, length), {{"n", Tensor::i32({1}, own)}}),
             firstOf(all).part(0, length));
}

TEST_P(MatrixAttentionTest, PackedDocuments) {
  ASSERT_NO_FATAL_FAILURE(open({{"alone", causal, ""}, {"packed", packed, starts}}));
  if (sessions.size() < 2)
    return;
  const std::vector<int32_t> bounds{0, 37, 37, 130, 150};
  Heads q = Heads::of(2, 150, features, 7), k = Heads::of(2, 150, features, 8),
        v = Heads::of(2, 150, features, 9);
  const Tensors more{{"s", Tensor::i32({5}, bounds)}};
  Heads all = run(1, "packed", q, k, v, more);
  expectNear(all, run(0, "packed", q, k, v, more));
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const int64_t first = bounds[i], some = bounds[i + 1] - first;
    if (!some)
      continue;
    SCOPED_TRACE("document " + std::to_string(i));
    expectBits(run(1, "alone", q.part(first, some), k.part(first, some), v.part(first, some)),
               all.part(first, some));
  }
}

// Chunks between the near and the far keys have no key that a query sees.
TEST_P(MatrixAttentionTest, MasksWithHoles) {
  const std::string holes = "  %c = transformer.mask.causal\n"
                            "  %near = transformer.mask.window before = 3 after = 0\n"
                            "  %w = transformer.mask.window before = 200 after = 0\n"
                            "  %far = transformer.mask.not %w\n"
                            "  %either = transformer.mask.or %near, %far\n"
                            "  %m = transformer.mask.and %c, %either\n";
  ASSERT_NO_FATAL_FAILURE(open({{"run", holes, ""}}));
  if (sessions.size() < 2)
    return;
  EXPECT_EQ(forms, shapes);
  constexpr int64_t rows = 300;
  Heads q = Heads::of(2, rows, features, 16), k = Heads::of(2, rows, features, 17),
        v = Heads::of(2, rows, features, 18);
  Heads all = run(1, "run", q, k, v);
  expectNear(all, run(0, "run", q, k, v));
  for (int64_t row : {2, 66, 230, 299}) {
    SCOPED_TRACE("query " + std::to_string(row));
    expectBits(run(1, "run", q.part(row, 1), k.part(0, row + 1), v.part(0, row + 1)),
               all.part(row, 1));
  }
}

TEST_P(MatrixAttentionTest, StepsOfGroupedHeads) {
  Attention many{"many", causal, "", 6, 2}, one{"one", causal, "", 6, 2};
  one.queries = "1";
  ASSERT_NO_FATAL_FAILURE(open({many, one}));
  if (sessions.size() < 2)
    return;
  EXPECT_EQ(forms, 2 * shapes);
  Heads q = Heads::of(6, 90, features, 10), k = Heads::of(2, 90, features, 11),
        v = Heads::of(2, 90, features, 12);
  Heads all = run(1, "many", q, k, v);
  expectNear(all, run(0, "many", q, k, v));
  for (int64_t row : {0, 5, 63, 64, 89}) {
    SCOPED_TRACE("query " + std::to_string(row));
    expectBits(run(1, "one", q.part(row, 1), k.part(0, row + 1), v.part(0, row + 1)),
               all.part(row, 1));
  }
}

TEST_P(MatrixAttentionTest, ValuesThatAreNotFinite) {
  ASSERT_NO_FATAL_FAILURE(open({{"run", causal, ""}}));
  if (sessions.size() < 2)
    return;
  constexpr int64_t rows = 100, place = 70;
  Heads q = Heads::of(2, rows, features, 13), k = Heads::of(2, rows, features, 14),
        v = Heads::of(2, rows, features, 15);
  Heads clean = run(1, "run", q, k, v);
  v.row(1, place)[3] = INFINITY;
  v.row(1, place)[features - 24] = NAN;
  v.row(0, rows - 1)[features - 1] = -INFINITY;
  Heads all = run(1, "run", q, k, v);
  expectNear(all, run(0, "run", q, k, v));
  for (int64_t head = 0; head < 2; ++head)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < features; ++i) {
        float found = all.row(head, row)[i], expected = clean.row(head, row)[i];
        if (head == 1 && row >= place && i == 3)
          EXPECT_EQ(found, INFINITY) << row;
        else if (head == 1 && row >= place && i == features - 24)
          EXPECT_TRUE(std::isnan(found)) << row;
        else if (head == 0 && row == rows - 1 && i == features - 1)
          EXPECT_EQ(found, -INFINITY);
        else
          ASSERT_EQ(found, expected) << "head " << head << ", row " << row << ", feature " << i;
      }
}

TEST_P(MatrixAttentionTest, WhatUnitsDoNotTake) {
  Attention large{"large", causal, ""}, odd{"odd", causal, ""};
  large.features = 96;
  odd.features = 40;
  ASSERT_NO_FATAL_FAILURE(open({large, odd}));
  EXPECT_EQ(forms, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, MatrixAttentionTest,
                         testing::Combine(testing::Values("f16", "f16-sum", "bf16"),
                                          testing::Values(64, 128)),
                         [](const auto &info) {
                           std::string type = std::get<0>(info.param);
                           std::ranges::replace(type, '-', '_');
                           return type + "_" + std::to_string(std::get<1>(info.param));
                         });

} // namespace
