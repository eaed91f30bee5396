//===- MaskExpressionTest.cpp - The grammar of masks ----------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trees as text, errors with their carets.
//
//===----------------------------------------------------------------------===//

#include "MaskExpression.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace heddle;
using Kind = MaskExpression::Kind;
using testing::HasSubstr;

namespace {

std::string tree(const MaskExpression &e) {
  auto operands = [&] {
    std::string text;
    for (const MaskExpression &operand : e.operands)
      text += " " + tree(operand);
    return text + ")";
  };
  switch (e.kind) {
  case Kind::Causal:
    return e.offset ? "causal" + std::to_string(*e.offset) : "causal";
  case Kind::Lengths:
    return "lengths:" + e.input;
  case Kind::Keep:
    return "keep:" + e.input;
  case Kind::Hide:
    return "hide:" + e.input;
  case Kind::Dense:
    return "dense:" + e.input;
  case Kind::And:
    return "(&" + operands();
  case Kind::Or:
    return "(|" + operands();
  case Kind::Not:
    return "(!" + operands();
  }
  return "";
}

std::string parse(std::string_view text) {
  auto mask = parseMask(text);
  return mask ? tree(*mask) : mask.error().message;
}

TEST(MaskExpression, Precedence) {
  EXPECT_EQ(parse("causal"), "causal");
  EXPECT_EQ(parse(" causal ( -3 ) "), "causal-3");
  EXPECT_EQ(parse("causal & lengths(source) | !keep(a.b) & hide(c)"),
            "(| (& causal lengths:source) (& (! keep:a.b) hide:c))");
  EXPECT_EQ(parse("!(causal|dense(d))&causal"), "(& (! (| causal dense:d)) causal)");
  EXPECT_EQ(parse("causal & causal & causal"), "(& (& causal causal) causal)");
}

TEST(MaskExpression, ErrorsPointAtTheirPlace) {
  EXPECT_EQ(parse("causal & "),
            "column 10: expected a name, found the end\n  causal & \n           ^");
  EXPECT_EQ(
      parse("causal lengths(x)"),
      "column 8: expected an operator or the end, found 'l'\n  causal lengths(x)\n         ^");
  EXPECT_EQ(parse("(causal"), "column 8: expected ')', found the end\n  (causal\n         ^");
  EXPECT_EQ(parse("ö & causal"), "column 1: expected a name, found 'ö'\n  ö & causal\n  ^");
  EXPECT_EQ(parse("keep(ö)"), "column 6: expected a name, found 'ö'\n  keep(ö)\n       ^");
  EXPECT_EQ(parse("causal\n&"),
            "column 9: expected a name, found the end\n  causal &\n          ^");
  EXPECT_THAT(parse("causl"), HasSubstr("expected a mask (causal, lengths, keep, hide, dense)"));
  EXPECT_THAT(parse("causal(9999999999)"), HasSubstr("expected an integer of 32 bits"));
  EXPECT_THAT(parse(""), HasSubstr("expected a name, found the end"));
}

TEST(MaskExpression, NotBuiltYet) {
  for (const char *text : {"window(3, 0)", "prefix(p)", "documents(a, b)", "documents_packed(a, b)",
                           "blocks(t, 2, 2)", "where(i - j < 3)", "causal & where(t[i] == j)"})
    EXPECT_THAT(parse(text), HasSubstr("' is not built yet\n")) << text;
  EXPECT_EQ(parse("causal(n)"),
            "column 8: an input as offset is not built yet\n  causal(n)\n         ^");
}

TEST(MaskExpression, HostileText) {
  EXPECT_THAT(parse(std::string(100000, '(')), HasSubstr("at most 200 levels"));
  EXPECT_THAT(parse(std::string(100000, '!')), HasSubstr("at most 200 levels"));
  std::string chain = "causal";
  for (int i = 0; i < 5000; ++i)
    chain += "&causal";
  EXPECT_THAT(parse(chain), HasSubstr("at most 1000 masks"));
  EXPECT_THAT(parse(std::string("causal\0", 7)), HasSubstr("expected an operator or the end"));
}

} // namespace
