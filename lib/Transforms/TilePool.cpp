//===- TilePool.cpp - Body of a pooling -----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A grid point sums the rows of one sequence or document in order, for a strip
// of columns, so that the bits of a result do not depend on other sequences.

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

LogicalResult heddle::tilePool(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto pool = yielded(f).getDefiningOp<PoolOp>();
  if (!pool)
    return f.def.emitOpError("expected a pool that is yielded");
  kernel::ViewType out = f.viewType(f.firstResult());
  int64_t stored = padded(out.getDims().back().extent.value);
  int64_t columns = firstDividing(f.sizes.poolColumns, stored);
  f.createFunc({out.getDim(0).extent, stored}, {1, columns});
  Value n = f.func.getGridIndex(0), j = f.func.getGridIndex(1), one = t.index(1);
  RowRange range = rowsOf(f, pool, n);
  if (pool.getKind() == Pooling::Cls)
    range.end = t.min(range.end, t.add(range.first, one));
  if (pool.getKind() == Pooling::Last)
    range.first = t.max(range.first, t.sub(range.end, one));

  RankedTensorType type = t.type(1, columns);
  auto load = [&](Value row) -> Value {
    return kernel::LoadOp::create(t.b, t.loc, type, range.rows, ValueRange{row, j}, UnitAttr());
  };
  bool many = pool.getKind() == Pooling::Mean;
  Value result = many ? t.sumOfMany(range.first, range.end, type, load)
                      : t.sum(range.first, range.end, type, load);
  if (many) {
    Value count = t.i32(t.max(t.sub(range.end, range.first), one)); // of no row: 0 / 1
    Value number = arith::SIToFPOp::create(t.b, t.loc, t.b.getF32Type(), count);
    result = t.div(result, t.broadcast(number, type));
  }
  storeResults(f, result, {n, j}, one);
  return success();
}
