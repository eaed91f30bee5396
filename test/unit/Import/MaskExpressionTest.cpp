//===- MaskExpressionTest.cpp - The grammar of masks ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the ops of expressions, printed as trees, and errors with their carets.

#include "ImportFixture.h"
#include "MaskBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace heddle;
using namespace heddle::transformer;
using namespace mlir;
using testing::HasSubstr;

namespace {

std::string tree(Value value);

std::string operands(Operation *op) {
  std::string text;
  for (Value operand : op->getOperands())
    text += " " + tree(operand);
  return text;
}

/// The text of a mask or rule without operands that are masks: "blocks:t 2 16", "window 3 0 @n".
std::string leaf(Operation *op) {
  std::string text = op->getName().stripDialect().split('.').second.str();
  Value offset;
  if (auto causal = dyn_cast<MaskCausalOp>(op))
    offset = causal.getOffset();
  else if (auto window = dyn_cast<MaskWindowOp>(op))
    offset = window.getOffset();
  if (auto documents = dyn_cast<MaskDocumentsOp>(op); documents && documents.getStarts())
    text = "packed";
  if (auto relative = dyn_cast<BiasRelativeOp>(op))
    return text + " " + std::to_string(relative.getTable().getType().getDimSize(0)) + " " +
           std::to_string(relative.getMaxDistance());
  for (Value input : op->getOperands())
    if (input != offset)
      text += ":" + tree(input);
  if (auto window = dyn_cast<MaskWindowOp>(op))
    text += " " + std::to_string(window.getBefore()) + " " + std::to_string(window.getAfter());
  if (auto blocks = dyn_cast<MaskBlocksOp>(op))
    text += " " + std::to_string(blocks.getRows()) + " " + std::to_string(blocks.getColumns());
  return offset ? text + " @" + tree(offset) : text;
}

/// The expression tree of a value: inputs by name, i as "i", other values as their op.
std::string tree(Value value) {
  IntegerAttr integer;
  FloatAttr real;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    unsigned index = argument.getArgNumber();
    return func ? func.getArgAttrOfType<StringAttr>(index, TransformerDialect::nameAttr).str()
                : std::string(1, "bhij"[index]);
  }
  if (matchPattern(value, m_Constant(&integer)))
    return std::to_string(integer.getInt());
  if (matchPattern(value, m_Constant(&real)))
    return std::to_string(real.getValueAsDouble());
  Operation *op = value.getDefiningOp();
  if (isa<MaskWhereOp, BiasWhereOp>(op))
    return "where" + operands(op->getRegion(0).front().getTerminator());
  if (auto load = dyn_cast<MaskLoadOp>(op))
    return "(" + tree(load.getTable()) + (load.getType().isF32() ? ":f32" : ":i32") +
           operands(op).substr(1 + tree(load.getTable()).size()) + ")";
  std::string name = op->getName().stripDialect().str();
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    name = arith::stringifyCmpIPredicate(compare.getPredicate()).str();
  bool joins = isa<MaskAndOp, MaskOrOp, MaskNotOp, BiasAddOp>(op);
  if (!joins && isa<TransformerDialect>(op->getDialect()))
    return leaf(op);
  return "(" + name.substr(name.rfind('.') + 1) + operands(op) + ")";
}

/// The ops of an expression as a tree, or its error.
std::string written(Expected<MaskExpression> expression) {
  if (!expression)
    return expression.error().message;
  MLIRContext context;
  context
      .loadDialect<TransformerDialect, arith::ArithDialect, math::MathDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  std::vector<TensorInfo> tensors;
  TensorNames names(tensors);
  FunctionBuilder f(*module, names, "f", /*sequenceFirst=*/false);
  Call call; // an omitted offset stays absent
  call.sizes = {"B", "T", "S"};
  Description none;
  return tree(MaskBuilder(none).build(f, *expression, /*cross=*/false, call));
}

std::string parse(std::string_view text) { return written(parseMask(text)); }
std::string parseRule(std::string_view text) { return written(parseScoreRule(text)); }

TEST(MaskExpression, Precedence) {
  EXPECT_EQ(parse("causal"), "causal");
  EXPECT_EQ(parse(" causal ( -3 ) "), "causal @-3");
  EXPECT_EQ(parse("causal & lengths(source) | !keep(a.b) & hide(c)"),
            "(or (and causal lengths:source) (and (not dense:a.b) (not dense:c)))");
  EXPECT_EQ(parse("!(causal|dense(d))&causal"), "(and (not (or causal dense:d)) causal)");
  EXPECT_EQ(parse("causal & causal & causal"), "(and (and causal causal) causal)");
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
            "(and window 3 0 @-2 window 1 2 @cached.rows)");
  EXPECT_EQ(parse("prefix(p) | documents(a, b) | documents_packed(s, t)"),
            "(or (or prefix:p documents:a:b) packed:s:t)");
  EXPECT_EQ(parse("blocks(t, 2, 16)"), "blocks:t 2 16");
  EXPECT_EQ(parse("where(i - j < 3)"), "where (slt (subi i j) 3)");
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
            "where (ori (andi (sle 0 (subi i j)) (slt (subi i j) 256)) (slt j 16))");
  EXPECT_EQ(
      parse("where(i/64 == j / 64 && !(b % 2 == 1))"),
      "where (andi (eq (floordivsi i 64) (floordivsi j 64)) (xori (eq (subi b (muli (floordivsi "
      "b 2) 2)) 1) -1))");
  EXPECT_EQ(parse("where(t[i] == t[b, j + 1] * -2)"),
            "where (eq (t:i32 i) (muli (t:i32 b (addi j 1)) (subi 0 2)))");
  EXPECT_EQ(parse("where(abs(i - j) <= max(2, h))"),
            "where (sle (maxsi (subi i j) (subi 0 (subi i j))) (maxsi 2 h))");
  EXPECT_EQ(parse("where(i < j ? b == 0 : h == 0)"), "where (select (slt i j) (eq b 0) (eq h 0))");
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
            "(add (add alibi relative 32 128) dense:x)");
  EXPECT_EQ(parseRule("where(-0.5 * abs(i - j))"),
            "where (mulf (negf 0.500000) (sitofp (maxsi (subi i j) (subi 0 (subi i j)))))");
  EXPECT_EQ(parseRule("where(i < j ? t[j] : f[b, s[i]] + 1)"),
            "where (select (slt i j) (t:f32 j) (addf (f:f32 b (s:i32 i)) (sitofp 1)))");
  EXPECT_THAT(parseRule("where(i < j)"), HasSubstr("column 7: expected a number, found a truth"));
  EXPECT_THAT(parseRule("causal"), HasSubstr("expected a score rule (alibi, relative, "
                                             "layer_relative, query_distance, key_distance, dense, "
                                             "where), found 'causal'"));
  EXPECT_THAT(parseRule("alibi(0)"), HasSubstr("expected a finite factor above 0"));
  EXPECT_THAT(parseRule("alibi(1e-60)"), HasSubstr("expected a finite factor above 0"));
  EXPECT_THAT(parseRule("alibi()"), HasSubstr("expected a number, found ')'"));
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
