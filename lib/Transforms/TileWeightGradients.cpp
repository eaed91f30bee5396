//===- TileWeightGradients.cpp - Bodies of weights' gradients -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of the ops that add to the gradient of a weight. Each element of a gradient is one chain of
// additions, in the order of the rows of the batch, and it continues from the value in memory. So a
// batch has the same gradient if it is cut into several calls.
//
// The gradient of a matrix in panels is read and written as its transposed matrix in strips: rows
// of a tile are features of the input, and lanes are features of the result. Both operands of the
// product are then read as they are stored.

#include "Tilers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::LoadOp;
using kernel::Root;
using kernel::Size;

/// The op of a definition that adds to a gradient.
template <typename Op>
static Op accumulation(KernelBuilder &f) {
  return *f.def.getBody().front().getOps<Op>().begin();
}

static Value loadTile(TileBuilder &t, RankedTensorType type, Value view, ValueRange indices) {
  return LoadOp::create(t.b, t.loc, type, view, indices, UnitAttr());
}

/// Emits a loop over [0, end) that carries a tile.
static Value accumulate(TileBuilder &t, Value end, int64_t step, Value initial,
                        function_ref<Value(Value at, Value sum)> next) {
  auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), end, t.index(step), ValueRange{initial});
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value sum = next(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(t.b, t.loc, sum);
  return loop.getResult(0);
}

/// Returns a tile with zeros in the columns from `size` on. The tile begins at column `j`.
static Value withoutPadding(TileBuilder &t, Value tile, Value j, int64_t size) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (size % 16 == 0)
    return tile;
  Value column = t.iota(/*rows=*/false, j, t.type(1, type.getDimSize(1), t.b.getI32Type()));
  Value inside =
      t.broadcast(t.less(column, t.constantI(size, column)), type.clone(t.b.getI1Type()));
  return t.select(inside, tile, t.constant(0, tile));
}

//===- Matrices ----------------------------------------------------------===//

/// Blocks of rows keep the operands of a tile in a cache; without blocks, one product has all rows.
static LogicalResult tileGradientProduct(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = accumulation<GradientProductOp>(f);
  const unsigned result = f.firstResult();
  f.transpose(result);
  kernel::ViewType matrix = f.viewType(result);
  const Size rows = matrix.getDim(0).extent, columns = matrix.getDim(1).extent;
  const int64_t block = f.plan.getBlock();
  f.createFunc({rows, padded(columns.value)}, {f.plan.getRows(), f.plan.getColumns()[0]});
  Value i = f.func.getGridIndex(0), j = f.func.getGridIndex(1);
  RankedTensorType type = t.type(f.plan.getRows(), f.plan.getColumns()[0]);
  Value gradient = f.view(f.viewOf(op.getGradient())), input = f.view(f.viewOf(op.getInput()));
  Value count = f.sizeValue(f.viewType(f.viewOf(op.getInput())).getDim(0).extent);
  Value before = loadTile(t, type, f.view(result), {i, j});
  auto product = [&](Value m, Value rowsOfBlock, Value so) -> Value {
    return kernel::ContractCommonOp::create(t.b, t.loc, type, input, m, i, gradient, m, j,
                                            rowsOfBlock, so);
  };
  Value sum = block ? accumulate(t, count, block, before,
                                 [&](Value m, Value so) {
                                   return product(m, t.min(t.sub(count, m), t.index(block)), so);
                                 })
                    : product(t.index(0), count, before);
  kernel::StoreOp::create(t.b, t.loc, withoutPadding(t, sum, j, columns.value), f.view(result),
                          ValueRange{i, j}, t.sub(f.sizeValue(rows), i));
  return success();
}

/// The matrix of a weight, transposed from panels to panels. Padding is 0 on both sides.
static LogicalResult tileTranspose(KernelBuilder &f) {
  TileBuilder &t = f.t;
  f.transpose(0);
  kernel::ViewType matrix = f.viewType(0);
  f.createFunc({padded(matrix.getDim(0).extent.value), padded(matrix.getDim(1).extent.value)},
               {f.plan.getRows(), f.plan.getColumns()[0]});
  SmallVector<Value> at{f.func.getGridIndex(0), f.func.getGridIndex(1)};
  Value tile = loadTile(t, t.type(f.plan.getRows(), f.plan.getColumns()[0]), f.view(0), at);
  kernel::StoreOp::create(t.b, t.loc, tile, f.view(f.firstResult()), at, Value());
  return success();
}

//===- Vectors -----------------------------------------------------------===//

/// Sums of columns. With heads, each head has a row of the gradient.
static LogicalResult tileGradientColumns(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = accumulation<GradientColumnsOp>(f);
  const unsigned result = f.firstResult();
  kernel::ViewType rows = f.viewType(f.viewOf(op.getGradient()));
  const int64_t columns = f.plan.getColumns()[0], size = rows.getDims().back().extent.value;
  const bool ofHeads = op.getOfHeads();
  if (!ofHeads)
    f.setDims(result, {1, size});
  f.createFunc({ofHeads ? rows.getDim(1).extent : Size(1), padded(size)}, {1, columns});
  Value h = f.func.getGridIndex(0), j = f.func.getGridIndex(1);
  RankedTensorType type = t.type(1, columns);
  Value source = f.view(f.viewOf(op.getGradient()));
  auto addRows = [&](Value matrix, Value so) {
    return accumulate(
        t, f.sizeValue(rows.getDim(rows.getRank() - 2).extent), 1, so,
        [&](Value m, Value sum) { return t.add(sum, loadTile(t, type, matrix, {m, j})); });
  };
  Value before = loadTile(t, type, f.view(result), {h, j});
  Value sum =
      ofHeads ? accumulate(t, f.sizeValue(rows.getDim(0).extent), 1, before,
                           [&](Value b, Value so) { return addRows(f.slice(source, {b, h}), so); })
              : addRows(source, before);
  kernel::StoreOp::create(t.b, t.loc, withoutPadding(t, sum, j, size), f.view(result),
                          ValueRange{h, j}, t.index(1));
  return success();
}

//===- Tables ------------------------------------------------------------===//

/// A grid point adds all rows, for some columns.
static LogicalResult tileGradientRows(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = accumulation<GradientRowsOp>(f);
  Value gradientOp = op.getGradient(), idsOp = op.getIds();
  kernel::ViewType rows = f.viewType(f.viewOf(gradientOp));
  const int64_t columns = f.plan.getColumns()[0], size = rows.getDims().back().extent.value;
  const double scale = op.getScale().convertToDouble();
  f.createFunc({1, padded(size)}, {1, columns});
  Value j = f.func.getGridIndex(1), table = f.view(f.firstResult());
  Value gradient = f.view(f.viewOf(gradientOp)), ids = f.view(f.viewOf(idsOp));
  RankedTensorType type = t.type(1, columns);
  Value end = f.sizeValue(rows.getDim(0).extent);
  auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), end, t.index(1));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value m = loop.getInductionVar();
  Value id = LoadOp::create(t.b, t.loc, t.type(1, 1, t.b.getI32Type()), ids, ValueRange{m},
                            t.b.getUnitAttr());
  Value row = t.toIndex(kernel::ReadOp::create(t.b, t.loc, ids, ValueRange{m}));
  Value added = loadTile(t, type, gradient, {m, j});
  if (scale != 1)
    added = t.mul(added, scale);
  Value before = kernel::GatherOp::create(t.b, t.loc, type, table, id, j);
  Value sum = withoutPadding(t, t.add(before, added), j, size);
  if (std::optional<uint64_t> padding = op.getPaddingId()) {
    Value isPadding = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, id,
                                            t.constantI(static_cast<int64_t>(*padding), id));
    sum = t.select(t.broadcast(isPadding, type.clone(t.b.getI1Type())), before, sum);
  }
  kernel::StoreOp::create(t.b, t.loc, sum, table, ValueRange{row, j}, t.index(1));
  return success();
}

/// Adds the rows of each document to the first rows of the table. A grid point adds all rows, for
/// some columns, as the rows of a position are in several documents.
static LogicalResult tilePackedPositions(KernelBuilder &f, GradientPositionsOp op) {
  TileBuilder &t = f.t;
  kernel::ViewType rows = f.viewType(f.viewOf(op.getGradient()));
  const int64_t columns = f.plan.getColumns()[0], size = rows.getDims().back().extent.value;
  const double scale = op.getScale().convertToDouble();
  f.createFunc({1, padded(size)}, {1, columns});
  Value j = f.func.getGridIndex(1), table = f.view(f.firstResult()), one = t.index(1);
  Value gradient = f.slice(f.view(f.viewOf(op.getGradient())), {t.index(0)});
  const unsigned starts = f.viewOf(op.getDocuments());
  RankedTensorType type = t.type(1, columns);
  auto documents = scf::ForOp::create(
      t.b, t.loc, t.index(0), t.sub(f.sizeValue(f.viewType(starts).getDim(0).extent), one), one);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(documents.getBody());
  Value document = documents.getInductionVar(), first = f.entryOf(starts, document),
        end = f.entryOf(starts, t.add(document, one));
  auto loop = scf::ForOp::create(t.b, t.loc, first, end, one);
  t.b.setInsertionPointToStart(loop.getBody());
  Value m = loop.getInductionVar(), position = t.sub(m, first);
  Value added = loadTile(t, type, gradient, {m, j});
  if (scale != 1)
    added = t.mul(added, scale);
  Value sum = t.add(loadTile(t, type, table, {position, j}), added);
  kernel::StoreOp::create(t.b, t.loc, withoutPadding(t, sum, j, size), table,
                          ValueRange{position, j}, one);
  return success();
}

/// A tile has the same positions of all sequences.
static LogicalResult tileGradientPositions(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = accumulation<GradientPositionsOp>(f);
  if (op.getDocuments())
    return tilePackedPositions(f, op);
  Value operand = op.getGradient();
  kernel::ViewType rows = f.viewType(f.viewOf(operand));
  const int64_t tile = f.plan.getRows(), columns = f.plan.getColumns()[0],
                size = rows.getDims().back().extent.value;
  const double scale = op.getScale().convertToDouble();
  f.createFunc({rows.getDim(1).extent, padded(size)}, {tile, columns});
  Value i = f.func.getGridIndex(0), j = f.func.getGridIndex(1), table = f.view(f.firstResult());
  Value gradient = f.view(f.viewOf(operand));
  RankedTensorType type = t.type(tile, columns);
  Value before = loadTile(t, type, table, {i, j});
  Value sum = accumulate(t, f.sizeValue(rows.getDim(0).extent), 1, before, [&](Value b, Value so) {
    Value added = loadTile(t, type, f.slice(gradient, {b}), {i, j});
    return t.add(so, scale == 1 ? added : t.mul(added, scale));
  });
  kernel::StoreOp::create(t.b, t.loc, withoutPadding(t, sum, j, size), table, ValueRange{i, j},
                          t.sub(f.sizeValue(rows.getDim(1).extent), i));
  return success();
}

//===- Models ------------------------------------------------------------===//

void heddle::attachWeightGradientTilers(MLIRContext *c) {
  attach<GradientProductOp, Root::GradientProduct, tileGradientProduct>(c);
  attach<TransposeOp, Root::Transpose, tileTranspose>(c);
  attach<GradientColumnsOp, Root::GradientColumns, tileGradientColumns>(c);
  attach<GradientRowsOp, Root::GradientRows, tileGradientRows>(c);
  attach<GradientPositionsOp, Root::GradientRows, tileGradientPositions>(c);
}
