//===- AttentionWeights.cpp - Statistics and weights of attention ---------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the two ops that returned attention weights become.
//
//===----------------------------------------------------------------------===//

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/TypeUtilities.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace heddle::transformer;

static LogicalResult verifyShape(Operation *op, StringRef constraint, StringRef name, Value value,
                                 ArrayRef<int64_t> expected) {
  auto type = cast<RankedTensorType>(value.getType());
  if (succeeded(verifyCompatibleShape(type.getShape(), expected)))
    return success();
  return op->emitOpError() << constraint << ": " << name << ": expected "
                           << RankedTensorType::get(expected, type.getElementType()) << ", found "
                           << type;
}

static LogicalResult verifyStatistics(Operation *op, Value query, Value maximum, Value sum) {
  ArrayRef<int64_t> rows = cast<RankedTensorType>(query.getType()).getShape().drop_back();
  return failure(failed(verifyShape(op, "C1", "maximum", maximum, rows)) ||
                 failed(verifyShape(op, "C1", "sum", sum, rows)));
}

LogicalResult AttentionStatisticsOp::verify() {
  return verifyStatistics(*this, getQuery(), getMaximum(), getSum());
}

LogicalResult AttentionWeightsOp::verify() {
  if (LogicalResult rows = verifyStatistics(*this, getQuery(), getMaximum(), getSum());
      failed(rows))
    return rows;
  auto q = cast<RankedTensorType>(getQuery().getType()),
       k = cast<RankedTensorType>(getKey().getType());
  SmallVector<int64_t> expected{q.getDimSize(0), q.getDimSize(1), q.getDimSize(2), k.getDimSize(2)};
  if (getAverage())
    expected.erase(expected.begin() + 1);
  return verifyShape(*this, "C2", "weights", getWeights(), expected);
}
