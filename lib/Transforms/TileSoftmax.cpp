//===- TileSoftmax.cpp - Bodies of softmax and losses ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of softmax over features, and of losses. Loops over a row take 16 columns at a time
// (RowWalk.h), for the maximum, the sum and the quotients. Powers are computed as in attention
// (docs/semantics.md).

#include "AttentionScores.h"
#include "RowWalk.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {
/// Walks the scores of rows.
class ScoreWalk : public RowWalk {
public:
  using RowWalk::RowWalk;

  /// Base-2 scores of the columns starting at `c`. They are finite; for minus infinity and padding
  /// they are low enough that their power is 0.
  Value scores(Value c) {
    Value score = t.mul(load(c), log2e), hidden = t.constant(maskedScore, score);
    score = t.select(t.less(score, hidden), hidden, score);
    return inside(c, score, hidden);
  }

  /// Largest rounded score of a row.
  Value maximum() {
    return t.round(reduced(kernel::ReduceKind::Max, lowestMaximum,
                           [&](Value lanes, Value c) { return t.max(lanes, scores(c)); }));
  }
  Value sum(Value maximum) {
    return reduced(kernel::ReduceKind::Add, 0,
                   [&](Value lanes, Value c) { return t.add(lanes, power(c, maximum)); });
  }
  /// Element of a row in the column `ids`.
  Value element(Value ids) {
    return reduced(kernel::ReduceKind::Add, 0, [&](Value lanes, Value c) {
      Value column = t.iota(/*rows=*/false, c, t.type(type.getDimSize(0), 16, t.b.getI32Type()));
      Value x = load(c);
      return t.add(
          lanes, t.select(equal(t, column, t.broadcast(ids, tileOf(column))), x, t.constant(0, x)));
    });
  }

  Value power(Value c, Value maximum) {
    Value score = scores(c), rounded = t.round(score);
    return t.scaleb(t.exp2Fraction(t.sub(score, rounded)), t.sub(rounded, maximum));
  }

  static Value equal(TileBuilder &t, Value x, Value y) {
    return arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, x, y);
  }
  static RankedTensorType tileOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }
};
} // namespace

/// Returns the sum as a divisor: 1 if it is 0.
static Value orOne(TileBuilder &t, Value sum) {
  Value none =
      arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, sum, t.constant(0, sum));
  return t.select(none, t.constant(1, sum), sum);
}

LogicalResult heddle::tileSoftmax(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<SoftmaxOp>();
  if (!op)
    return f.def.emitOpError("expected a softmax that is yielded");
  kernel::ViewType in = f.viewType(f.viewOf(op.getInput()));
  int64_t size = in.getDims().back().extent.value, rows = f.plan.getRows();
  kernel::Size extent = in.getDim(0).extent;
  f.createFunc({extent}, {rows});
  Value i = f.func.getGridIndex(0), left = t.sub(f.sizeValue(extent), i);
  ScoreWalk walk(t, f.view(f.viewOf(op.getInput())), i, t.type(rows, 16), size);

  Value maximum = walk.maximum(), divisor = orOne(t, walk.sum(maximum));
  walk.overColumns(Value(), [&](Value, Value c) {
    storeResults(f, t.div(walk.power(c, maximum), divisor), {i, c}, left);
    return Value();
  });
  return success();
}

//===- The loss ----------------------------------------------------------===//

/// Places a loss and its count in columns 0 and 1 of 16.
static Value sideBySide(TileBuilder &t, Value loss, Value count, int64_t rows) {
  RankedTensorType type = t.type(rows, 16);
  Value column = t.iota(/*rows=*/false, t.index(0), t.type(rows, 16, t.b.getI32Type()));
  Value second = t.select(t.less(column, t.constantI(2, column)), t.broadcast(count, type),
                          t.broadcast(t.constant(0, count), type));
  return t.select(t.less(column, t.constantI(1, column)), t.broadcast(loss, type), second);
}

LogicalResult heddle::tileLoss(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<CrossEntropyRowsOp>();
  if (!op)
    return f.def.emitOpError("expected a cross_entropy.rows that is yielded");
  kernel::ViewType in = f.viewType(f.viewOf(op.getLogits()));
  int64_t size = in.getDims().back().extent.value, rows = f.plan.getRows();
  kernel::Size extent = in.getDim(0).extent;
  f.createFunc({extent}, {rows});
  Value i = f.func.getGridIndex(0), zero = t.index(0);
  Value ids =
      kernel::LoadOp::create(t.b, t.loc, t.type(rows, 1, t.b.getI32Type()),
                             f.view(f.viewOf(op.getIds())), ValueRange{i}, t.b.getUnitAttr());
  ScoreWalk walk(t, f.view(f.viewOf(op.getLogits())), i, t.type(rows, 16), size);
  Value maximum = walk.maximum(), sum = walk.sum(maximum);
  Value logarithm = t.add(t.mul(maximum, ln2), t.log(sum));
  Value loss = t.sub(logarithm, walk.element(ids)), count = t.constant(1, loss);
  if (std::optional<uint64_t> padding = op.getPaddingId()) {
    Value hidden = ScoreWalk::equal(t, ids, t.constantI(static_cast<int64_t>(*padding), ids));
    loss = t.select(hidden, t.constant(0, loss), loss);
    count = t.select(hidden, t.constant(0, count), count);
  }
  storeResults(f, sideBySide(t, loss, count, rows), {i, zero}, t.sub(f.sizeValue(extent), i));
  return success();
}

/// One grid point sums all rows.
LogicalResult heddle::tileLossMean(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<CrossEntropyMeanOp>();
  if (!op)
    return f.def.emitOpError("expected a cross_entropy.mean that is yielded");
  unsigned in = f.viewOf(op.getRows());
  f.createFunc({kernel::Size(1)}, {1});
  Value zero = t.index(0), one = t.index(1);
  RankedTensorType type = t.type(1, 16);
  Value end = f.sizeValue(f.viewType(in).getDim(0).extent);
  Value sums = t.sumOfMany(zero, end, type, [&](Value row) -> Value {
    return kernel::LoadOp::create(t.b, t.loc, type, f.view(in), ValueRange{row, zero}, UnitAttr());
  });
  Value nothing = t.constant(0, sums);
  Value column = t.iota(/*rows=*/false, zero, t.type(1, 16, t.b.getI32Type()));
  auto sumOf = [&](int64_t which) {
    Value same = ScoreWalk::equal(t, column, t.constantI(which, column));
    return t.reduce(kernel::ReduceKind::Add, t.select(same, sums, nothing));
  };
  Value loss = sumOf(0), count = sumOf(1);
  kernel::StoreVectorOp::create(t.b, t.loc, t.div(loss, orOne(t, count)), f.view(f.firstResult()),
                                zero, one);
  return success();
}

/// One grid point per id, because ids are few compared with other data.
LogicalResult heddle::tileShift(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<ShiftRightOp>();
  if (!op)
    return f.def.emitOpError("expected a shift_right that is yielded");
  unsigned in = f.viewOf(op.getIds());
  kernel::ViewType type = f.viewType(in);
  f.createFunc({type.getDim(0).extent, type.getDim(1).extent}, {1, 1});
  Value b = f.func.getGridIndex(0), i = f.func.getGridIndex(1), one = t.index(1);
  Value before = t.max(t.sub(i, one), t.index(0));
  Value id = kernel::ReadOp::create(t.b, t.loc, f.view(in), ValueRange{b, before});
  Value start = t.constantI(static_cast<int64_t>(op.getStart()), id);
  Value tile = t.broadcast(t.select(t.less(i, one), start, id), t.type(1, 1, t.b.getI32Type()));
  kernel::StoreVectorOp::create(t.b, t.loc, tile, f.slice(f.view(f.firstResult()), {b}), i, one);
  return success();
}
