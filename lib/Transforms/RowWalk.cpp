//===- RowWalk.cpp - Loops over the columns of wide rows ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emission of loops over the columns of wide rows.

#include "RowWalk.h"

using namespace mlir;
using namespace heddle;

bool RowWalk::isOneStep() const { return type.getDimSize(1) == padded(size); }

Value RowWalk::load(Value c) {
  return kernel::LoadOp::create(t.b, t.loc, type, rows, ValueRange{i, c}, UnitAttr());
}

Value RowWalk::inside(Value c, Value tile, Value padding) {
  if (size % 16 == 0)
    return tile;
  const int64_t columns = type.getDimSize(1);
  Value column = t.iota(/*rows=*/false, c, t.type(1, columns, t.b.getI32Type()));
  Value inside = t.broadcast(t.less(column, t.constantI(size, column)),
                             t.type(type.getDimSize(0), columns, t.b.getI1Type()));
  return t.select(inside, tile, padding);
}

Value RowWalk::reduced(kernel::ReduceKind kind, double start,
                       llvm::function_ref<Value(Value lanes, Value column)> next) {
  Value first = arith::ConstantOp::create(t.b, t.loc,
                                          DenseElementsAttr::get(type, static_cast<float>(start)));
  scf::ForOp loop = overColumns(first, next);
  return t.reduce(kind, loop.getResult(0));
}

std::pair<Value, Value>
RowWalk::sums(llvm::function_ref<std::pair<Value, Value>(Value column)> next) {
  Value none = arith::ConstantOp::create(t.b, t.loc, DenseElementsAttr::get(type, 0.0f));
  Value zero = t.index(0), end = t.index(padded(size)), step = t.index(16);
  auto loop = scf::ForOp::create(t.b, t.loc, zero, end, step, ValueRange{none, none});
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    auto [x, y] = next(loop.getInductionVar());
    scf::YieldOp::create(
        t.b, t.loc,
        ValueRange{t.add(loop.getRegionIterArg(0), x), t.add(loop.getRegionIterArg(1), y)});
  }
  return {t.reduce(kernel::ReduceKind::Add, loop.getResult(0)),
          t.reduce(kernel::ReduceKind::Add, loop.getResult(1))};
}

scf::ForOp RowWalk::overColumns(Value first, llvm::function_ref<Value(Value, Value)> next) {
  Value zero = t.index(0), end = t.index(padded(size)), step = t.index(16);
  auto loop =
      scf::ForOp::create(t.b, t.loc, zero, end, step, first ? ValueRange(first) : ValueRange());
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value value = next(first ? loop.getRegionIterArg(0) : Value(), loop.getInductionVar());
  if (first)
    scf::YieldOp::create(t.b, t.loc, value);
  return loop;
}
