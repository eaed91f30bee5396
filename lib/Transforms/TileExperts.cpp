//===- TileExperts.cpp - Bodies of mixtures of experts --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies of the ops that order rows by their experts, copy them and sum them. The products between
// are linears with groups (TileLinear.cpp).
//
// A row has one element for each of its experts. The elements of all rows are a vector: first the
// first experts of all rows, then the second ones, and so on. Counts are sums of f32, which are
// exact below 2^24.

#include "Tilers.h"

#include <array>

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;
using kernel::LoadOp;
using kernel::StoreVectorOp;

/// Elements that are compared at once.
static constexpr int64_t lanes = 16;

static Value i32Of(TileBuilder &t, Value counts) {
  auto type = cast<RankedTensorType>(counts.getType());
  return arith::FPToSIOp::create(t.b, t.loc, type.clone(t.b.getI32Type()), counts);
}

/// Counts the elements of the vector for which `isCounted(elements, their indices)` holds, in rows
/// of the type `rows` x 16. Both tiles are repeated along the rows.
static Value countOf(KernelBuilder &f, Value experts, int64_t rows,
                     llvm::function_ref<Value(Value elements, Value indices)> isCounted) {
  TileBuilder &t = f.t;
  const unsigned view = f.viewOf(experts);
  Value size = f.sizeValue(f.viewType(view).getDim(0).extent), step = t.index(lanes);
  Value blocks = t.div(t.add(size, t.index(lanes - 1)), step);
  RankedTensorType numbers = t.type(rows, lanes, t.b.getI32Type()), type = t.type(rows, lanes);
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, value));
  };
  Value counts = t.sumOfMany(t.index(0), blocks, type, [&](Value block) -> Value {
    Value at = t.mul(block, step);
    Value elements = LoadOp::create(t.b, t.loc, t.type(1, lanes, t.b.getI32Type()), f.view(view),
                                    ValueRange{at}, UnitAttr());
    Value indices = t.iota(/*rows=*/false, at, numbers);
    Value isInside = t.less(indices, t.broadcast(t.i32(size), numbers));
    Value holds = isCounted(t.broadcast(elements, numbers), indices);
    holds = arith::AndIOp::create(t.b, t.loc, isInside, holds);
    return t.select(holds, constant(1), constant(0));
  });
  return i32Of(t, t.reduce(kernel::ReduceKind::Add, counts));
}

static Value equal(TileBuilder &t, Value x, Value y) {
  return arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, x, y);
}

LogicalResult heddle::tileExpertCounts(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<ExpertCountsOp>();
  if (!op)
    return f.def.emitOpError("expected experts.counts that are yielded");
  f.createFunc({f.viewType(f.firstResult()).getDim(0).extent}, {1});
  Value expert = f.func.getGridIndex(0);
  Value count = countOf(f, op.getExperts(), 1, [&](Value elements, Value) {
    return equal(t, elements,
                 t.broadcast(t.i32(expert), cast<RankedTensorType>(elements.getType())));
  });
  StoreVectorOp::create(t.b, t.loc, count, f.view(f.firstResult()), expert, t.index(1));
  return success();
}

/// One grid point for each expert, which sums the counts of all experts.
LogicalResult heddle::tileExpertStarts(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<ExpertStartsOp>();
  if (!op)
    return f.def.emitOpError("expected experts.starts that are yielded");
  const unsigned counts = f.viewOf(op.getCounts());
  const kernel::Size experts = f.viewType(counts).getDim(0).extent;
  f.createFunc({experts}, {1});
  Value expert = f.func.getGridIndex(0), zero = t.index(0), one = t.index(1),
        all = f.sizeValue(experts);
  // Rows of the experts before this one, and the number of experts that have rows; both of all experts.
  auto loop = scf::ForOp::create(t.b, t.loc, zero, all, one, ValueRange{zero, zero, zero, zero});
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    Value count = f.entryOf(counts, loop.getInductionVar());
    Value hasRows = t.select(t.less(zero, count), one, zero);
    Value isBefore = t.less(loop.getInductionVar(), expert);
    SmallVector<Value> sums;
    const std::array<Value, 4> terms{count, hasRows, count, hasRows};
    for (auto [n, term] : llvm::enumerate(terms))
      sums.push_back(
          t.add(loop.getRegionIterArg(n), n < 2 ? t.select(isBefore, term, zero) : term));
    scf::YieldOp::create(t.b, t.loc, sums);
  }
  Value rowsBefore = loop.getResult(0), usedBefore = loop.getResult(1), rows = loop.getResult(2),
        used = loop.getResult(3);
  Value hasRows = t.less(zero, f.entryOf(counts, expert));
  Value place = t.select(hasRows, usedBefore, t.add(used, t.sub(expert, usedBefore)));
  auto store = [&](unsigned result, Value number, Value at, Value count) {
    Value tile = t.broadcast(t.i32(number), t.type(1, 1, t.b.getI32Type()));
    StoreVectorOp::create(t.b, t.loc, tile, f.view(f.firstResult() + result), at, count);
  };
  for (auto [n, value] : llvm::enumerate(yieldedValues(f.def))) {
    if (value == op.getNumbers()) {
      store(n, expert, place, one);
      continue;
    }
    store(n, t.select(hasRows, rowsBefore, rows), place, one);
    store(n, rows, all, t.select(t.less(expert, one), one, zero)); // the end of the last expert
  }
  return success();
}

/// The index of the element of row `n` for expert `j` of the row.
static Value elementOf(TileBuilder &t, Value j, Value n, Value rows) {
  return t.add(t.mul(j, rows), n);
}

LogicalResult heddle::tileExpertPlaces(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<ExpertPlacesOp>();
  if (!op)
    return f.def.emitOpError("expected experts.places that are yielded");
  kernel::ViewType out = f.viewType(f.firstResult());
  const int64_t rows = f.plan.getRows();
  f.createFunc({out.getDim(0).extent, out.getDim(1).extent}, {1, rows});
  Value j = f.func.getGridIndex(0), n = f.func.getGridIndex(1);
  Value count = f.sizeValue(out.getDim(1).extent), element = elementOf(t, j, n, count);
  RankedTensorType type = t.type(rows, lanes, t.b.getI32Type()),
                   column = t.type(rows, 1, t.b.getI32Type());
  Value mine = LoadOp::create(t.b, t.loc, column, f.view(f.viewOf(op.getExperts())),
                              ValueRange{element}, t.b.getUnitAttr());
  Value index = t.broadcast(t.iota(/*rows=*/true, element, column), type);
  mine = t.broadcast(mine, type);
  Value places = countOf(f, op.getExperts(), rows, [&](Value elements, Value indices) -> Value {
    Value isEarlier =
        arith::AndIOp::create(t.b, t.loc, equal(t, elements, mine), t.less(indices, index));
    return arith::OrIOp::create(t.b, t.loc, t.less(elements, mine), isEarlier);
  });
  StoreVectorOp::create(t.b, t.loc, places, f.slice(f.view(f.firstResult()), j), n,
                        t.sub(count, n));
  return success();
}

/// One grid point copies a row.
LogicalResult heddle::tileExpertRows(KernelBuilder &f) {
  TileBuilder &t = f.t;
  auto op = yielded(f).getDefiningOp<ExpertRowsOp>();
  if (!op)
    return f.def.emitOpError("expected experts.rows that are yielded");
  kernel::ViewType in = f.viewType(f.viewOf(op.getInput()));
  const int64_t experts = op.getPlaces().getType().getDimSize(0), columns = f.plan.getColumns()[0],
                stored = padded(in.getDims().back().extent.value);
  f.createFunc({kernel::Size(experts), in.getDim(0).extent, kernel::Size(stored)}, {1, 1, columns});
  Value j = f.func.getGridIndex(0), n = f.func.getGridIndex(1), c = f.func.getGridIndex(2);
  Value element = elementOf(t, j, n, f.sizeValue(in.getDim(0).extent));
  Value place = f.entryOf(f.viewOf(op.getPlaces()), element);
  Value row = LoadOp::create(t.b, t.loc, t.type(1, columns), f.view(f.viewOf(op.getInput())),
                             ValueRange{n, c}, UnitAttr());
  storeResults(f, row, {place, c}, t.index(1));
  return success();
}

//===- Models ------------------------------------------------------------===//

namespace {
struct ExpertSumModel : RowModel<ExpertSumModel, ExpertSumOp> {
  FailureOr<Value> tileOf(Operation *operation, ValueTiles &tiles) const {
    auto op = cast<ExpertSumOp>(operation);
    TileBuilder &t = tiles.t;
    KernelBuilder &f = tiles.f;
    RankedTensorType type = t.type(tiles.rows, tiles.columns);
    Value input = f.view(f.viewOf(op.getInput())), places = f.view(f.viewOf(op.getPlaces())),
          weights = f.view(f.viewOf(op.getWeights()));
    Value rows = f.sizeValue(f.viewTypeOf(op.getWeights()).getDim(1).extent);
    Value sum = arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, 0.0f));
    for (int64_t expert = 0; expert < op.getPlaces().getType().getDimSize(0); ++expert) {
      Value j = t.index(expert);
      Value place = LoadOp::create(t.b, t.loc, t.type(tiles.rows, 1, t.b.getI32Type()), places,
                                   ValueRange{elementOf(t, j, tiles.i, rows)}, t.b.getUnitAttr());
      Value weight = LoadOp::create(t.b, t.loc, t.type(tiles.rows, 1), f.slice(weights, j),
                                    ValueRange{tiles.i}, t.b.getUnitAttr());
      Value term = kernel::GatherOp::create(t.b, t.loc, type, input, place, tiles.j);
      sum = t.fma(t.broadcast(weight, type), term, sum);
    }
    return sum;
  }
  StringRef getNameWord(Operation *) const { return "sum"; }
};
} // namespace

void heddle::attachExpertTilers(MLIRContext *context) {
  using kernel::Root;
  attach<RouteOp, Root::Route, tileRoute>(context);
  attach<ExpertCountsOp, Root::ExpertCounts, tileExpertCounts>(context);
  attach<ExpertStartsOp, Root::ExpertStarts, tileExpertStarts>(context);
  attach<ExpertPlacesOp, Root::ExpertPlaces, tileExpertPlaces>(context);
  attach<ExpertRowsOp, Root::ExpertRows, tileExpertRows>(context);
  ExpertSumOp::attachInterface<ExpertSumModel>(*context);
}
