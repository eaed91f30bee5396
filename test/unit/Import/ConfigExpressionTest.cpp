//===- ConfigExpressionTest.cpp - Expressions over a configuration --------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConfigExpression.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace heddle;
using testing::HasSubstr;

namespace {

Expected<Json> lookUp(const std::string &name) {
  static const Json values = {{"heads", 12},     {"size", 768},
                              {"none", nullptr}, {"act", "gelu"},
                              {"flag", true},    {"kinds", {"full", "slide"}},
                              {"factor", 0.25},  {"table", {{"gelu", "exact"}}},
                              {"layer", 3}};
  if (values.contains(name))
    return Json(values[name]);
  return inputError("expected a name, found " + quotedText(name));
}

std::string value(const std::string &text) {
  Expected<Json> made = evaluateConfig(text, lookUp);
  if (made)
    return made->dump();
  std::string message = made.takeError().message;
  EXPECT_EQ(message.find('\n'), message.npos) << message;
  return message;
}

TEST(ConfigExpression, Arithmetic) {
  EXPECT_EQ(value("size / heads"), "64");
  EXPECT_EQ(value("7 / 2"), "3.5");
  EXPECT_EQ(value("int(7 / 2) + 1"), "4");
  EXPECT_EQ(value("1 + 2 * 3 - -4"), "11");
  EXPECT_EQ(value("-7 % 3"), "2");
  EXPECT_EQ(value("(1 + 2) * 3"), "9");
  EXPECT_EQ(value("10 - 3 - 2"), "5");
  EXPECT_EQ(value("pow(heads + 4, 0.5)"), "4.0");
  EXPECT_EQ(value("sqrt(factor)"), "0.5");
  EXPECT_EQ(value("min(heads, 5) + max(1, 2) + abs(-3)"), "10");
  EXPECT_EQ(value("count(kinds)"), "2");
  EXPECT_EQ(value("has(kinds, kinds[1]) && !has(kinds, 'c2p')"), "true");
  EXPECT_EQ(value("has('c2p|p2c', 'p2c') && !has('c2p', 'p2c')"), "true");
}

TEST(ConfigExpression, TruthsTextsAndLookUps) {
  EXPECT_EQ(value("act == 'gelu' && !(heads < 12)"), "true");
  EXPECT_EQ(value("none == null"), "true");
  EXPECT_EQ(value("kinds[1]"), "\"slide\"");
  EXPECT_EQ(value("table[act]"), "\"exact\"");
  EXPECT_EQ(value("layer % 2 != 0 ? 'odd' : 'even'"), "\"odd\"");
  EXPECT_EQ(value("flag ? false ? 1 : 2 : 3"), "2");
}

/// An operand that does not decide is not evaluated, so errors in it are ignored.
TEST(ConfigExpression, SidesThatDoNotDecideAreNotComputed) {
  EXPECT_EQ(value("none != null && none > 3"), "false");
  EXPECT_EQ(value("none == null || none > 3"), "true");
  EXPECT_EQ(value("none != null ? kinds[none] : 1 / 1"), "1");
  EXPECT_EQ(value("flag || missing == 1"), "true");
  EXPECT_EQ(value("none != null && (none > 3 || none < 1) || flag"), "true");
}

TEST(ConfigExpression, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(value("none + 1"), "column 1: expected a number, found null");
  EXPECT_EQ(value("1 / (heads - 12)"), "column 1: expected a divisor that is not 0, found 0");
  EXPECT_EQ(value("missing"), "column 1: expected a name, found 'missing'");
  EXPECT_EQ(value("flag && act"), "column 9: expected true or false, found 'gelu'");
  EXPECT_EQ(value("kinds[2]"), "column 7: expected an index below 2, found 2");
  EXPECT_EQ(value("table['relu']"), "column 7: expected one of gelu, found 'relu'");
  EXPECT_EQ(value("heads heads"), "column 7: expected an operator or the end, found 'h'");
  EXPECT_EQ(value("'open"), "column 1: expected a text that ends with ', found the end");
  EXPECT_EQ(value("sqrt(-1)"), "column 1: expected a number of at least 0, found -1");
  EXPECT_EQ(value("pow(10, 400)"),
            "column 1: expected a result that is finite and below 2^53, found inf");
  EXPECT_EQ(value("int(1e300)"), "column 1: expected a number up to 2^53, found 1e+300");
  EXPECT_EQ(value("exp(1)"),
            "column 1: expected abs, count, has, int, max, min, pow or sqrt, found 'exp'");
  EXPECT_EQ(value(""), "column 1: expected a number, a text, a name or '(', found the end");
  EXPECT_THAT(value(std::string(100000, '(')), HasSubstr("expected at most 200 levels"));
}

TEST(ConfigExpression, TextsAreExpanded) {
  auto text = [](const char *from) {
    Expected<std::string> made = expandConfig(from, lookUp);
    return made ? *made : made.takeError().message;
  };
  EXPECT_EQ(text("window({heads - 1}, 0) & {act}"), "window(11, 0) & gelu");
  EXPECT_EQ(text("{factor * 8} {7 / 2}"), "2 3.5");
  EXPECT_EQ(text("plain"), "plain");
  EXPECT_EQ(text("{heads"), "expected '}' after '{', found the end");
}

} // namespace
