//===- AttentionWeights.cpp - Statistics and weights of attention ---------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builders and verifiers of attention.statistics and attention.weights.

#include "AttentionRules.h"
#include "ShapeChecks.h"

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using namespace heddle::transformer::detail;

static LogicalResult verifyStatistics(Operation *op, Value query, Value maximum, Value sum) {
  ArrayRef<int64_t> rows = cast<RankedTensorType>(query.getType()).getShape().drop_back();
  return failure(failed(verifyShape(op, "C1", "maximum", maximum, rows)) ||
                 failed(verifyShape(op, "C1", "sum", sum, rows)));
}

//===- Building ----------------------------------------------------------===//

void AttentionStatisticsOp::build(OpBuilder &builder, OperationState &state, AttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto row = RankedTensorType::get(query.getShape().drop_back(), builder.getF32Type());
  build(builder, state, row, row, op.getQuery(), op.getKey(), op.getMask(), op.getBias(),
        op.getSinks(), op.getKeyCounts(), op.getKeyScales(), op.getScaleAttr(), op.getSoftcapAttr(),
        op.getHiddenScoreAttr());
}

void AttentionWeightsOp::build(OpBuilder &builder, OperationState &state, AttentionOp op,
                               AttentionStatisticsOp statistics) {
  build(builder, state, op.getWeights().getType(), op.getQuery(), op.getKey(),
        statistics.getMaximum(), statistics.getSum(), op.getMask(), op.getBias(), op.getSinks(),
        op.getKeyCounts(), op.getKeyScales(), op.getScaleAttr(), op.getSoftcapAttr(),
        op.getHiddenScoreAttr(), op.getAverageWeightsAttr());
}

//===- Verifying ---------------------------------------------------------===//

/// Checks the constraints shared by attention.statistics and attention.weights.
template <typename Op>
static LogicalResult verifyRulesOf(Op op) {
  auto q = cast<RankedTensorType>(op.getQuery().getType()),
       k = cast<RankedTensorType>(op.getKey().getType());
  int64_t batch = q.isDynamicDim(0) ? k.getDimSize(0) : q.getDimSize(0), heads = q.getDimSize(1),
          keyHeads = k.getDimSize(1);
  if (heads % keyHeads != 0)
    return op.emitOpError("C3: expected key heads that divide query heads ")
           << heads << ", found " << keyHeads;
  if (failed(verifyKept(op, "key", op.getKey(), op.getKeyScales(), op.getMask())))
    return failure();
  return verifyRules(op, {batch, heads, q.getDimSize(2), k.getDimSize(2)}, op.getMask(),
                     op.getRules());
}

LogicalResult AttentionStatisticsOp::verify() {
  LogicalResult rows = verifyStatistics(*this, getQuery(), getMaximum(), getSum());
  return failed(rows) ? rows : verifyRulesOf(*this);
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
  LogicalResult shape = verifyShape(*this, "C2", "weights", getWeights(), expected);
  return failed(shape) ? shape : verifyRulesOf(*this);
}

//===- TransformerOpInterface----------------------------------------------===//

static void requireKeys(ScoresOpInterface op, SymbolicShapes &shapes) {
  shapes.require(shapes.of(op.getQuery())[0], shapes.of(op.getKey())[0],
                 "the batch of queries and keys");
}

Shape heddle::transformer::weightsShape(const Shape &query, const Shape &key, bool averaged) {
  return averaged ? Shape{query[0], query[2], key[2]} : Shape{query[0], query[1], query[2], key[2]};
}

void AttentionStatisticsOp::inferShapes(SymbolicShapes &shapes) {
  requireKeys(*this, shapes);
  Shape rows = shapes.of(getQuery());
  rows.pop_back();
  shapes.set(getMaximum(), rows);
  shapes.set(getSum(), rows);
}

void AttentionWeightsOp::inferShapes(SymbolicShapes &shapes) {
  requireKeys(*this, shapes);
  shapes.set(getWeights(), weightsShape(shapes.of(getQuery()), shapes.of(getKey()), getAverage()));
}

SizeExpr AttentionWeightsOp::countFlops(const SymbolicShapes &shapes) {
  const Shape &q = shapes.of(getQuery()), &k = shapes.of(getKey());
  return q[0] * q[1] * q[2] * k[2] * q[3] * 2;
}
