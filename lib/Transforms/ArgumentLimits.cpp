//===- ArgumentLimits.cpp - What values an argument may have ------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ids, lengths, and the starts of packed documents: kernels reach no further than
// these say, so a call that gives others is refused.
//
//===----------------------------------------------------------------------===//

#include "ArgumentLimits.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::GroupOp;

ArgumentLimits::ArgumentLimits(Value argument, const ShapeExpressions &shapes) : shapes(shapes) {
  readAll(argument);
}

void ArgumentLimits::readAll(Value value) {
  for (OpOperand &use : value.getUses())
    if (auto group = dyn_cast<GroupOp>(use.getOwner()))
      for (OpOperand &inner : group.getBody().getArgument(use.getOperandNumber()).getUses())
        read(group, inner);
}

/// Ids name a row of a table or a column of logits.
void ArgumentLimits::readIds(GroupOp group, OpOperand &use) {
  Operation *reader = use.getOwner();
  if (auto op = dyn_cast<EmbeddingOp>(reader); op && op.getIds() == use.get())
    addBelow(op.getTable().getType().getDimSize(0));
  if (auto op = dyn_cast<CrossEntropyRowsOp>(reader); op && op.getIds() == use.get())
    addBelow(op.getLogits().getType().getShape().back());
  if (isa<ShiftRightOp>(reader)) // the same ids, but for the last and the start
    readAll(group.getResult(0));
}

void ArgumentLimits::addStarts(const SizeExpr &high) {
  if (llvm::none_of(starts, [&](const SizeExpr &other) { return other == high; }))
    starts.push_back(high);
}

SizeExpr ArgumentLimits::rowsIn(GroupOp group, unsigned operand) const {
  for (Operation &op : group.getBody().front())
    if (isa<AttentionOp, AttentionWeightsOp, AttentionStatisticsOp>(op))
      return shapes.of(op.getOperand(operand))[2];
  llvm_unreachable("masks are read by attention");
}

void ArgumentLimits::addDocuments(GroupOp group) {
  for (auto op : group.getBody().front().getOps<MaskDocumentsOp>())
    if (auto keys = dyn_cast<BlockArgument>(op.getKeys()); keys && op.getStarts())
      if (auto argument = dyn_cast<BlockArgument>(group.getOperand(keys.getArgNumber()));
          argument && !llvm::is_contained(documents, argument))
        documents.push_back(argument);
}

/// Lengths are at most the number of keys they limit; documents start from 0 to the number of rows.
void ArgumentLimits::read(GroupOp group, OpOperand &use) {
  readIds(group, use);
  Operation *reader = use.getOwner();
  if (isa<MaskLengthsOp>(reader)) {
    addBelow(rowsIn(group, 1) + 1);
    addDocuments(group);
  }
  if (auto op = dyn_cast<MaskDocumentsOp>(reader); op && op.getStarts())
    addStarts(rowsIn(group, use.getOperandNumber()) + 1);
  auto sinusoidal = dyn_cast<PositionSinusoidalOp>(reader);
  auto learned = dyn_cast<PositionLearnedOp>(reader);
  if ((sinusoidal && sinusoidal.getDocuments() == use.get()) ||
      (learned && learned.getDocuments() == use.get()))
    addStarts(shapes.of(reader->getResult(0))[1] + 1);
  if (learned && learned.getDocuments() == use.get()) {
    int64_t rows = learned.getTable().getType().getDimSize(0);
    longest = longest ? std::min(longest, rows) : rows;
  }
  if (auto pool = dyn_cast<PoolOp>(reader); pool && pool.getInput() != use.get()) {
    SizeExpr high = shapes.of(pool.getInput())[1] + 1;
    pool.getDocuments() == use.get() ? addStarts(high) : addBelow(high);
  }
}
