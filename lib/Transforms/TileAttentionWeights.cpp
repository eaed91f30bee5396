//===- TileAttentionWeights.cpp - Body of returned weights ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of returned attention weights: a second kernel that recomputes the scores and normalizes
// them by the maximum and sum that attention has stored for each row.

#include "AttentionScores.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

/// Loads the maximum or sum of each row, as the attention kernel stored it.
static Value loadStatistic(KernelBuilder &f, Value operand, std::initializer_list<Value> at,
                           Value row, int64_t rows) {
  TileBuilder &t = f.t;
  Value vector = f.slice(f.view(f.viewOf(operand)), at);
  return kernel::LoadOp::create(t.b, t.loc, t.type(rows, 1), vector, ValueRange{row},
                                t.b.getUnitAttr());
}

/// 2^(score - maximum) / sum, or 0 if the sum is 0 because no key of the row is allowed.
static Value normalized(TileBuilder &t, Scores &scores, Value score, Value maximum, Value sum) {
  Value none =
      arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, sum, t.constant(0, sum));
  Value divisor = t.select(none, t.constant(1, sum), sum);
  return t.div(scores.power(score, t.round(score), maximum), divisor);
}

LogicalResult heddle::tileAttentionWeights(KernelBuilder &f) {
  TileBuilder &t = f.t;
  AttentionWeightsOp op;
  f.def.walk([&](AttentionWeightsOp found) { op = found; });
  if (!op)
    return f.def.emitOpError("expected an attention.weights");
  Scores scores(f, op.getQuery(), op.getKey(), op.getMask(), op.getScale().convertToDouble(),
                op.getRules());
  int64_t rows = f.plan.getRows(), columns = f.plan.getColumns()[0];
  RankedTensorType type = t.type(rows, columns);
  kernel::ViewType q = f.viewType(scores.queryView);
  bool average = op.getAverage();
  int64_t heads = q.getDim(1).extent.value;
  MaskDocumentsOp documents = scores.packed();
  kernel::Size tiles = documents ? f.slots(documents.getQueries()) : q.getDim(2).extent;
  f.createFunc({q.getDim(0).extent, tiles, scores.keys}, {1, rows, columns});
  Value b = f.func.getGridIndex(0), i = f.func.getGridIndex(1), j = f.func.getGridIndex(2);
  // With packed documents the weights of all pairs are stored; pairs across documents are hidden.
  Sequence sequence = scores.batchElement(b);
  if (documents) {
    std::tie(sequence, i) = scores.document(b, i, rows);
    sequence.firstPanelRow = sequence.firstKey; // as for callers, columns count over all documents
  }
  Value row = documents ? t.add(i, sequence.firstQuery) : i, left = t.sub(sequence.queries, i);
  auto weightsOf = [&](Value h) {
    scores.enter(sequence, h);
    Scores::Range all{t.index(0), t.index(0), scores.sequence.keys};
    KeyChunk keys =
        documents ? scores.unalignedChunk(j, columns) : scores.chunk(all, i, rows, j, columns);
    Value score = scores.tile(i, keys, type);
    Value sum = loadStatistic(f, op.getSum(), {b, h}, row, rows);
    Value maximum = loadStatistic(f, op.getMaximum(), {b, h}, row, rows);
    return normalized(t, scores, score, maximum, sum);
  };
  Value zero = t.index(0), one = t.index(1), count = t.index(heads);
  Value start = arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, 0.0f));
  auto loop =
      scf::ForOp::create(t.b, t.loc, zero, count, one, average ? ValueRange(start) : ValueRange());
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value h = loop.getInductionVar(), w = weightsOf(h);
  if (average) {
    scf::YieldOp::create(t.b, t.loc, t.add(loop.getRegionIterArg(0), w));
    t.b.setInsertionPointAfter(loop);
    Value mean =
        t.div(loop.getResult(0), t.constant(static_cast<double>(heads), loop.getResult(0)));
    kernel::StoreOp::create(t.b, t.loc, mean, f.view(f.firstResult()), ValueRange{b, row, j}, left);
  } else {
    kernel::StoreOp::create(t.b, t.loc, w, f.view(f.firstResult()), ValueRange{b, h, row, j}, left);
  }
  expandFunctions(f.func);
  return success();
}
