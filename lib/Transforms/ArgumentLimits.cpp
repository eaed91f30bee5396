//===- ArgumentLimits.cpp - Limits of integer arguments -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collection of the limits on integer arguments, by a walk over the groups that read them.

#include "ArgumentLimits.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

ArgumentLimits::ArgumentLimits(Value argument, const ShapeExpressions &shapes)
    : ValueLimits(shapes) {
  readAll(argument);
}

/// Collects the limits of all groups that read the value. Copies lead to further groups, so `group`
/// is restored.
void ArgumentLimits::readAll(Value value) {
  GroupOp outer = group;
  for (OpOperand &use : value.getUses())
    if ((group = dyn_cast<GroupOp>(use.getOwner())))
      for (OpOperand &inner : group.getBody().getArgument(use.getOperandNumber()).getUses())
        if (auto op = dyn_cast<TransformerOpInterface>(inner.getOwner()))
          op.limitValues(inner, *this);
  group = outer;
}

void ArgumentLimits::addBelow(const SizeExpr &high) {
  below = below && !(*below == high) ? SizeExpr::min(*below, high) : high;
}

void ArgumentLimits::addStarts(const SizeExpr &high, int64_t rows) {
  if (llvm::none_of(starts, [&](const SizeExpr &other) { return other == high; }))
    starts.push_back(high);
  if (rows)
    maxLength = maxLength ? std::min(maxLength, rows) : rows;
}

void ArgumentLimits::addWithin(Value starts) {
  if (auto inner = dyn_cast<BlockArgument>(starts))
    if (auto argument = dyn_cast<BlockArgument>(group.getOperand(inner.getArgNumber()));
        argument && !llvm::is_contained(documents, argument))
      documents.push_back(argument);
}

void ArgumentLimits::addReadersOf(Value copy) {
  for (OpOperand &use : copy.getUses())
    if (isa<kernel::YieldOp>(use.getOwner()))
      readAll(group.getResult(use.getOperandNumber()));
}
