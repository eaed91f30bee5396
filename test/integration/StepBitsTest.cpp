//===- StepBitsTest.cpp - Attention of a single query ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On Vulkan, the single query of a decoder's step has a workgroup in which each team computes a
// chunk of its keys. Its row equals, bit by bit, the row of the kernel for many queries, at levels
// 0 and 1. Cases: fewer keys than a chunk, more chunks than teams, a partial last chunk, and chunks
// without a key that the query sees.
#include "TwoLevels.h"

#include <bit>
#include <cmath>
#include <cstdlib>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr int64_t kHeads = 4, kKeyHeads = 2, kQueries = 3, kBatch = 2;

/// A kind of attention: its name, a mask %m, and the clauses that follow.
struct Rule {
  std::string name, mask, clauses;
};

const std::vector<Rule> &rules() {
  static const std::vector<Rule> all{
      {"lengths", "  %m = transformer.mask.lengths %n : tensor<?xi32>\n", ""},
      {"alibi",
       "  %a = transformer.bias.alibi\n"
       "  %c = transformer.mask.causal\n"
       "  %l = transformer.mask.lengths %n : tensor<?xi32>\n"
       "  %m = transformer.mask.and %c, %l\n",
       " bias(%a)"},
      {"holes",
       "  %s = transformer.weight \"b\" : tensor<4xf32>\n"
       "  %c = transformer.mask.causal\n"
       "  %near = transformer.mask.window before = 3 after = 0\n"
       "  %w = transformer.mask.window before = 200 after = 0\n"
       "  %far = transformer.mask.not %w\n"
       "  %either = transformer.mask.or %near, %far\n"
       "  %m = transformer.mask.and %c, %either\n",
       " sinks(%s : tensor<4xf32>)"}};
  return all;
}

/// Attention of grouped heads under a rule, for one query or for many.
std::string attention(const Rule &rule, int64_t features, bool isOne) {
  auto type = [&](int64_t heads, const std::string &rows) {
    return "tensor<?x" + std::to_string(heads) + "x" + rows + "x" + std::to_string(features) +
           "xf32>";
  };
  auto argument = [&](const std::string &name, const std::string &of, int64_t heads,
                      const std::string &rows) {
    return "%" + name + ": " + of + " {transformer.name = \"" + name +
           "\", transformer.dims = [\"B\", " + std::to_string(heads) + ", " + rows + ", " +
           std::to_string(features) + "]}";
  };
  const std::string q = type(kHeads, isOne ? "1" : "?"), k = type(kKeyHeads, "?");
  const bool counts = rule.mask.find("%n") != std::string::npos;
  return "func.func @" + std::string(isOne ? "one_" : "many_") + rule.name + "(" +
         argument("q", q, kHeads, isOne ? "1" : "\"T\"") + ", " +
         argument("k", k, kKeyHeads, "\"S\"") + ", " + argument("v", k, kKeyHeads, "\"S\"") +
         (counts ? ", %n: tensor<?xi32> {transformer.name = \"n\", transformer.dims = [\"B\"]}"
                 : "") +
         ") -> (" + q + " {transformer.name = \"o\"}) {\n" + rule.mask +
         "  %o = transformer.attention %q, %k, %v mask(%m)" + rule.clauses +
         " {scale = 0.11 : f32} : (" + q + ", " + k + ", " + k + ") -> " + q +
         "\n  return %o : " + q + "\n}\n";
}

class StepBitsTest : public testing::TestWithParam<std::tuple<std::string, int64_t>>,
                     protected TwoLevels {
protected:
  /// Drivers of 2023 take minutes to compile level 1's kernels for many queries.
  void open() {
    std::string text;
    for (const Rule &rule : rules())
      text += attention(rule, features, true) + attention(rule, features, false);
    const int high = std::getenv("HEDDLE_TEST_DRIVERS") ? 1 : 0;
    openLevels(LinearModel(1, 1, kHeads), std::get<0>(GetParam()), text, high,
               [](const Program &) {});
  }

  /// The last row of each head.
  std::vector<float> lastRows(size_t session, const std::string &function, Tensors inputs,
                              int64_t queries) {
    Matrix q = numbers(kBatch * kHeads, features, 1);
    Matrix all = numbers(kBatch * kHeads * queries, features, 4);
    for (int64_t head = 0; head < kBatch * kHeads; ++head)
      for (int64_t i = 0; i < features; ++i)
        all.at(head * queries + queries - 1, i) = q.at(head, i);
    inputs.emplace("q", Tensor::f32({kBatch, kHeads, queries, features}, all.values));
    auto result = call(sessions[session], function, inputs);
    EXPECT_TRUE(result) << result.error().message;
    std::vector<float> rows;
    if (!result)
      return rows;
    std::span<const float> o = result->at("o").values<float>();
    for (int64_t head = 0; head < kBatch * kHeads; ++head) {
      auto last = o.begin() + (head * queries + queries - 1) * features;
      rows.insert(rows.end(), last, last + features);
    }
    return rows;
  }

  void expectSameRows(const Rule &rule, int64_t keys) {
    SCOPED_TRACE(rule.name + ", " + std::to_string(keys) + " keys");
    Matrix k = numbers(kBatch * kKeyHeads * keys, features, 2),
           v = numbers(kBatch * kKeyHeads * keys, features, 3);
    if (keys > 300) // one chunk that no query sees, and one that all see
      v.fill(keys - 100, {1.0f, INFINITY, 2.0f, NAN});
    k.fill(2 * keys + 3, {400.0f});
    const std::vector<int64_t> shape{kBatch, kKeyHeads, keys, features};
    Tensors inputs{{"k", Tensor::f32(shape, k.values)}, {"v", Tensor::f32(shape, v.values)}};
    const std::vector<int32_t> lengths{static_cast<int32_t>(keys > 300 ? keys - 105 : keys),
                                       static_cast<int32_t>(std::min<int64_t>(keys, 66))};
    if (rule.mask.find("%n") != std::string::npos)
      inputs.emplace("n", Tensor::i32({kBatch}, lengths));
    std::vector<float> expected = lastRows(0, "many_" + rule.name, inputs, kQueries);
    for (size_t session : {0, 1}) {
      std::vector<float> found = lastRows(session, "one_" + rule.name, inputs, 1);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
            << "session " << session << ", head " << i / features << ", feature " << i % features
            << ": " << found[i] << " and " << expected[i];
    }
  }

  const int64_t features = std::get<1>(GetParam());
};

TEST_P(StepBitsTest, RowsOfManyQueries) {
  ASSERT_NO_FATAL_FAILURE(open());
  if (sessions.size() < 2)
    return;
  for (const Rule &rule : rules())
    for (int64_t keys : {3, 64, 130, 391, 1250})
      ASSERT_NO_FATAL_FAILURE(expectSameRows(rule, keys));
}

INSTANTIATE_TEST_SUITE_P(Formats, StepBitsTest,
                         testing::Combine(testing::Values("f32", "bf16", "f16"),
                                          testing::Values(40, 64, 128)),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_vulkan_" +
                                  std::to_string(std::get<1>(info.param));
                         });

} // namespace
