//===- TileAttentionGradient.cpp - Bodies of attention's gradients --------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of the gradients of attention. Both compute the weights of a tile again from the maximum
// and sum of each query, and the gradient of its scores:
//
//   p  = 2^(n - maximum) * 2^(t - n) / sum
//   dS = p * (dO V^T - delta)
//
// The gradient of the queries sums dS K over chunks of keys. The gradients of keys and values are
// the same computation with the roles of queries and keys exchanged: rows are keys, and the sums of
// dS^T Q and p^T dO are over the heads that share the keys and over chunks of queries. Heads and
// chunks ascend.

#include "TileDropout.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::ReduceKind;

/// Loads a number of each row of the tile, as a column, or of each of its columns, as a row.
static Value loadNumbers(TileBuilder &t, Value vector, Value first, int64_t count, bool asRows) {
  RankedTensorType type = asRows ? t.type(count, 1) : t.type(1, count);
  return kernel::LoadOp::create(t.b, t.loc, type, vector, ValueRange{first},
                                asRows ? t.b.getUnitAttr() : UnitAttr());
}

/// 1 / sum, or 1 if the sum is 0 because no key of the query is allowed; all weights are then 0.
static Value inverseOf(TileBuilder &t, Value sum) {
  Value one = t.constant(1, sum);
  Value none =
      arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, sum, t.constant(0, sum));
  return t.div(one, t.select(none, one, sum));
}

static Value zeros(TileBuilder &t, int64_t rows, int64_t columns) {
  return arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(t.type(rows, columns), 0.0f));
}

namespace {
/// Numbers of queries: a column if rows are queries, a row if rows are keys.
struct QueryNumbers {
  Value maximum, inverse, delta;
};

/// The weights of a tile after dropout, and the gradient of its scaled products.
struct TileGradient {
  Value weight, score;
};

/// State and steps that the gradients of queries and keys share.
template <typename Op>
class GradientTiler {
public:
  GradientTiler(KernelBuilder &f, Op op)
      : f(f), t(f.t), op(op), rows(f.plan.getRows()), chunk(f.plan.getColumns()[0]),
        keyColumns(storedColumns(op.getKey())), valueColumns(storedColumns(op.getValue())),
        scores(f, op.getQuery(), op.getKey(), op.getMask(), op.getScale().convertToDouble(),
               op.getRules(), op.rowsAreKeys() ? ScoreRows::Keys : ScoreRows::Queries) {}

protected:
  int64_t storedColumns(Value operand) { return padded(f.featuresOf(operand)); }
  Value matrix(Value operand, Value head) {
    return f.slice(f.view(f.viewOf(operand)), {scores.batch, head});
  }

  /// Creates the kernel with one point for each tile of rows of each of `heads`, and enters the
  /// first row of the tile.
  void createFunc(kernel::Size heads, kernel::Size extent) {
    MaskDocumentsOp documents = scores.packed();
    kernel::ViewType queries = f.viewType(scores.queryView);
    kernel::Size tiles = documents ? f.slots(op.documentStarts()) : extent;
    f.createFunc({queries.getDim(0).extent, heads, tiles}, {1, 1, rows});
    Value b = f.func.getGridIndex(0);
    i = f.func.getGridIndex(2);
    sequence = scores.batchElement(b);
    if (documents)
      std::tie(sequence, i) = scores.document(b, i, rows);
  }

  void enter(Value head) {
    scores.enter(sequence, head);
    if (op.getDropoutKey())
      dropout.emplace(f, op, scores);
  }

  /// Gradient of a tile. `left` and `panels` are the operands of the product of dO and V.
  TileGradient gradientOf(const KeyChunk &columns, const QueryNumbers &queries, Value left,
                          Value panels) {
    RankedTensorType type = t.type(rows, chunk);
    Value score = scores.tile(i, columns, type);
    Value p = t.mul(scores.power(score, t.round(score), queries.maximum), queries.inverse);
    Value gradient = scores.product(left, panels, i, columns, type), weight = p;
    if (dropout) {
      Value factors = dropout->ofWeights(scores, i, columns, type);
      gradient = t.mul(gradient, factors);
      weight = t.mul(p, factors);
    }
    gradient = scores.timesSlope(t.mul(p, t.sub(gradient, queries.delta)), i, columns);
    // Values of hidden keys may be no numbers.
    Value zero = t.constant(0, p);
    Value hidden = arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::OEQ, p, zero);
    return {weight, t.select(hidden, zero, gradient)};
  }

  /// Stores a tile as a result of heads.
  void store(unsigned result, Value tile, Value head) {
    Value first = scores.rowsAreKeys() ? sequence.firstKey : sequence.firstQuery;
    const unsigned view = f.firstResult() + result;
    tile = t.narrow(tile, f.viewType(view).getElementType());
    kernel::StoreOp::create(t.b, t.loc, tile, f.view(view),
                            ValueRange{scores.batch, head, first ? t.add(i, first) : i, t.index(0)},
                            t.sub(scores.rowCount(), i));
  }

  KernelBuilder &f;
  TileBuilder &t;
  Op op;
  const int64_t rows, chunk;
  const int64_t keyColumns, valueColumns; ///< stored columns of keys and of values
  Scores scores;
  std::optional<WeightDropout> dropout;
  Sequence sequence;
  Value i; ///< first row of the tile, in its sequence
};

class QueryGradientTiler : GradientTiler<AttentionQueryGradientOp> {
public:
  using GradientTiler::GradientTiler;

  void run() {
    kernel::ViewType queries = f.viewType(scores.queryView);
    createFunc(queries.getDim(1).extent, queries.getDim(2).extent);
    Value h = f.func.getGridIndex(1);
    enter(h);
    Value gradient = matrix(op.getGradient(), h), values = matrix(op.getValue(), scores.keyHead);
    Value row = sequence.firstQuery ? t.add(i, sequence.firstQuery) : i;
    QueryNumbers numbers = numbersAt(row, gradient);
    Value keys = matrix(op.getRows().front(), scores.keyHead);
    Scores::Range range = scores.range(i, rows, chunk);
    Value none = zeros(t, rows, keyColumns);
    auto sum = scores.fold(range, i, rows, chunk, none,
                           [&](const KeyChunk &columns, ValueRange before) -> SmallVector<Value> {
                             Value score = gradientOf(columns, numbers, gradient, values).score;
                             Value next = scores.overRows(score, op.getRows().front(), keys,
                                                          columns, keyColumns);
                             return {t.add(before.front(), next)};
                           });
    Value result = t.mul(sum.front(), op.getScale().convertToDouble());
    for (auto [index, yielded] : llvm::enumerate(yieldedValues(f.def)))
      if (yielded == op.getDelta())
        kernel::StoreVectorOp::create(t.b, t.loc, numbers.delta,
                                      f.slice(f.view(f.firstResult() + index), {scores.batch, h}),
                                      row, t.sub(scores.rowCount(), i));
      else
        store(index, result, h);
  }

private:
  QueryNumbers numbersAt(Value row, Value gradient) {
    auto load = [&](Value operand) {
      return loadNumbers(t, matrix(operand, scores.head), row, rows, /*asRows=*/true);
    };
    return {load(op.getMaximum()), inverseOf(t, load(op.getSum())), deltaAt(row, gradient)};
  }

  /// Sum of dO * O for each row. The padding of rows does not count.
  Value deltaAt(Value row, Value gradient) {
    RankedTensorType type = t.type(rows, valueColumns);
    auto load = [&](Value from) -> Value {
      return kernel::LoadOp::create(t.b, t.loc, type, from, ValueRange{row, t.index(0)},
                                    UnitAttr());
    };
    Value products = t.mul(load(gradient), load(matrix(op.getOutput(), scores.head)));
    const int64_t size = f.featuresOf(op.getOutput());
    if (size != valueColumns) {
      Value column = t.iota(/*rows=*/false, t.index(0), t.type(1, valueColumns, t.b.getI32Type()));
      Value counts = t.broadcast(t.less(column, t.constantI(size, column)),
                                 t.type(rows, valueColumns, t.b.getI1Type()));
      products = t.select(counts, products, t.constant(0, products));
    }
    return t.reduce(ReduceKind::Add, products);
  }
};

class KeyGradientTiler : GradientTiler<AttentionKeyGradientOp> {
public:
  using GradientTiler::GradientTiler;

  void run() {
    kernel::ViewType keys = f.viewType(scores.keyView);
    createFunc(keys.getDim(1).extent, keys.getDim(2).extent);
    Value g = f.func.getGridIndex(1);
    SmallVector<Value> sums = overHeads(g);
    for (auto [index, yielded] : llvm::enumerate(yieldedValues(f.def)))
      if (yielded == op.getKeyGradient())
        store(index, t.mul(sums[0], op.getScale().convertToDouble()), g);
      else
        store(index, sums[1], g);
  }

private:
  /// Sums of dS^T Q and p^T dO over the heads that share keys g.
  SmallVector<Value> overHeads(Value g) {
    if (scores.group == 1) {
      SmallVector<Value> none{zeros(t, rows, keyColumns), zeros(t, rows, valueColumns)};
      return overQueries(g, none);
    }
    Value count = t.index(scores.group), first = t.mul(g, count);
    SmallVector<Value> none{zeros(t, rows, keyColumns), zeros(t, rows, valueColumns)};
    auto loop = scf::ForOp::create(t.b, t.loc, first, t.add(first, count), t.index(1), none);
    {
      OpBuilder::InsertionGuard guard(t.b);
      t.b.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(t.b, t.loc,
                           overQueries(loop.getInductionVar(), loop.getRegionIterArgs()));
    }
    return SmallVector<Value>(loop.getResults());
  }

  /// Adds the products with the queries of a head.
  SmallVector<Value> overQueries(Value head, ValueRange initial) {
    enter(head);
    Value values = matrix(op.getValue(), scores.keyHead), panels = matrix(op.getGradient(), head);
    Value queries = op.getRows()[0], gradients = op.getRows()[1];
    Value queryRows = matrix(queries, head), gradientRows = matrix(gradients, head);
    return scores.fold(
        scores.range(i, rows, chunk), i, rows, chunk, initial,
        [&](const KeyChunk &columns, ValueRange before) -> SmallVector<Value> {
          auto [weight, score] = gradientOf(columns, numbersOf(columns, head), values, panels);
          return {t.add(before[0], scores.overRows(score, queries, queryRows, columns, keyColumns)),
                  t.add(before[1],
                        scores.overRows(weight, gradients, gradientRows, columns, valueColumns))};
        });
  }

  /// A packed document may begin anywhere, and its numbers are not aligned to vectors.
  QueryNumbers numbersOf(const KeyChunk &columns, Value head) {
    auto load = [&](Value operand) -> Value {
      Value vector = matrix(operand, head);
      if (!sequence.firstQuery)
        return loadNumbers(t, vector, columns.first, chunk, /*asRows=*/false);
      Value place = t.iota(/*rows=*/false, t.add(columns.first, sequence.firstQuery),
                           t.type(1, chunk, t.b.getI32Type()));
      return kernel::LookupOp::create(t.b, t.loc, t.type(1, chunk), vector, place);
    };
    return {load(op.getMaximum()), inverseOf(t, load(op.getSum())), load(op.getDelta())};
  }
};
} // namespace

template <typename Tiler, typename Op>
static LogicalResult tileGradient(KernelBuilder &frame) {
  auto ops = frame.def.getBody().front().getOps<Op>();
  if (ops.empty())
    return frame.def.emitOpError("expected an ") << Op::getOperationName();
  Tiler(frame, *ops.begin()).run();
  expandFunctions(frame.func);
  hoistScalars(frame.func);
  return success();
}

LogicalResult heddle::tileQueryGradient(KernelBuilder &frame) {
  return tileGradient<QueryGradientTiler, AttentionQueryGradientOp>(frame);
}

LogicalResult heddle::tileKeyGradient(KernelBuilder &frame) {
  return tileGradient<KeyGradientTiler, AttentionKeyGradientOp>(frame);
}
