//===- ReferenceMaskTest.cpp - Masks and score rules by hand --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares every mask, rule and op of a formula in the reference with values
// from the definition of the language. Queries are zero, so the log-sum-exp of
// a row gives the number of its keys, or the score of its only key.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/ExecutionEngine/Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"

#include <cmath>
#include <limits>

using namespace heddle;
using ::testing::HasSubstr;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallest = std::numeric_limits<int32_t>::min();

RefTensor zeros(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return {DType::F32, std::move(shape), std::vector<double>(count)};
}
RefTensor i32(std::vector<int64_t> shape, std::vector<double> values) {
  return {DType::I32, std::move(shape), std::move(values)};
}
RefTensor f32(std::vector<int64_t> shape, std::vector<double> values) {
  return {DType::F32, std::move(shape), std::move(values)};
}

/// An attention of two heads with zero queries, and its results.
class ReferenceMaskTest : public ::testing::Test {
protected:
  ReferenceMaskTest() {
    context.loadDialect<transformer::TransformerDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::math::MathDialect>();
  }

  /// Runs `ops`, which define the values of the clauses, with `arguments` ("%t: tensor<?xi32>, ")
  /// in addition to queries and keys.
  Expected<NamedRefTensors> tryRun(const std::string &arguments, const std::string &ops,
                                   const std::string &clauses, const std::string &attributes,
                                   NamedRefTensors inputs, int64_t queries, int64_t keys,
                                   int64_t batch = 1) {
    std::string heads = "tensor<?x2x?x4xf32>";
    std::string text =
        "func.func @f(" + arguments + "%q: " + heads + " {transformer.name = \"q\"}, %k: " + heads +
        " {transformer.name = \"k\"}) -> (" + heads +
        " {transformer.name = \"o\"}, tensor<?x2x?xf32> {transformer.name = \"lse\"}, "
        "tensor<?x2x?x?xf32> {transformer.name = \"w\"}) {\n" +
        ops + "\n%o, %l, %w = transformer.attention %q, %k, %k " + clauses + " {" + attributes +
        "scale = 1.0 : f32} : (" + heads + ", " + heads + ", " + heads + ") -> " + heads +
        " lse tensor<?x2x?xf32> weights tensor<?x2x?x?xf32>\n"
        "return %o, %l, %w : " +
        heads + ", tensor<?x2x?xf32>, tensor<?x2x?x?xf32>\n}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return inputError("does not parse: " + text);
    inputs.emplace_back("q", zeros({batch, 2, queries, 4}));
    inputs.emplace_back("k", zeros({batch, 2, keys, 4}));
    Reference reference(*module, [](const std::string &, DType) -> Expected<ReferenceValues> {
      return ReferenceValues();
    });
    return reference.run("f", inputs);
  }
  RefTensor result(const char *name, Expected<NamedRefTensors> results) {
    EXPECT_TRUE(results) << (results ? "" : results.error().message);
    if (results)
      for (auto &[found, tensor] : *results)
        if (found == name)
          return tensor;
    return {};
  }
  /// The allowed pairs of sequence b and head 0, with a row of characters for each query: "x.." for
  /// key 0 of 3.
  std::vector<std::string> picture(const std::string &arguments, const std::string &ops,
                                   const NamedRefTensors &inputs, int64_t queries, int64_t keys,
                                   int64_t batch = 1, int64_t b = 0) {
    RefTensor weights =
        result("w", tryRun(arguments, ops, "mask(%m)", "", inputs, queries, keys, batch));
    std::vector<std::string> rows(queries);
    if (!weights.values.empty())
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t j = 0; j < keys; ++j)
          rows[i] += weights.values[(b * 2 * queries + i) * keys + j] > 0 ? 'x' : '.';
    return rows;
  }
  /// The scores of a rule for head h of sequence 0.
  std::vector<double> scores(const std::string &arguments, const std::string &ops,
                             const NamedRefTensors &inputs, int64_t queries, int64_t h = 0) {
    RefTensor lse = result("lse", tryRun(arguments, ops, "bias(%m)", "", inputs, queries, 1));
    if (lse.values.empty())
      return {};
    return {lse.values.begin() + h * queries, lse.values.begin() + (h + 1) * queries};
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

using Rows = std::vector<std::string>;

TEST_F(ReferenceMaskTest, StructuredMasks) {
  EXPECT_EQ(picture("", "%m = transformer.mask.window before = 1 after = 0", {}, 3, 4),
            (Rows{"xx..", ".xx.", "..xx"}));
  EXPECT_EQ(picture("%n: i32, ",
                    "%m = transformer.mask.window before = 0 after = 1 offset(%n : i32)",
                    {{"arg0", i32({}, {-1})}}, 3, 3),
            (Rows{"x..", "xx.", ".xx"}));
  EXPECT_EQ(picture("%n: tensor<?xi32>, ", "%m = transformer.mask.prefix %n : tensor<?xi32>",
                    {{"arg0", i32({2}, {1, 2})}}, 2, 3, 2, 1),
            (Rows{"xx.", "xx."}));
  EXPECT_EQ(picture("%a: tensor<?x?xi32>, %b: tensor<?x?xi32>, ",
                    "%m = transformer.mask.documents %a, %b : tensor<?x?xi32>, tensor<?x?xi32>",
                    {{"arg0", i32({1, 2}, {7, 8})}, {"arg1", i32({1, 3}, {8, 7, 8})}}, 2, 3),
            (Rows{".x.", "x.x"}));
  EXPECT_EQ(picture("%t: tensor<1x1x?x?xi1>, ",
                    "%m = transformer.mask.blocks %t rows = 2 columns = 3 : tensor<1x1x?x?xi1>",
                    {{"arg0", {DType::Bool, {1, 1, 2, 2}, {1, 0, 0, 1}}}}, 3, 4),
            (Rows{"xxx.", "xxx.", "...x"}));
  EXPECT_EQ(picture("%n: tensor<?xi32>, ",
                    "%a = transformer.mask.prefix %n : tensor<?xi32>\n"
                    "%c = transformer.mask.causal\n%m = transformer.mask.or %a, %c",
                    {{"arg0", i32({1}, {2})}}, 3, 3),
            (Rows{"xx.", "xx.", "xxx"}));
}

TEST_F(ReferenceMaskTest, OffsetsNearTheLimitsDoNotWrap) {
  const char *causal = "%m = transformer.mask.causal offset(%n : i32)";
  EXPECT_EQ(picture("%n: i32, ", causal, {{"arg0", i32({}, {-1 - smallest})}}, 2, 2),
            (Rows{"xx", "xx"}));
  EXPECT_EQ(picture("%n: i32, ", causal, {{"arg0", i32({}, {smallest})}}, 2, 2),
            (Rows{"..", ".."}));
}

TEST_F(ReferenceMaskTest, PackedDocumentsAreAlone) {
  const char *arguments = "%a: tensor<?xi32>, %b: tensor<?xi32>, ";
  std::string packed =
      "%d = transformer.mask.documents starts(%a, %b) : tensor<?xi32>, tensor<?xi32>\n";
  NamedRefTensors starts = {{"arg0", i32({4}, {0, 2, 2, 4})}, {"arg1", i32({4}, {0, 3, 3, 5})}};
  // The default offset is computed within a document: 3 - 2 for the first, 0 for the last.
  EXPECT_EQ(picture(arguments,
                    packed + "%c = transformer.mask.causal\n%m = transformer.mask.and %d, %c",
                    starts, 4, 5),
            (Rows{"xx...", "xxx..", "...x.", "...xx"}));
  // b is the document, and i and j count within it.
  const char *table = "%t: tensor<?xi32>, ";
  starts.emplace_back("arg2", i32({3}, {1, 9, 2}));
  EXPECT_EQ(picture(std::string(arguments) + table,
                    packed + "%c = transformer.mask.lengths %t : tensor<?xi32>\n"
                             "%m = transformer.mask.and %c, %d",
                    starts, 4, 5),
            (Rows{"x....", "x....", "...xx", "...xx"}));
  starts = {{"arg0", i32({3}, {0, 3, 2})}, {"arg1", i32({3}, {0, 3, 2})}};
  Expected<NamedRefTensors> bad = tryRun(arguments, packed, "mask(%d)", "", starts, 2, 2);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("found 2 after 3"));
}

/// Tests the value of an i32 op for pairs (x, y).
TEST_F(ReferenceMaskTest, IntegerOpsHaveAValueEverywhere) {
  const struct {
    const char *op;
    double x, y, expected;
  } cases[] = {
      {"addi", -1 - smallest, 1, smallest},
      {"subi", smallest, 1, -1 - smallest},
      {"muli", 65536, 65536, 0},
      {"floordivsi", -7, 2, -4},
      {"floordivsi", 7, 0, 0},
      {"floordivsi", smallest, -1, smallest},
      {"ceildivsi", 7, 2, 4},
      {"ceildivsi", -7, 2, -3},
      {"ceildivsi", 7, 0, 0},
      {"ceildivsi", smallest, -1, smallest},
      {"divsi", -7, 2, -3},
      {"divsi", smallest, -1, smallest},
      {"divsi", 3, 0, 0},
      {"remsi", -7, 2, -1},
      {"remsi", 7, 0, 0},
      {"remsi", smallest, -1, 0},
      {"minsi", -1, 2, -1},
      {"maxsi", -1, 2, 2},
      {"andi", -4, 7, 4},
      {"ori", 4, 3, 7},
      {"xori", -1, 1, -2},
      {"shli", 3, 30, -1073741824},
      {"shli", 1, 32, 0},
      {"shli", 1, -1, 0},
      {"shrsi", -8, 1, -4},
      {"shrsi", -8, 40, -1},
      {"shrsi", 8, -1, 0},
      {"shrui", -1, 28, 15},
      {"shrui", -1, 32, 0},
  };
  for (const auto &c : cases) {
    std::string body = "%m = transformer.bias.where {\n"
                       "^bb0(%b: i32, %h: i32, %i: i32, %j: i32):\n"
                       "%r = arith." +
                       std::string(c.op) +
                       " %x, %y : i32\n%f = arith.sitofp %r : i32 to f32\n"
                       "transformer.yield %f : f32\n}";
    std::vector<double> found =
        scores("%x: i32, %y: i32, ", body, {{"arg0", i32({}, {c.x})}, {"arg1", i32({}, {c.y})}}, 1);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0], static_cast<float>(c.expected)) << c.op << " " << c.x << ", " << c.y;
  }
}

TEST_F(ReferenceMaskTest, FormulasOfOtherKinds) {
  auto body = [](const std::string &ops) {
    return "%m = transformer.bias.where {\n^bb0(%b: i32, %h: i32, %i: i32, %j: i32):\n" + ops +
           "\ntransformer.yield %r : f32\n}";
  };
  EXPECT_EQ(scores("%t: tensor<?xi32>, ",
                   body("%c = arith.constant 1 : i32\n%x = arith.subi %i, %c : i32\n"
                        "%v = transformer.mask.load %t[%x] : tensor<?xi32>\n"
                        "%r = arith.sitofp %v : i32 to f32"),
                   {{"arg0", i32({2}, {5, 6})}}, 4),
            (std::vector<double>{0, 5, 6, 0}));
  EXPECT_EQ(scores("%t: tensor<?x?xf32>, ",
                   body("%r = transformer.mask.load %t[%b, %i] : tensor<?x?xf32>"),
                   {{"arg0", f32({1, 2}, {0.5, -infinity})}}, 3),
            (std::vector<double>{0.5, -infinity, 0}));
  EXPECT_EQ(scores("",
                   body("%c = arith.trunci %i : i32 to i1\n%s = arith.extsi %c : i1 to i32\n"
                        "%r = arith.sitofp %s : i32 to f32"),
                   {}, 3),
            (std::vector<double>{0, -1, 0}));
  EXPECT_EQ(scores("",
                   body("%c = arith.constant 100 : i32\n%x = arith.muli %i, %c : i32\n"
                        "%t = arith.trunci %x : i32 to i8\n%s = arith.extsi %t : i8 to i32\n"
                        "%r = arith.sitofp %s : i32 to f32"),
                   {}, 3),
            (std::vector<double>{0, 100, -56}));
  EXPECT_EQ(scores("",
                   body("%c = arith.constant -1 : i32\n%t = arith.cmpi ult, %i, %c : i32\n"
                        "%x = arith.sitofp %i : i32 to f32\n%y = arith.constant 0.25 : f32\n"
                        "%g = arith.cmpf ogt, %x, %y : f32\n%a = arith.andi %t, %g : i1\n"
                        "%r = arith.select %a, %x, %y : f32"),
                   {}, 2),
            (std::vector<double>{0.25, 1}));
}

TEST_F(ReferenceMaskTest, ScoreRules) {
  // With one key and 3 queries, the default offset is -2.
  EXPECT_EQ(scores("", "%m = transformer.bias.alibi", {}, 3, 1),
            (std::vector<double>{-2 * 0x1p-8, -0x1p-8, 0}));
  EXPECT_EQ(scores("", "%m = transformer.bias.alibi {factor = 0.25 : f32}", {}, 3, 1),
            (std::vector<double>{-2 * 0x1p-10, -0x1p-10, 0}));
  const char *relative = "%m = transformer.bias.relative %t max_distance = 16 offset(%n : i32) "
                         "{bidirectional} : tensor<8x2xf32>";
  NamedRefTensors inputs = {{"arg0", f32({8, 2}, {0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0})},
                            {"arg1", i32({}, {-2})}};
  // Distances 2 and 1 ahead, then 0, 1, 2, ... backwards, with two exact buckets in each direction.
  EXPECT_EQ(scores("%t: tensor<8x2xf32>, %n: i32, ", relative, inputs, 9),
            (std::vector<double>{6, 5, 0, 1, 2, 2, 2, 2, 3}));
  // One key and queries 0 to 3: the distances are 0, 1, and then clamped to 1. The second rule
  // reads the row of the key.
  NamedRefTensors distances = {
      {"arg0", f32({1, 2, 4, 4}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33,
                                  0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0})}};
  EXPECT_EQ(scores("%t: tensor<?x2x?x4xf32>, ",
                   "%m = transformer.bias.distance %t : tensor<?x2x?x4xf32>", distances, 4),
            (std::vector<double>{2, 13, 23, 33}));
  NamedRefTensors ofKeys = {{"arg0", f32({1, 2, 1, 4}, {5, 6, 7, 8, 0, 0, 0, 0})}};
  EXPECT_EQ(scores("%t: tensor<?x2x?x4xf32>, ",
                   "%m = transformer.bias.distance %t {of_keys} : tensor<?x2x?x4xf32>", ofKeys, 3),
            (std::vector<double>{7, 8, 8}));
  EXPECT_EQ(scores("%t: tensor<1x2x1x?xf32>, ",
                   "%d = transformer.bias.dense %t : tensor<1x2x1x?xf32>\n"
                   "%m = transformer.bias.add %d, %d",
                   {{"arg0", f32({1, 2, 1, 1}, {0.5, 2e38})}}, 1, 0),
            (std::vector<double>{1}));
}

TEST_F(ReferenceMaskTest, ScoresWithABiasAreClamped) {
  auto lse = [&](double x) {
    return scores("%t: tensor<1x1x1x?xf32>, ",
                  "%m = transformer.bias.dense %t : tensor<1x1x1x?xf32>",
                  {{"arg0", f32({1, 1, 1, 1}, {x})}}, 1)[0];
  };
  EXPECT_EQ(lse(-3.4e38), -0x1p100);
  EXPECT_EQ(lse(3.4e38), 0x1p100);
  EXPECT_EQ(lse(-infinity), -infinity);
  EXPECT_TRUE(std::isnan(lse(infinity)));
}

TEST_F(ReferenceMaskTest, HiddenScoresReplaceAndSinksCount) {
  const char *arguments = "%t: tensor<1x1x1x?xf32>, %s: tensor<2xf32>, %n: tensor<?xi32>, ";
  const char *ops = "%m = transformer.mask.lengths %n : tensor<?xi32>\n"
                    "%d = transformer.bias.dense %t : tensor<1x1x1x?xf32>";
  NamedRefTensors inputs = {{"arg0", f32({1, 1, 1, 4}, {1, -infinity, 5, -infinity})},
                            {"arg1", f32({2}, {std::log(2), -infinity})},
                            {"arg2", i32({1}, {2})}};
  Expected<NamedRefTensors> results =
      tryRun(arguments, ops, "mask(%m) bias(%d) sinks(%s : tensor<2xf32>)",
             "hidden_score = 3.0 : f32, ", inputs, 1, 4);
  // Key 0 has score 1, key 2 is hidden and has score 3. Keys with a bias of -inf are excluded.
  double without = std::exp(1) + std::exp(3);
  RefTensor lse = result("lse", results), weights = result("w", results);
  ASSERT_EQ(weights.size(), 8);
  EXPECT_NEAR(lse.values[0], std::log(without + 2), 1e-12);
  EXPECT_NEAR(lse.values[1], std::log(without), 1e-12);
  EXPECT_NEAR(weights.values[2], std::exp(3) / (without + 2), 1e-12);
  EXPECT_EQ(weights.values[1], 0);
  EXPECT_EQ(weights.values[3], 0);
  inputs[2].second = i32({1}, {0});
  results = tryRun(arguments, ops, "mask(%m) sinks(%s : tensor<2xf32>)", "", inputs, 1, 4);
  lse = result("lse", results);
  EXPECT_NEAR(lse.values[0], std::log(2), 1e-12);
  EXPECT_EQ(lse.values[1], -infinity);
  EXPECT_EQ(result("w", results).values, std::vector<double>(8));
}

} // namespace
