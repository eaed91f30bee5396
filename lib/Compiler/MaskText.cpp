//===- MaskText.cpp - Masks as expressions --------------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line for people. Formulas are not written back: their ops are not the text
// that they came from.
//
//===----------------------------------------------------------------------===//

#include "MaskText.h"

#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

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

std::string nested(Value mask) {
  std::string text = maskText(mask);
  return mask.getDefiningOp<MaskAndOp>() || mask.getDefiningOp<MaskOrOp>() ? "(" + text + ")"
                                                                           : text;
}

/// An operand of `&` or `|`; chains of one operator need no parentheses.
template <typename Op>
std::string chained(Value mask) {
  return mask.getDefiningOp<Op>() ? maskText(mask) : nested(mask);
}

/// An offset of 0 goes without saying.
std::string offsetText(Value offset, const char *before) {
  std::string text = offset ? operandText(offset) : "0";
  return text == "0" ? "" : before + text;
}

} // namespace

std::string maskText(Value mask) {
  if (!mask)
    return "none";
  Operation *op = mask.getDefiningOp();
  if (auto both = dyn_cast<MaskAndOp>(op))
    return chained<MaskAndOp>(both.getLhs()) + " & " + chained<MaskAndOp>(both.getRhs());
  if (auto either = dyn_cast<MaskOrOp>(op))
    return chained<MaskOrOp>(either.getLhs()) + " | " + chained<MaskOrOp>(either.getRhs());
  if (auto negated = dyn_cast<MaskNotOp>(op))
    return "!" + nested(negated.getMask());
  if (auto causal = dyn_cast<MaskCausalOp>(op)) {
    std::string offset = offsetText(causal.getOffset(), "");
    return "causal" + (offset.empty() ? "" : "(" + offset + ")");
  }
  if (auto window = dyn_cast<MaskWindowOp>(op))
    return "window(" + std::to_string(window.getBefore()) + ", " +
           std::to_string(window.getAfter()) + offsetText(window.getOffset(), ", ") + ")";
  if (auto documents = dyn_cast<MaskDocumentsOp>(op))
    return (documents.getStarts() ? "documents_packed(" : "documents(") +
           operandText(documents.getQueries()) + ", " + operandText(documents.getKeys()) + ")";
  if (isa<MaskWhereOp>(op))
    return "where(…)";
  std::string name = op->getName().stripDialect().drop_front(strlen("mask.")).str();
  std::string text = name + "(" + operandText(op->getOperand(0));
  if (auto blocks = dyn_cast<MaskBlocksOp>(op))
    text += ", " + std::to_string(blocks.getRows()) + ", " + std::to_string(blocks.getColumns());
  return text + ")";
}

} // namespace heddle
