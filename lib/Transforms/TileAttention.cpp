//===- TileAttention.cpp - Body of attention ------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of attention. A workgroup computes several rows of one head. Keys are processed in chunks,
// each with its own softmax; chunks are merged in ascending order by exact powers of two
// (docs/semantics.md). Masks bound the loop over chunks, and chunks and column tiles that they hide
// completely are skipped.

#include "AttentionScores.h"
#include "TileDropout.h"
#include "Tilers.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/WithoutMatrices.h"
#include "heddle/Planning/Limits.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::ReduceKind;
using kernel::Root;

/// Describes queries [B, H, 1, D], and results [B, H, 1, D] or merged [B, 1, H * D], as [B, K, H /
/// K, D] with K heads of keys. The memory is the same.
static void groupHeads(KernelBuilder &f, AttentionOp op, int64_t sharing) {
  const int64_t keyHeads = op.getKey().getType().getDimSize(1);
  auto regroup = [&](unsigned view, int64_t columns) {
    f.setDims(view, {f.viewType(view).getDim(0), keyHeads, sharing, columns});
  };
  const int64_t columns = op.getValue().getType().getShape().back();
  regroup(f.viewOf(op.getQuery()), op.getQuery().getType().getShape().back());
  for (auto [i, yielded] : llvm::enumerate(yieldedValues(f.def)))
    regroup(f.firstResult() + i, yielded == op.getOutput() ? columns : padded(columns));
}

namespace {
/// Writes the body of one attention.
class AttentionTiler {
public:
  AttentionTiler(KernelBuilder &f, AttentionOp op)
      : f(f), t(f.t), op(op), sharing(f.plan.getHeads()), chunk(f.plan.getColumns()[0]),
        scores(f, op.getQuery(), op.getKey(), op.getMask(), op.getScale().convertToDouble(),
               op.getRules(), sharing > 0 ? ScoreRows::OneQuery : ScoreRows::Queries) {}

  void run() {
    int64_t rows = f.plan.getRows();
    kernel::ViewType q = f.viewType(scores.queryView);
    valueColumns = padded(f.viewType(f.viewOf(op.getValue())).getDims().back().extent.value);
    MaskDocumentsOp documents = scores.packed();
    kernel::Size tiles = documents ? f.slots(documents.getQueries()) : q.getDim(2).extent;
    f.createFunc({q.getDim(0).extent, q.getDim(1).extent, tiles}, {1, 1, rows});
    Value b = f.func.getGridIndex(0), h = f.func.getGridIndex(1), i = f.func.getGridIndex(2);
    Sequence sequence = scores.batchElement(b);
    if (documents)
      std::tie(sequence, i) = scores.document(b, i, rows);
    scores.enter(sequence, h);
    if (op.getDropoutKey())
      dropout.emplace(f, op, scores);
    value = f.slice(f.view(f.viewOf(op.getValue())), {b, scores.keyHead});
    if (op.getValueScales())
      scales = f.slice(f.view(f.viewOf(op.getValueScales())), {b, scores.keyHead});
    SoftmaxState row = chunks(i, rows);
    if (op.getSinks())
      row = withSink(row, h);
    store(row, i);
  }

private:
  /// State of the online softmax of each row, as tiles: sum of weighted values, base-2 maximum, sum
  /// of weights.
  struct SoftmaxState {
    Value weighted, maximum, total;

    SmallVector<Value> values() const { return {weighted, maximum, total}; }
    static SoftmaxState of(ValueRange list) { return {list[0], list[1], list[2]}; }
  };

  /// Folds the chunks of the keys that the rows need.
  SoftmaxState chunks(Value i, int64_t rows) {
    Scores::Range range = scores.range(i, rows, chunk);
    auto tile = [&](int64_t columns, double value) -> Value {
      RankedTensorType type = t.type(rows, columns);
      return arith::ConstantOp::create(t.b, t.loc,
                                       DenseElementsAttr::get(type, static_cast<float>(value)));
    };
    SoftmaxState none{tile(valueColumns, 0), tile(1, lowestMaximum), tile(1, 0)};
    return SoftmaxState::of(scores.fold(
        range, i, rows, chunk, none.values(), [&](const KeyChunk &keys, ValueRange before) {
          return merged(SoftmaxState::of(before), alone(i, keys, rows)).values();
        }));
  }

  /// Computes the softmax of one chunk.
  SoftmaxState alone(Value i, const KeyChunk &keys, int64_t rows) {
    Value score = scores.tile(i, keys, t.type(rows, chunk));
    Value rounded = t.round(score);
    // Rounding commutes with the maximum, so it is applied once per row instead of once per
    // element.
    Value top = t.round(t.reduce(ReduceKind::Max, score));
    top = t.max(top, t.constant(lowestMaximum, top));
    Value p = scores.power(score, rounded, top);
    Value sum = t.reduce(ReduceKind::Add, p);
    if (dropout)
      p = t.mul(p, dropout->ofWeights(scores, i, keys, t.type(rows, chunk)));
    return {scores.overRows(p, op.getValue(), value, keys, valueColumns, scales), top, sum};
  }

  /// Merges a chunk into the state: a left fold, by separate products and sums instead of fused
  /// ones.
  SoftmaxState merged(const SoftmaxState &before, const SoftmaxState &chunk) {
    Value both = t.max(before.maximum, chunk.maximum);
    Value x = t.exp2Integer(t.sub(before.maximum, both)),
          y = t.exp2Integer(t.sub(chunk.maximum, both));
    return {t.add(t.mul(before.weighted, x), t.mul(chunk.weighted, y)), both,
            t.add(t.mul(before.total, x), t.mul(chunk.total, y))};
  }

  /// Adds the sink as the last key, with weight exp(sink) and no value.
  SoftmaxState withSink(const SoftmaxState &row, Value h) {
    Value natural =
        kernel::ReadOp::create(t.b, t.loc, f.view(f.viewOf(op.getSinks())), ValueRange{h});
    Value sink = t.mul(t.broadcast(natural, cast<RankedTensorType>(row.maximum.getType())), log2e);
    Value hidden = t.constant(maskedScore, sink);
    sink = t.select(t.less(sink, hidden), hidden, sink);
    Value rounded = t.round(sink), top = t.max(rounded, t.constant(lowestMaximum, rounded));
    Value p = scores.power(sink, rounded, top), both = t.max(row.maximum, top);
    Value x = t.exp2Integer(t.sub(row.maximum, both)), y = t.exp2Integer(t.sub(top, both));
    return {t.mul(row.weighted, x), both, t.add(t.mul(row.total, x), t.mul(p, y))};
  }

  /// Natural log-sum-exp, or minus infinity for a row without an allowed key.
  Value logSumExp(const SoftmaxState &row, Value none) {
    Value total = t.select(none, t.constant(1, row.total), row.total);
    Value lse = t.mul(t.add(t.log2(total), row.maximum), ln2);
    Value isNan = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::UNO, total, total);
    lse = t.select(isNan, total, lse);
    auto bits = cast<RankedTensorType>(lse.getType()).clone(t.b.getI32Type());
    Value pattern = arith::BitcastOp::create(t.b, t.loc, bits, lse);
    pattern = t.select(none, t.constantI(0xff800000, pattern), pattern);
    return arith::BitcastOp::create(t.b, t.loc, lse.getType(), pattern);
  }

  /// Normalizes and stores the output, and the statistics that the definition yields.
  void store(const SoftmaxState &row, Value i) {
    Value none = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, row.total,
                                       t.constant(0, row.total));
    // Rows without an allowed key result in 0 / 1.
    Value out = t.div(row.weighted, t.select(none, t.constant(1, row.total), row.total));
    Value left = t.sub(scores.rowCount(), i);
    Value first = scores.sequence.firstQuery ? t.add(i, scores.sequence.firstQuery) : i;
    for (auto [index, result] : llvm::enumerate(yieldedValues(f.def))) {
      unsigned view = f.firstResult() + index;
      auto stats = result.getDefiningOp<AttentionStatisticsOp>();
      if (stats || result == op.getLse()) {
        Value vector = f.slice(f.view(view), {scores.batch, scores.head});
        Value number = !stats                         ? logSumExp(row, none)
                       : result == stats.getMaximum() ? row.maximum
                                                      : row.total;
        kernel::StoreVectorOp::create(t.b, t.loc, number, vector, first, left);
        continue;
      }
      const kernel::ViewType type = f.viewType(view);
      bool merges = result.getDefiningOp<MergeHeadsOp>() && !sharing;
      const int64_t heads = op.getQuery().getType().getDimSize(1),
                    columns = merges && heads > 1 ? type.getDims().back().extent.value / heads
                                                  : valueColumns;
      SmallVector<Value> indices{scores.batch, scores.head, first, t.index(0)};
      if (merges)
        indices = {scores.batch, first, t.mul(scores.head, t.index(columns))};
      Value stored = t.narrow(out, type.getElementType());
      if (columns % 16 == 0)
        kernel::StoreOp::create(t.b, t.loc, stored, f.view(view), indices, left);
      else
        kernel::StoreColumnsOp::create(t.b, t.loc, stored, f.view(view), indices, left, columns);
    }
  }

  KernelBuilder &f;
  TileBuilder &t;
  AttentionOp op;
  const int64_t sharing; ///< heads of one query that are the rows of a tile; 0: rows are queries
  const int64_t chunk;   ///< keys of a step
  Scores scores;
  std::optional<WeightDropout> dropout;
  Value value, scales; ///< value and scales of this head; scales: null unless values are codes
  int64_t valueColumns = 0;
};
} // namespace

LogicalResult heddle::tileAttention(KernelBuilder &frame) {
  AttentionOp op;
  frame.def.walk([&](AttentionOp found) { op = found; });
  if (!op)
    return frame.def.emitOpError("expected an attention");
  if (const int64_t sharing = frame.plan.getHeads())
    groupHeads(frame, op, sharing);
  AttentionTiler(frame, op).run();
  expandFunctions(frame.func);
  hoistScalars(frame.func);
  return success();
}

namespace {
struct AttentionModel : Tiler<AttentionModel, AttentionOp, Root::Attention, tileAttention> {
  LogicalResult checkSupported(Operation *operation) const {
    auto op = cast<AttentionOp>(operation);
    return checkFeatures(op, op.getValue(), "heads of values", mostValueFeatures);
  }
};
} // namespace

void heddle::attachAttentionTilers(MLIRContext *context) {
  AttentionOp::attachInterface<AttentionModel>(*context);
}
