//===- TileLoss.cpp - Bodies of losses and their gradients ----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of losses. Loops over a row of logits take 16 columns at a time (RowWalk.h). The losses of
// rows are summed by one workgroup.

#include "ScoreWalk.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::LoadOp;
using kernel::ReduceKind;
using kernel::Size;

//===- Rows of logits ----------------------------------------------------===//

namespace {
/// A tile of rows of logits with their ids.
class LogitRows {
public:
  /// Creates the kernel for rows of `logits`.
  LogitRows(KernelBuilder &f, Value logits, Value references, std::optional<uint64_t> padding);

  /// The loss of each row and 1, or 0 and 0 if its id is the padding.
  Value lossAndCount(Value loss);
  /// Returns `tile`, or 0 in rows whose id is the padding.
  Value counted(Value tile);

  KernelBuilder &f;
  TileBuilder &t;
  Size extent;
  Value i, left, ids;
  std::optional<uint64_t> padding;
  ScoreWalk walk;

private:
  static Value create(KernelBuilder &f, Size extent);
};
} // namespace

Value LogitRows::create(KernelBuilder &f, Size extent) {
  f.createFunc({extent}, {f.plan.getRows()});
  return f.func.getGridIndex(0);
}

LogitRows::LogitRows(KernelBuilder &f, Value logits, Value references,
                     std::optional<uint64_t> padding)
    : f(f), t(f.t), extent(f.viewTypeOf(logits).getDim(0).extent), i(create(f, extent)),
      padding(padding), walk(t, f.view(f.viewOf(logits)), i, t.type(f.plan.getRows(), 16),
                             f.viewTypeOf(logits).getDims().back().extent.value) {
  left = t.sub(f.sizeValue(extent), i);
  ids = LoadOp::create(t.b, t.loc, t.type(f.plan.getRows(), 1, t.b.getI32Type()),
                       f.view(f.viewOf(references)), ValueRange{i}, t.b.getUnitAttr());
}

Value LogitRows::counted(Value tile) {
  if (!padding)
    return tile;
  Value hidden = ScoreWalk::equal(t, ids, t.constantI(static_cast<int64_t>(*padding), ids));
  auto type = cast<RankedTensorType>(tile.getType());
  return t.select(t.broadcast(hidden, type.clone(t.b.getI1Type())), t.constant(0, tile), tile);
}

/// Places the numbers in columns 0 and 1 of 16.
Value LogitRows::lossAndCount(Value loss) {
  Value count = counted(t.constant(1, loss));
  loss = counted(loss);
  RankedTensorType type = t.type(f.plan.getRows(), 16);
  Value column = walk.columns(t.index(0));
  Value second = t.select(t.less(column, t.constantI(2, column)), t.broadcast(count, type),
                          t.broadcast(t.constant(0, count), type));
  return t.select(t.less(column, t.constantI(1, column)), t.broadcast(loss, type), second);
}

LogicalResult heddle::tileLoss(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<CrossEntropyRowsOp>();
  if (!op)
    return f.def.emitOpError("expected a cross_entropy.rows that is yielded");
  LogitRows rows(f, op.getLogits(), op.getIds(), op.getPaddingId());
  TileBuilder &t = f.t;
  Value maximum = rows.walk.maximum(), sum = rows.walk.sum(maximum);
  Value logarithm = t.add(t.mul(maximum, ln2), t.log(sum));
  Value loss = t.sub(logarithm, rows.walk.element(rows.ids));
  storeResults(f, rows.lossAndCount(loss), {rows.i, t.index(0)}, rows.left);
  return success();
}

//===- Gradients ---------------------------------------------------------===//

namespace {
/// The distribution that cross entropy compares rows of logits with.
class TargetDistribution {
public:
  TargetDistribution(LogitRows &rows, CrossEntropyGradientOp op);
  /// Probabilities of the columns starting at `c`.
  Value at(Value c);
  /// The losses of the rows, from the logarithm of the sum of their exponentials.
  Value loss(Value logarithm);

private:
  LogitRows &rows;
  TileBuilder &t;
  double smoothing, ofId, ofOthers;
  bool hasPadding; ///< whether the padding has a part of `smoothing`
};
} // namespace

TargetDistribution::TargetDistribution(LogitRows &rows, CrossEntropyGradientOp op)
    : rows(rows), t(rows.t), smoothing(op.getSmoothing().convertToDouble()),
      hasPadding(op.getOver() != SmoothingOver::OthersButPadding) {
  const int64_t classes = op.getLogits().getType().getShape().back();
  const int64_t missing = op.getOver() == SmoothingOver::All ? 0 : hasPadding ? 1 : 2;
  ofOthers = classes > missing ? smoothing / static_cast<double>(classes - missing) : 0;
  ofId = 1 - smoothing + (missing == 0 ? ofOthers : 0);
}

Value TargetDistribution::at(Value c) {
  Value column = rows.walk.columns(c);
  RankedTensorType type = t.type(rows.f.plan.getRows(), 16);
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(t.b, t.loc,
                                     DenseElementsAttr::get(type, static_cast<float>(value)));
  };
  Value others = constant(ofOthers);
  if (!hasPadding) {
    Value isPadding =
        ScoreWalk::equal(t, column, t.constantI(static_cast<int64_t>(*rows.padding), column));
    others = t.select(isPadding, constant(0), others);
  }
  return t.select(ScoreWalk::equal(t, column, rows.ids), constant(ofId), others);
}

/// Sums the products of the probabilities and the negative logarithms of softmax. A class without a
/// probability does not count, even if its logit is minus infinity.
Value TargetDistribution::loss(Value logarithm) {
  if (smoothing == 0)
    return t.sub(logarithm, rows.walk.element(rows.ids));
  return rows.walk.reduced(ReduceKind::Add, 0, [&](Value lanes, Value c) {
    Value probability = at(c), zero = t.constant(0, probability);
    Value product = t.mul(probability, t.sub(logarithm, rows.walk.load(c)));
    Value counts = t.less(zero, probability);
    return t.add(lanes, rows.walk.inside(c, t.select(counts, product, zero), zero));
  });
}

LogicalResult heddle::tileLossGradient(KernelBuilder &f) {
  auto op = yielded(f).getDefiningOp<CrossEntropyGradientOp>();
  if (!op)
    return f.def.emitOpError("expected a cross_entropy.gradient that is yielded");
  LogitRows rows(f, op.getLogits(), op.getIds(), op.getPaddingId());
  TileBuilder &t = f.t;
  TargetDistribution target(rows, op);
  Value maximum = rows.walk.maximum(), sum = rows.walk.sum(maximum);
  Value loss = target.loss(t.add(t.mul(maximum, ln2), t.log(sum)));
  storeValue(f, op.getRows(), rows.lossAndCount(loss), {rows.i, t.index(0)}, rows.left);
  Value divisor = orOne(t, sum);
  rows.walk.overColumns(Value(), [&](Value, Value c) {
    Value softmax = t.div(rows.walk.power(c, maximum), divisor);
    Value gradient = rows.counted(t.sub(softmax, target.at(c)));
    storeValue(f, op.getGradient(), gradient, {rows.i, c}, rows.left);
    return Value();
  });
  return success();
}

//===- Sums of rows ------------------------------------------------------===//

/// Column `which` of a tile of one row.
static Value columnOf(TileBuilder &t, Value row, int64_t which) {
  Value column = t.iota(/*rows=*/false, t.index(0), t.type(1, 16, t.b.getI32Type()));
  Value same = ScoreWalk::equal(t, column, t.constantI(which, column));
  return t.reduce(ReduceKind::Add, t.select(same, row, t.constant(0, row)));
}

/// One grid point sums all rows.
LogicalResult heddle::tileLossMean(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<CrossEntropyMeanOp>();
  if (!op)
    return f.def.emitOpError("expected a cross_entropy.mean that is yielded");
  unsigned in = f.viewOf(op.getRows());
  f.createFunc({Size(1)}, {1});
  Value zero = t.index(0), one = t.index(1);
  RankedTensorType type = t.type(1, 16);
  Value end = f.sizeValue(f.viewType(in).getDim(0).extent);
  Value sums = t.sumOfMany(zero, end, type, [&](Value row) -> Value {
    return LoadOp::create(t.b, t.loc, type, f.view(in), ValueRange{row, zero}, UnitAttr());
  });
  Value loss = columnOf(t, sums, 0), count = columnOf(t, sums, 1);
  kernel::StoreVectorOp::create(t.b, t.loc, t.div(loss, orOne(t, count)), f.view(f.firstResult()),
                                zero, one);
  return success();
}

/// One grid point adds the rows one by one.
LogicalResult heddle::tileLossSum(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<CrossEntropySumOp>();
  if (!op)
    return f.def.emitOpError("expected a cross_entropy.sum that is yielded");
  unsigned in = f.viewOf(op.getRows());
  f.createFunc({Size(1)}, {1});
  Value zero = t.index(0);
  RankedTensorType type = t.type(1, 16);
  Value sums = t.chainOfMany(
      zero, f.sizeValue(f.viewType(in).getDim(0).extent), type, [&](Value row) -> Value {
        return LoadOp::create(t.b, t.loc, type, f.view(in), ValueRange{row, zero}, UnitAttr());
      });
  for (auto [number, value] : llvm::enumerate(yieldedValues(f.def)))
    kernel::StoreVectorOp::create(t.b, t.loc, columnOf(t, sums, value == op.getSum() ? 0 : 1),
                                  f.view(f.firstResult() + number), zero, t.index(1));
  return success();
}

//===- Shifted ids -------------------------------------------------------===//

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
  Value documents = op.getDocuments(), position = documents ? findRow(f, documents, i).position : i;
  Value before = t.max(t.sub(i, one), t.index(0));
  Value id = kernel::ReadOp::create(t.b, t.loc, f.view(in), ValueRange{b, before});
  Value start = t.constantI(static_cast<int64_t>(op.getStart()), id);
  Value tile =
      t.broadcast(t.select(t.less(position, one), start, id), t.type(1, 1, t.b.getI32Type()));
  kernel::StoreVectorOp::create(t.b, t.loc, tile, f.slice(f.view(f.firstResult()), {b}), i, one);
  return success();
}
