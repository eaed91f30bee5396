//===- SizeExprTest.cpp - Tests of size expressions -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests folding, text in both directions, values and their limits, and hostile
// text.

#include "heddle/Support/SizeExpr.h"

#include <gmock/gmock.h>
#include <random>

using namespace heddle;

namespace {

const SizeExpr B = SizeExpr::dim("B"), S = SizeExpr::dim("S"), P = SizeExpr::dim("P");

TEST(SizeExpr, FoldsConstantsWhereverTheyStand) {
  EXPECT_EQ((B * 8 * 256 * 64).str(), "B*131072");
  EXPECT_EQ((8 * (B * 4) * S).str(), "B*S*32");
  EXPECT_EQ((P + 1 + S + 2 - 3).str(), "P + S");
  EXPECT_EQ((B * 0 + 5).constantValue(), 5);
  EXPECT_EQ((S * 1 + 0), S);
  EXPECT_EQ((S - S).str(), "0");
  EXPECT_EQ(SizeExpr::roundUp(17, 16).constantValue(), 32);
  EXPECT_EQ(SizeExpr::roundUp(SizeExpr::roundUp(S, 16) * B, 16).str(), "roundup(S, 16)*B");
  EXPECT_EQ(SizeExpr::roundUp(S * 24, 16).str(), "roundup(S*24, 16)");
  SizeExpr half = SizeExpr::floorDiv(S - 1, 2) + 1;
  EXPECT_EQ((SizeExpr::floorDiv(half - 1, 3) + 1).str(), "floordiv(S - 1, 6) + 1");
  EXPECT_EQ(SizeExpr::ceilDiv(SizeExpr::ceilDiv(S, 2), 3).str(), "ceildiv(S, 6)");
  EXPECT_EQ(SizeExpr::ceilDiv(SizeExpr::floorDiv(S, 2), 3).str(), "ceildiv(floordiv(S, 2), 3)");
}

TEST(SizeExpr, KeepsParenthesesThatMatter) {
  EXPECT_EQ(((B + 1) * (S - P)).str(), "(B + 1)*(S - P)");
  EXPECT_EQ((B - (S - P)).str(), "B - (S - P)");
  EXPECT_EQ((B - 2).str(), "B - 2");
  EXPECT_EQ((SizeExpr(2) - B).str(), "2 - B");
  EXPECT_EQ((B * -3).str(), "B*(-3)");
}

TEST(SizeExpr, EvaluatesWithFloorsAndCeilings) {
  Dimensions dims = {{"B", 3}, {"S", -7}};
  auto value = [&](const char *text) { return *SizeExpr::parse(text)->evaluate(dims); };
  EXPECT_EQ(value("floordiv(S, 2)"), -4);
  EXPECT_EQ(value("ceildiv(S, 2)"), -3);
  EXPECT_EQ(value("roundup(S, 4)"), -4);
  EXPECT_EQ(value("min(B, S)*max(B, 10) - -1"), -69);
  EXPECT_EQ(value("B - (S - 2)*2"), 21);
}

TEST(SizeExpr, RefusesValuesThatDoNotExist) {
  auto message = [](const char *text, Dimensions dims) {
    return SizeExpr::parse(text)->evaluate(dims).error().message;
  };
  EXPECT_EQ(message("B + 1", {}), "expected a value of dimension B, found none");
  EXPECT_THAT(message("ceildiv(4, B)", {{"B", 0}}), testing::HasSubstr("positive divisors"));
  EXPECT_THAT(message("B*B", {{"B", int64_t(1) << 32}}), testing::HasSubstr("2^62"));
  EXPECT_FALSE(SizeExpr::parse("4611686018427387904 + 4611686018427387904")->evaluate({}));
  EXPECT_FALSE(SizeExpr::parse("floordiv(5, 0)")->evaluate({}));
}

TEST(SizeExpr, SubstitutesAndCollects) {
  SizeExpr size = B * SizeExpr::roundUp(S + P, 16);
  std::vector<std::string> names;
  size.collectDims(names);
  (size + B).collectDims(names);
  EXPECT_THAT(names, testing::ElementsAre("B", "S", "P"));
  EXPECT_EQ(size.substitute({{"S", 20}, {"P", 3}}).str(), "B*32");
  EXPECT_EQ(size.substitute({{"B", S}}).dimName(), "");
  EXPECT_EQ(B.substitute({{"B", S}}).dimName(), "S");
}

TEST(SizeExpr, RefusesTextThatIsNoExpression) {
  for (const char *text :
       {"", "+", "B +", "(B", "B)", "B S", "mean(B, 2)", "min(B)", "min(B, 2, 3)",
        "9223372036854775808", "4611686018427387905", "2B", "B**2", "B/2", "-B"})
    EXPECT_FALSE(SizeExpr::parse(text)) << text;
  EXPECT_EQ(SizeExpr::parse("B + ").error().message,
            "size 'B + ': expected a number, a name or '(' at character 5, found the end");
}

TEST(SizeExpr, SurvivesHostileDepth) {
  std::string sum = "B";
  for (int i = 0; i < 100000; ++i)
    sum += "-B*S";
  EXPECT_FALSE(SizeExpr::parse(sum));
  EXPECT_FALSE(SizeExpr::parse(std::string(100000, '(')));
  std::string nested;
  for (int i = 0; i < 100000; ++i)
    nested += "min(B,";
  EXPECT_FALSE(SizeExpr::parse(nested));
}

/// A random expression, and its value computed without folding.
std::pair<SizeExpr, int64_t> randomExpr(std::mt19937 &random, const Dimensions &dims, int depth) {
  if (depth == 0) {
    if (random() % 2)
      return {SizeExpr(int64_t(random() % 7) - 2), 0};
    auto dim = std::next(dims.begin(), random() % dims.size());
    return {SizeExpr::dim(dim->first), dim->second};
  }
  auto a = randomExpr(random, dims, depth - 1), b = randomExpr(random, dims, depth - 1);
  for (auto *side : {&a, &b})
    if (side->first.isConstant())
      side->second = side->first.constantValue();
  switch (random() % 4) {
  case 0:
    return {a.first + b.first, a.second + b.second};
  case 1:
    return {a.first - b.first, a.second - b.second};
  case 2:
    return {a.first * b.first, a.second * b.second};
  default:
    return {SizeExpr::max(a.first, b.first), std::max(a.second, b.second)};
  }
}

TEST(SizeExpr, RewritingKeepsValuesAndTextReadsBack) {
  std::mt19937 random(1);
  Dimensions dims = {{"B", 2}, {"S", 5}, {"P.length", 11}};
  for (int i = 0; i < 5000; ++i) {
    auto [expr, value] = randomExpr(random, dims, 1 + i % 4);
    ASSERT_EQ(*expr.evaluate(dims), value) << expr.str();
    auto again = SizeExpr::parse(expr.str());
    ASSERT_TRUE(again) << expr.str();
    ASSERT_EQ(again->str(), expr.str());
  }
}

} // namespace
