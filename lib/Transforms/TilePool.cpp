//===- TilePool.cpp - Body of a pooling -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Body of pooling. A grid point sums the rows of one sequence or document in order, for a strip of
// columns, so the bits of a result do not depend on other sequences. Several poolings are adjacent
// without padding: a strip may cross the end of one, so its columns are gathered.

#include "Tiling.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

namespace {
/// Rows [first, end) of the matrix `rows`.
struct RowRange {
  Value rows, first, end;
};
} // namespace

/// Rows of sequence or document n that count.
static RowRange rowsOf(KernelBuilder &f, PoolOp pool, Value n) {
  TileBuilder &t = f.t;
  Value zero = t.index(0), input = f.view(f.viewOf(pool.getInput()));
  auto read = [&](Value vector, Value at) {
    return t.toIndex(kernel::ReadOp::create(t.b, t.loc, f.view(f.viewOf(vector)), ValueRange{at}));
  };
  if (Value starts = pool.getDocuments())
    return {f.slice(input, {zero}), read(starts, n), read(starts, t.add(n, t.index(1)))};
  Value matrix = f.slice(input, {n});
  if (Value lengths = pool.getLengths())
    return {matrix, zero, read(lengths, n)};
  return {matrix, zero, f.sizeValue(f.viewType(f.viewOf(pool.getInput())).getDim(1).extent)};
}

static Value constantTile(TileBuilder &t, RankedTensorType type, float value) {
  return arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, value));
}

/// Pools the rows of the range to one row; an empty range results in zeros.
static Value pooled(TileBuilder &t, Pooling kind, RowRange range, RankedTensorType type,
                    llvm::function_ref<Value(Value)> load) {
  Value one = t.index(1);
  if (kind == Pooling::Cls)
    range.end = t.min(range.end, t.add(range.first, one));
  if (kind == Pooling::Last)
    range.first = t.max(range.first, t.sub(range.end, one));
  Value rows = t.max(t.sub(range.end, range.first), t.index(0));
  auto number = [&](Value count) -> Value { // at least 1, because the sum of an empty range is also
                                            // divided
    return arith::SIToFPOp::create(t.b, t.loc, t.b.getF32Type(), t.i32(t.max(count, one)));
  };
  auto over = [&](Value sum, Value count) { return t.div(sum, t.broadcast(number(count), type)); };
  switch (kind) {
  case Pooling::Cls:
  case Pooling::Last:
    return t.sum(range.first, range.end, type, load);
  case Pooling::Mean:
    return over(t.sumOfMany(range.first, range.end, type, load), rows);
  case Pooling::Sum:
    return t.sumOfMany(range.first, range.end, type, load);
  case Pooling::MeanSqrt: {
    Value sum = t.sumOfMany(range.first, range.end, type, load);
    return t.div(sum, math::SqrtOp::create(t.b, t.loc, t.broadcast(number(rows), type)));
  }
  case Pooling::Max: {
    Value lowest = constantTile(t, type, -std::numeric_limits<float>::infinity());
    Value most = t.foldMany(
        range.first, range.end, lowest, [&](Value x, Value y) { return t.max(x, y); }, load);
    Value any = t.broadcast(t.less(t.index(0), rows), type.clone(t.b.getI1Type()));
    return t.select(any, most, constantTile(t, type, 0));
  }
  case Pooling::WeightedMean: {
    auto weighted = [&](Value row) {
      Value weight = t.i32(t.add(t.sub(row, range.first), one));
      Value factor = arith::SIToFPOp::create(t.b, t.loc, t.b.getF32Type(), weight);
      return t.mul(load(row), t.broadcast(factor, type));
    };
    Value weights = t.div(t.mul(rows, t.add(rows, one)), t.index(2));
    return over(t.sumOfMany(range.first, range.end, type, weighted), weights);
  }
  }
  llvm_unreachable("all poolings are handled");
}

/// Poolings of the columns starting at `j`: column c is feature c mod E of kind c / E.
static Value sideBySide(TileBuilder &t, ArrayRef<Pooling> kinds, int64_t features,
                        const RowRange &range, RankedTensorType type, Value j) {
  Value column = t.iota(/*rows=*/false, j, type.clone(t.b.getI32Type()));
  Value result = constantTile(t, type, 0);
  for (auto [k, kind] : llvm::enumerate(kinds)) {
    auto first = static_cast<int64_t>(k) * features;
    Value feature = t.sub(column, t.constantI(first, column));
    auto load = [&](Value row) -> Value { // 0 outside the features
      Value rows = t.broadcast(t.i32(row), type.clone(t.b.getI32Type()));
      return kernel::LookupOp::create(t.b, t.loc, type, range.rows, ValueRange{rows, feature});
    };
    Value inside = arith::AndIOp::create(t.b, t.loc, t.less(t.constantI(-1, feature), feature),
                                         t.less(feature, t.constantI(features, feature)));
    result = t.select(inside, pooled(t, kind, range, type, load), result);
  }
  return result;
}

LogicalResult heddle::tilePool(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto pool = yielded(f).getDefiningOp<PoolOp>();
  if (!pool)
    return f.def.emitOpError("expected a pool that is yielded");
  kernel::ViewType out = f.viewType(f.firstResult());
  int64_t stored = padded(out.getDims().back().extent.value);
  int64_t columns = f.plan.getColumns()[0];
  f.createFunc({out.getDim(0).extent, stored}, {1, columns});
  Value n = f.func.getGridIndex(0), j = f.func.getGridIndex(1), one = t.index(1);
  RowRange range = rowsOf(f, pool, n);
  RankedTensorType type = t.type(1, columns);
  SmallVector<Pooling> kinds;
  for (auto kind : pool.getKinds().getAsRange<PoolingAttr>())
    kinds.push_back(kind.getValue());
  if (kinds.size() > 1) {
    int64_t features = pool.getInput().getType().getShape().back();
    storeResults(f, sideBySide(t, kinds, features, range, type, j), {n, j}, one);
    return success();
  }
  auto load = [&](Value row) -> Value {
    return kernel::LoadOp::create(t.b, t.loc, type, range.rows, ValueRange{row, j}, UnitAttr());
  };
  storeResults(f, pooled(t, kinds.front(), range, type, load), {n, j}, one);
  return success();
}
