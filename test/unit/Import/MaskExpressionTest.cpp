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

const char *wordOf(Kind kind) {
  switch (kind) {
  case Kind::Causal:
    return "causal";
  case Kind::Window:
    return "window";
  case Kind::Lengths:
    return "lengths";
  case Kind::Keep:
    return "keep";
  case Kind::Hide:
    return "hide";
  case Kind::Prefix:
    return "prefix";
  case Kind::Documents:
    return "documents";
  case Kind::PackedDocuments:
    return "packed";
  case Kind::Blocks:
    return "blocks";
  case Kind::And:
    return "&";
  case Kind::Or:
    return "|";
  case Kind::Not:
    return "!";
  case Kind::Alibi:
    return "alibi";
  case Kind::Relative:
    return "relative";
  case Kind::Add:
    return "+";
  case Kind::Dense:
    return "dense";
  case Kind::Where:
    return "where";
  }
  return "";
}

std::string tree(const Formula &f) {
  if (f.kind == Formula::Kind::Number)
    return f.type == Formula::Type::Real ? std::to_string(f.value)
                                         : std::to_string(static_cast<int64_t>(f.value));
  std::string text = f.kind == Formula::Kind::Index ? f.word : "(" + f.word;
  if (f.kind == Formula::Kind::Table)
    text += std::string(f.type == Formula::Type::Real ? ":f32" : ":i32") + (f.perBatch ? " b" : "");
  for (const Formula &operand : f.operands)
    text += " " + tree(operand);
  return f.kind == Formula::Kind::Index ? text : text + ")";
}

std::string tree(const MaskExpression &e) {
  std::string text = wordOf(e.kind);
  for (const std::string &input : e.inputs)
    text += ":" + input;
  for (int64_t number : e.numbers)
    text += " " + std::to_string(number);
  if (e.offset)
    text += " @" + std::to_string(*e.offset);
  if (!e.offsetInput.empty())
    text += " @" + e.offsetInput;
  if (e.kind == Kind::Where)
    text += " " + tree(e.formula);
  for (const MaskExpression &operand : e.operands)
    text += " " + tree(operand);
  return e.operands.empty() ? text : "(" + text + ")";
}

std::string parse(std::string_view text) {
  auto mask = parseMask(text);
  return mask ? tree(*mask) : mask.error().message;
}

std::string parseRule(std::string_view text) {
  auto rule = parseScoreRule(text);
  return rule ? tree(*rule) : rule.error().message;
}

TEST(MaskExpression, Precedence) {
  EXPECT_EQ(parse("causal"), "causal");
  EXPECT_EQ(parse(" causal ( -3 ) "), "causal @-3");
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
  EXPECT_THAT(parse("causl"),
              HasSubstr("expected a mask (causal, window, lengths, keep, hide, prefix, documents, "
                        "documents_packed, dense, blocks, where)"));
  EXPECT_THAT(parse("causal(9999999999)"), HasSubstr("expected an integer of 32 bits"));
  EXPECT_THAT(parse(""), HasSubstr("expected a mask, found nothing"));
}

TEST(MaskExpression, EveryMask) {
  EXPECT_EQ(parse("causal(n)"), "causal @n");
  EXPECT_EQ(parse("window(3, 0)"), "window 3 0");
  EXPECT_EQ(parse("window(3, 0, -2) & window(1,2,cached.rows)"),
            "(& window 3 0 @-2 window 1 2 @cached.rows)");
  EXPECT_EQ(parse("prefix(p) | documents(a, b) | documents_packed(s, t)"),
            "(| (| prefix:p documents:a:b) packed:s:t)");
  EXPECT_EQ(parse("blocks(t, 2, 16)"), "blocks:t 2 16");
  EXPECT_EQ(parse("where(i - j < 3)"), "where (< (- i j) 3)");
}

TEST(MaskExpression, ArgumentsAreChecked) {
  EXPECT_EQ(parse("window(-1, 0)"),
            "column 8: expected an integer of at least 0, found -1\n  window(-1, 0)\n         ^");
  EXPECT_EQ(
      parse("blocks(t, 0, 2)"),
      "column 11: expected an integer of at least 1, found 0\n  blocks(t, 0, 2)\n            ^");
  EXPECT_EQ(parse("window(1)"), "column 9: expected ',', found ')'\n  window(1)\n          ^");
  EXPECT_EQ(parse("documents(a)"),
            "column 12: expected ',', found ')'\n  documents(a)\n             ^");
  EXPECT_EQ(parse("prefix"), "column 7: expected '(', found the end\n  prefix\n        ^");
  EXPECT_EQ(parse("keep(a, b)"), "column 7: expected ')', found ','\n  keep(a, b)\n        ^");
}

TEST(MaskExpression, Formulas) {
  EXPECT_EQ(parse("where(0 <= i-j && i - j < 256 || j < 16)"),
            "where (|| (&& (<= 0 (- i j)) (< (- i j) 256)) (< j 16))");
  EXPECT_EQ(parse("where(i/64 == j / 64 && !(b % 2 == 1))"),
            "where (&& (== (/ i 64) (/ j 64)) (not (== (% b 2) 1)))");
  EXPECT_EQ(parse("where(t[i] == t[b, j + 1] * -2)"),
            "where (== (t:i32 i) (* (t:i32 b (+ j 1)) (neg 2)))");
  EXPECT_EQ(parse("where(abs(i - j) <= max(2, h))"), "where (<= (abs (- i j)) (max 2 h))");
  EXPECT_EQ(parse("where(i < j ? b == 0 : h == 0)"), "where (? (< i j) (== b 0) (== h 0))");
}

TEST(MaskExpression, FormulaErrors) {
  EXPECT_EQ(parse("where(i - j)"),
            "column 7: expected a truth, found a number\n  where(i - j)\n        ^");
  EXPECT_EQ(parse("where(i = j)"),
            "column 9: expected an operator or ')', found '='\n  where(i = j)\n          ^");
  EXPECT_EQ(parse("where(i < 1.5)"), "column 11: expected integers in the formula of a mask, found "
                                     "a real number\n  where(i < 1.5)\n            ^");
  EXPECT_EQ(parse("where(k < 1)"), "column 7: expected b, h, i, j or a table such as k[j], found "
                                   "'k'\n  where(k < 1)\n        ^");
  EXPECT_EQ(parse("where(t[i, j] < 1)"),
            "column 9: expected b as the first of two indices\n  where(t[i, j] < 1)\n          ^");
  EXPECT_THAT(parse("where(i < j < 3)"), HasSubstr("column 13: expected ')', found '<'"));
  EXPECT_THAT(parse("where((i < j) + 1 == 2)"),
              HasSubstr("column 7: expected a number, found a truth"));
  EXPECT_THAT(parse("where(i && j)"), HasSubstr("expected a truth, found an integer"));
  EXPECT_THAT(parse("where(exp(i) < 2)"),
              HasSubstr("expected integers in the formula of a mask, found exp"));
  EXPECT_THAT(parse("where(sin(i) < 2)"),
              HasSubstr("expected min, max, abs, exp or log, found 'sin'"));
  EXPECT_THAT(parse("where(i < 99999999999)"), HasSubstr("expected an integer of 32 bits"));
  EXPECT_THAT(parse("where(" + std::string(100000, '(')), HasSubstr("at most 200 levels"));
  EXPECT_THAT(parse("where(i < " + std::string(100000, '-')), HasSubstr("at most 200 levels"));
}

TEST(MaskExpression, ScoreRules) {
  EXPECT_EQ(parseRule("alibi + relative(32, 128) + dense(x)"),
            "(+ (+ alibi relative 32 128) dense:x)");
  EXPECT_EQ(parseRule("where(-0.5 * abs(i - j))"), "where (* (neg 0.500000) (abs (- i j)))");
  EXPECT_EQ(parseRule("where(i < j ? t[j] : f[b, s[i]] + 1)"),
            "where (? (< i j) (t:f32 j) (+ (f:f32 b (s:i32 i)) 1))");
  EXPECT_THAT(parseRule("where(i < j)"), HasSubstr("column 7: expected a number, found a truth"));
  EXPECT_THAT(parseRule("causal"),
              HasSubstr("expected a score rule (alibi, relative, dense, where), found 'causal'"));
  EXPECT_THAT(parseRule("alibi & alibi"), HasSubstr("expected an operator or the end, found '&'"));
  EXPECT_THAT(parseRule(""), HasSubstr("expected a score rule, found nothing"));
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
