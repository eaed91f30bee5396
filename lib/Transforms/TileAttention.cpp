//===- TileAttention.cpp - The bodies of attention ------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A workgroup computes some rows of one head. Keys come in chunks; each chunk is
// a softmax of its own, chunks are merged in ascending order by exact powers of
// two (section 6 of the language). Masks bound the loop over chunks and are
// applied to the elements only where a tile may be partial.
//
// Returned weights are a second kernel that repeats the scores and uses each
// row's maximum and sum, which attention stores for it.
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::ReduceKind;
using kernel::Size;

/// Scores of hidden pairs, and where a row's maximum starts: below every score that
/// counts, finite because some devices do not keep infinities.
constexpr double hiddenScore = -0x1p+127, lowestMaximum = -0x1p+120;

namespace {

/// The place in a kernel for which a mask emits code.
class TileSite : public MaskSite {
public:
  TileSite(KernelFrame &f, Value b, Value h, Value i, Value j, RankedTensorType tile, Value queries, Value keys)
      : f(f), t(f.t), b(b), h(h), i(i), j(j), tile(tile), queries(queries), keys(keys) {}

  Location loc() const override { return t.loc; }
  Value rowIndices(OpBuilder &) override { return t.iota(true, i, integers()); }
  Value columnIndices(OpBuilder &) override { return t.iota(false, j, integers()); }
  Value splat(OpBuilder &, Value scalar) override { return t.broadcast(scalar, integers()); }
  Value keyCount(OpBuilder &) override { return t.i32(keys); }
  Value defaultOffset(OpBuilder &) override { return t.sub(t.i32(keys), t.i32(queries)); }
  Value scalar(OpBuilder &, Value operand) override { return f.scalar(operand); }

  Value perBatch(OpBuilder &, Value table) override {
    return kernel::ReadOp::create(t.b, t.loc, f.view(f.viewOf(table)), ValueRange{b});
  }

  /// Dimensions of size 1 are repeated.
  Value dense(OpBuilder &, Value table) override {
    Value view = f.view(f.viewOf(table));
    auto type = cast<kernel::ViewType>(view.getType());
    auto at = [&](int64_t dim, Value index) { return type.getDim(dim).extent == Size(1) ? t.index(0) : index; };
    auto size = [&](int64_t dim, int64_t full) { return type.getDim(dim).extent == Size(1) ? 1 : full; };
    Value matrix = kernel::SliceOp::create(t.b, t.loc, view, ValueRange{at(0, b), at(1, h)});
    RankedTensorType part = t.type(size(2, tile.getDimSize(0)), size(3, tile.getDimSize(1)), t.b.getI32Type());
    Value flags = kernel::LoadOp::create(t.b, t.loc, part, matrix, ValueRange{at(2, i), at(3, j)}, UnitAttr());
    Value truth = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ne, flags, t.constantI(0, flags));
    return t.broadcast(truth, t.type(tile.getDimSize(0), tile.getDimSize(1), t.b.getI1Type()));
  }

private:
  RankedTensorType integers() { return t.type(tile.getDimSize(0), tile.getDimSize(1), t.b.getI32Type()); }

  KernelFrame &f;
  TileBuilder &t;
  Value b, h, i, j;
  RankedTensorType tile;
  Value queries, keys;
};

/// What attention and its weights have in common: one head's scores, masked, in base 2.
class Scores {
public:
  Scores(KernelFrame &f, Value query, Value key, Value mask, double scale) : f(f), t(f.t), mask(mask), scale(scale) {
    queryView = f.viewOf(query);
    keyView = f.viewOf(key);
    kernel::ViewType q = f.viewType(queryView), k = f.viewType(keyView);
    queries = q.getDim(2).extent;
    keys = k.getDim(2).extent;
    group = q.getDim(1).extent.value / k.getDim(1).extent.value;
  }

  /// Enters a head: views of its queries and keys.
  void enter(Value batch, Value head) {
    b = batch;
    h = head;
    keyHead = group == 1 ? head : t.div(head, t.index(group));
    q = f.slice(f.view(queryView), {b, h});
    k = f.slice(f.view(keyView), {b, keyHead});
    queryCount = f.sizeValue(queries);
    keyCount = f.sizeValue(keys);
  }

  /// First key of the first chunk, and the end of the keys, that rows [i, i + rows) need.
  std::pair<Value, Value> range(Value i, int64_t rows, int64_t chunk) {
    if (!mask)
      return {t.index(0), keyCount};
    TileSite site(f, b, h, i, i, t.type(rows, chunk), queryCount, keyCount);
    Value end = t.min(t.add(i, t.index(rows)), queryCount);
    KeyRange range = maskOf(mask).keyRange(t.b, site, t.i32(i), t.i32(end));
    Value zero = t.index(0), size = t.index(chunk);
    Value low = t.max(t.toIndex(range.low), zero);
    Value high = t.max(t.min(t.toIndex(range.high), keyCount), zero);
    return {t.mul(t.div(low, size), size), high};
  }

  /// Base-2 scores of rows from i and keys from j below `end`; hidden pairs get the hidden score.
  Value tile(Value i, Value j, Value end, RankedTensorType type) {
    Value size = t.index(type.getDimSize(1)), left = t.min(size, t.sub(end, j));
    Value raw = kernel::ContractOp::create(t.b, t.loc, type, q, i, k, j, Value(), left, UnitAttr());
    // A float product in f32, as the language's reference order has it.
    Value t0 = t.mul(raw, static_cast<float>(scale) * 1.4426950408889634);
    Value partial = t.less(left, size);
    TileSite site(f, b, h, i, j, type, queryCount, keyCount);
    if (mask) {
      Value rowEnd = t.min(t.add(i, t.index(type.getDimSize(0))), queryCount);
      TileCorners corners{t.i32(i), t.i32(rowEnd), t.i32(j), t.i32(t.add(j, left))};
      Value must = maskOf(mask).bound(t.b, site, corners).must;
      Value one = arith::ConstantIntOp::create(t.b, t.loc, 1, 1);
      partial = arith::OrIOp::create(t.b, t.loc, partial, arith::XOrIOp::create(t.b, t.loc, must, one));
    }
    auto choice = scf::IfOp::create(t.b, t.loc, TypeRange(type), partial, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(choice.thenBlock());
    Value allowed = t.less(site.columnIndices(t.b), site.splat(t.b, t.i32(end)));
    if (mask)
      allowed = arith::AndIOp::create(t.b, t.loc, allowed, maskOf(mask).emitPredicate(t.b, site));
    scf::YieldOp::create(t.b, t.loc, t.select(allowed, t0, t.constant(hiddenScore, t0)));
    t.b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(t.b, t.loc, t0);
    t.b.setInsertionPointAfter(choice);
    return hideNegativeInfinity(choice.getResult(0));
  }

  /// 2^(score - maximum), 0 where that is below 2^-125.
  Value power(Value score, Value rounded, Value maximum) {
    return t.mul(t.exp2Fraction(t.sub(score, rounded)), t.exp2Integer(t.sub(rounded, maximum)));
  }

  /// Minus infinity counts as hidden, whatever it came from; a NaN stays one.
  Value hideNegativeInfinity(Value score) {
    Value hidden = t.constant(hiddenScore, score);
    return t.select(t.less(score, hidden), hidden, score);
  }

  KernelFrame &f;
  TileBuilder &t;
  Value mask;
  double scale;
  unsigned queryView, keyView;
  Size queries, keys;
  int64_t group;
  Value b, h, keyHead, q, k, queryCount, keyCount;
};

} // namespace

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
class AttentionTiler {
public:
  AttentionTiler(KernelFrame &f, AttentionOp op)
      : f(f), t(f.t), op(op), scores(f, op.getQuery(), op.getKey(), op.getMask(), op.getScale().convertToDouble()) {}

  void run() {
    int64_t rows = f.sizes.attentionRows;
    kernel::ViewType q = f.viewType(scores.queryView);
    valueColumns = paddedTo16(f.viewType(f.viewOf(op.getValue())).getDims().back().extent.value);
    f.createFunc({q.getDim(0).extent, q.getDim(1).extent, q.getDim(2).extent}, {1, 1, rows}, schedule());
    Value b = f.func.getGridIndex(0), h = f.func.getGridIndex(1), i = f.func.getGridIndex(2);
    scores.enter(b, h);
    value = f.slice(f.view(f.viewOf(op.getValue())), {b, scores.keyHead});
    scf::ForOp loop = chunks(i, rows);
    finish(loop.getResults(), b, h, i);
  }

private:
  kernel::ScheduleAttr schedule() {
    if (f.sizes.onGpu) {
      int64_t across = valueColumns % 32 ? 4 : 8;
      return kernel::ScheduleAttr::get(t.b.getContext(), kernel::LoopOrder::RowsInside, 0, 0, {4, across},
                                       {f.sizes.attentionRows / 4, f.sizes.chunk / across});
    }
    return kernel::ScheduleAttr::get(t.b.getContext(), kernel::LoopOrder::RowsInside, 0, 0, {}, {});
  }

  scf::ForOp chunks(Value i, int64_t rows) {
    auto [low, high] = scores.range(i, rows, f.sizes.chunk);
    auto tile = [&](int64_t columns, double value) -> Value {
      RankedTensorType type = t.type(rows, columns);
      return arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, static_cast<float>(value)));
    };
    SmallVector<Value> init{tile(valueColumns, 0), tile(1, lowestMaximum), tile(1, 0)};
    auto loop = scf::ForOp::create(t.b, t.loc, low, high, t.index(f.sizes.chunk), init);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = chunk(i, loop.getInductionVar(), high, loop.getRegionIterArgs(), rows);
    scf::YieldOp::create(t.b, t.loc, next);
    return loop;
  }

  /// One chunk on its own, then merged into what the chunks before it left.
  SmallVector<Value> chunk(Value i, Value c, Value high, ValueRange carried, int64_t rows) {
    Value score = scores.tile(i, c, high, t.type(rows, f.sizes.chunk));
    Value rounded = t.round(score);
    Value top = t.reduce(ReduceKind::Max, rounded);
    top = t.max(top, t.constant(lowestMaximum, top));
    Value p = scores.power(score, rounded, top);
    Value sum = t.reduce(ReduceKind::Add, p);
    Value left = t.min(t.index(f.sizes.chunk), t.sub(high, c));
    Value weighted = kernel::ContractOp::create(t.b, t.loc, t.type(rows, valueColumns), p, Value(), value, c, left, Value(),
                                                t.b.getUnitAttr());
    Value acc = carried[0], maximum = carried[1], total = carried[2];
    Value both = t.max(maximum, top);
    Value x = t.exp2Integer(t.sub(maximum, both)), y = t.exp2Integer(t.sub(top, both));
    Value merged = t.add(t.mul(acc, x), t.mul(weighted, y));
    return {merged, both, t.add(t.mul(total, x), t.mul(sum, y))};
  }

  void finish(ValueRange results, Value b, Value h, Value i) {
    Value acc = results[0], maximum = results[1], total = results[2];
    Value zero = t.constant(0, total);
    Value none = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, total, zero);
    // Rows without an allowed key: 0 / 1.
    Value out = t.div(acc, t.select(none, t.constant(1, total), total));
    Value left = t.sub(scores.queryCount, i);
    Operation *yield = f.def.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
      unsigned view = f.firstResult() + index;
      if (auto stats = value.getDefiningOp<AttentionStatisticsOp>()) {
        Value target = f.slice(f.view(view), {b, h});
        kernel::StoreOp::create(t.b, t.loc, value == stats.getMaximum() ? maximum : total, target, ValueRange{i}, left, t.b.getUnitAttr());
        continue;
      }
      bool merged = value.getDefiningOp<MergeHeadsOp>();
      Value zeroIndex = t.index(0);
      SmallVector<Value> indices = merged ? SmallVector<Value>{b, i, t.mul(h, t.index(valueColumns))} : SmallVector<Value>{b, h, i, zeroIndex};
      kernel::StoreOp::create(t.b, t.loc, out, f.view(view), indices, left);
    }
  }

  KernelFrame &f;
  TileBuilder &t;
  AttentionOp op;
  Scores scores;
  Value value;
  int64_t valueColumns = 0;
};
} // namespace

LogicalResult heddle::tileAttention(KernelFrame &frame) {
  AttentionOp op;
  frame.def.walk([&](AttentionOp found) { op = found; });
  if (!op)
    return frame.def.emitOpError("expected an attention");
  AttentionTiler(frame, op).run();
  return success();
}

//===----------------------------------------------------------------------===//
// Returned weights
//===----------------------------------------------------------------------===//

LogicalResult heddle::tileAttentionWeights(KernelFrame &f) {
  TileBuilder &t = f.t;
  AttentionWeightsOp op;
  f.def.walk([&](AttentionWeightsOp found) { op = found; });
  if (!op)
    return f.def.emitOpError("expected an attention.weights");
  Scores scores(f, op.getQuery(), op.getKey(), op.getMask(), op.getScale().convertToDouble());
  // Tiles of 16 columns never reach past a row's padding.
  int64_t rows = f.sizes.weightsRows, columns = 16;
  RankedTensorType type = t.type(rows, columns);
  kernel::ViewType q = f.viewType(scores.queryView);
  bool average = op.getAverage();
  int64_t heads = q.getDim(1).extent.value;
  f.createFunc({q.getDim(0).extent, q.getDim(2).extent, scores.keys}, {1, rows, columns}, f.gpuSchedule(rows, columns));
  Value b = f.func.getGridIndex(0), i = f.func.getGridIndex(1), j = f.func.getGridIndex(2);
  auto weightsOf = [&](Value h) -> Value {
    scores.enter(b, h);
    Value score = scores.tile(i, j, scores.keyCount, type);
    auto statistic = [&](Value operand) -> Value {
      Value vector = f.slice(f.view(f.viewOf(operand)), {b, h});
      return kernel::LoadOp::create(t.b, t.loc, t.type(rows, 1), vector, ValueRange{i}, t.b.getUnitAttr());
    };
    Value total = statistic(op.getSum());
    Value none = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, total, t.constant(0, total));
    Value divisor = t.select(none, t.constant(1, total), total);
    return t.div(scores.power(score, t.round(score), statistic(op.getMaximum())), divisor);
  };
  Value zero = t.index(0), one = t.index(1), count = t.index(heads);
  Value start = arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, 0.0f));
  auto loop = scf::ForOp::create(t.b, t.loc, zero, count, one, average ? ValueRange(start) : ValueRange());
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value h = loop.getInductionVar(), w = weightsOf(h);
  Value left = t.sub(scores.queryCount, i);
  if (average) {
    scf::YieldOp::create(t.b, t.loc, t.add(loop.getRegionIterArg(0), w));
    t.b.setInsertionPointAfter(loop);
    Value end = t.sub(f.sizeValue(scores.queries), i);
    Value mean = t.div(loop.getResult(0), t.constant(static_cast<double>(heads), loop.getResult(0)));
    kernel::StoreOp::create(t.b, t.loc, mean, f.view(f.firstResult()), ValueRange{b, i, j}, end);
  } else {
    kernel::StoreOp::create(t.b, t.loc, w, f.view(f.firstResult()), ValueRange{b, h, i, j}, left);
  }
  return success();
}
