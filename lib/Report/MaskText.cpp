//===- MaskText.cpp - Masks as expressions --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a mask's ops as an equivalent expression on one line; a long one is cut with dots.
// Canonicalized formulas may differ from the description's text.

#include "MaskText.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

std::string inputName(Value value) {
  if (auto length = value.getDefiningOp<CacheLengthOp>())
    return length.getDim().str();
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function)
    return "a computed value";
  unsigned index = argument.getArgNumber();
  if (auto name = function.getArgAttrOfType<StringAttr>(index, TransformerDialect::nameAttr))
    return name.getValue().str();
  return "arg" + std::to_string(index);
}

namespace {

std::string operandText(Value value) {
  IntegerAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return std::to_string(number.getInt());
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto group = dyn_cast<kernel::GroupOp>(argument.getOwner()->getParentOp()))
      return operandText(group->getOperand(argument.getArgNumber()));
  return inputName(value);
}

/// Prints masks and their formulas. Stops after a fixed number of ops, since shared operands may
/// make the expression exponentially long.
class MaskPrinter {
public:
  std::string mask(Value mask);

private:
  std::string maskOp(Operation *op);
  std::string nested(Value mask);
  template <typename Op>
  std::string chained(Value mask);
  std::string formula(Value value);
  std::string formulaOp(Operation *op);
  std::string remainder(Operation *op);
  std::string call(Operation *op, StringRef name);

  int left = 60; ///< ops that may still be printed
};

std::string MaskPrinter::nested(Value inner) {
  std::string text = mask(inner);
  return inner.getDefiningOp<MaskAndOp>() || inner.getDefiningOp<MaskOrOp>() ? "(" + text + ")"
                                                                             : text;
}

/// Operand of `&` or `|`, without parentheses if it is a chain of the same operator.
template <typename Op>
std::string MaskPrinter::chained(Value inner) {
  return inner.getDefiningOp<Op>() ? mask(inner) : nested(inner);
}

/// Offset between `before` and `behind`; empty if there is none, which means keys - queries.
std::string offsetText(Value offset, const char *before, const char *behind = "") {
  return offset ? before + operandText(offset) + behind : "";
}

std::string MaskPrinter::mask(Value mask) {
  return --left < 0 ? "…" : maskOp(mask.getDefiningOp());
}

std::string MaskPrinter::maskOp(Operation *op) {
  if (auto both = dyn_cast<MaskAndOp>(op)) {
    std::string lhs = chained<MaskAndOp>(both.getLhs());
    return lhs + " & " + chained<MaskAndOp>(both.getRhs());
  }
  if (auto either = dyn_cast<MaskOrOp>(op)) {
    std::string lhs = chained<MaskOrOp>(either.getLhs());
    return lhs + " | " + chained<MaskOrOp>(either.getRhs());
  }
  if (auto negated = dyn_cast<MaskNotOp>(op))
    return "!" + nested(negated.getMask());
  if (auto causal = dyn_cast<MaskCausalOp>(op))
    return "causal" + offsetText(causal.getOffset(), "(", ")");
  if (auto window = dyn_cast<MaskWindowOp>(op))
    return "window(" + std::to_string(window.getBefore()) + ", " +
           std::to_string(window.getAfter()) + offsetText(window.getOffset(), ", ") + ")";
  if (auto documents = dyn_cast<MaskDocumentsOp>(op))
    return (documents.getStarts() ? "documents_packed(" : "documents(") +
           operandText(documents.getQueries()) + ", " + operandText(documents.getKeys()) + ")";
  if (auto where = dyn_cast<MaskWhereOp>(op)) {
    std::string text = formula(where.getBody().front().getTerminator()->getOperand(0));
    bool whole = text.size() > 2 && text.front() == '(' && text.back() == ')';
    return "where" + (whole ? text : "(" + text + ")");
  }
  std::string name = op->getName().stripDialect().drop_front(strlen("mask.")).str();
  std::string text = name + "(" + operandText(op->getOperand(0));
  if (auto blocks = dyn_cast<MaskBlocksOp>(op))
    text += ", " + std::to_string(blocks.getRows()) + ", " + std::to_string(blocks.getColumns());
  return text + ")";
}

//===- Formulas ----------------------------------------------------------===//

std::string MaskPrinter::formula(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && isa<MaskWhereOp>(argument.getOwner()->getParentOp()))
    return std::string(1, "bhij"[argument.getArgNumber()]);
  Operation *op = value.getDefiningOp();
  if (BoolAttr truth; matchPattern(value, m_Constant(&truth)))
    return truth.getValue() ? "true" : "false";
  if (!op || op->hasTrait<OpTrait::ConstantLike>() || !op->getParentOfType<MaskWhereOp>())
    return operandText(value);
  return --left < 0 ? "…" : formulaOp(op);
}

std::string MaskPrinter::call(Operation *op, StringRef name) {
  std::string text;
  for (Value operand : op->getOperands())
    text += (text.empty() ? "" : ", ") + formula(operand);
  return (name + "(" + text + ")").str();
}

/// Infix operator of an op in a formula; empty if it has none.
StringRef operatorOf(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return llvm::StringSwitch<StringRef>(arith::stringifyCmpIPredicate(compare.getPredicate()))
        .Case("eq", "==")
        .Case("ne", "!=")
        .Case("slt", "<")
        .Case("sle", "<=")
        .Case("sgt", ">")
        .Case("sge", ">=")
        .Default("");
  bool truth = op->getResult(0).getType().isInteger(1);
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](arith::AddIOp) { return "+"; })
      .Case([](arith::SubIOp) { return "-"; })
      .Case([](arith::MulIOp) { return "*"; })
      .Case([](arith::FloorDivSIOp) { return "/"; })
      .Case([&](arith::AndIOp) { return truth ? "&&" : ""; })
      .Case([&](arith::OrIOp) { return truth ? "||" : ""; })
      .Default([](Operation *) { return ""; });
}

/// Text of `x % y`, which import expands to x - (x / y) * y, or 0 for y = 0; empty for other ops.
std::string MaskPrinter::remainder(Operation *op) {
  if (auto choice = dyn_cast<arith::SelectOp>(op))
    if (auto zero = choice.getCondition().getDefiningOp<arith::CmpIOp>();
        zero && matchPattern(zero.getRhs(), m_Zero()) &&
        matchPattern(choice.getTrueValue(), m_Zero()))
      op = choice.getFalseValue().getDefiningOp();
  auto rest = dyn_cast_or_null<arith::SubIOp>(op);
  auto product = rest ? rest.getRhs().getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  if (!product)
    return "";
  for (auto [x, y] : {std::pair(product.getLhs(), product.getRhs()),
                      std::pair(product.getRhs(), product.getLhs())})
    if (auto whole = x.getDefiningOp<arith::FloorDivSIOp>();
        whole && whole.getLhs() == rest.getLhs() && whole.getRhs() == y) {
      std::string lhs = formula(rest.getLhs());
      return "(" + lhs + " % " + formula(y) + ")";
    }
  return "";
}

std::string MaskPrinter::formulaOp(Operation *op) {
  if (std::string text = remainder(op); !text.empty())
    return text;
  if (auto load = dyn_cast<MaskLoadOp>(op)) {
    std::string text;
    for (Value index : load.getIndices())
      text += (text.empty() ? "" : ", ") + formula(index);
    return operandText(load.getTable()) + "[" + text + "]";
  }
  if (auto flip = dyn_cast<arith::XOrIOp>(op); flip && flip.getType().isInteger(1))
    if (matchPattern(flip.getRhs(), m_One()))
      return "!" + formula(flip.getLhs());
  if (isa<arith::SubIOp>(op) && matchPattern(op->getOperand(0), m_Zero()))
    return "-" + formula(op->getOperand(1));
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    std::string condition = formula(choice.getCondition()), yes = formula(choice.getTrueValue());
    return "(" + condition + " ? " + yes + " : " + formula(choice.getFalseValue()) + ")";
  }
  StringRef sign = operatorOf(op);
  if (sign.empty())
    return call(op, op->getName().stripDialect());
  std::string lhs = formula(op->getOperand(0));
  return "(" + lhs + " " + sign.str() + " " + formula(op->getOperand(1)) + ")";
}

} // namespace

std::string maskText(Value mask) { return mask ? MaskPrinter().mask(mask) : "none"; }

} // namespace heddle
