//===- BodyMasks.cpp - Masks and table lookups of a body -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits masks and table lookups. A mask branches once for each fragment: full
// tiles pass unchanged, others evaluate the predicate. A lookup never reads
// outside its table, whatever the index.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle::kernel;
using arith::CmpIPredicate;

Value BodyEmitter::visitBit(Value bits, int64_t visitTile, Value column) {
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  };
  Value set = scalar(bits);
  if (column) {
    Value tile = arith::DivUIOp::create(builder, loc, column, constant(visitTile));
    if (tile.getType() != i32)
      tile = arith::TruncIOp::create(builder, loc, i32, tile);
    set = arith::ShRUIOp::create(builder, loc, set, tile);
  }
  set = arith::AndIOp::create(builder, loc, set, number(1));
  return compare(CmpIPredicate::ne, set, number(0));
}

LogicalResult BodyEmitter::emitPredicate(MaskOp op, SmallVectorImpl<Value> &truth) {
  Block &block = op.getPredicate().front();
  if (failed(emitBlock(block)))
    return failure();
  FailureOr<Fragment> fragment = use(cast<MaskYieldOp>(block.getTerminator()).getTruth());
  if (failed(fragment))
    return failure();
  llvm::append_range(truth, fragment->registers);
  return success();
}

LogicalResult BodyEmitter::emitChoice(MaskOp op, const Fragment &tile, Value other,
                                      SmallVectorImpl<Value> &chosen) {
  SmallVector<Value> truth;
  if (failed(emitPredicate(op, truth)))
    return failure();
  for (auto [condition, kept] : llvm::zip(truth, tile.registers))
    chosen.push_back(select(condition, kept, other));
  return success();
}

/// Emits `full ? tile : visited ? select(predicate, tile, value) : value` with branches.
LogicalResult BodyEmitter::emitMask(MaskOp op) {
  FailureOr<Fragment> tile = use(op.getTile());
  if (failed(tile))
    return failure();
  int64_t columns = columnsOf(op.getType()), visit = op.getVisitTile();
  SmallVector<Type> types(ValueRange(tile->registers).getTypes());
  TypedAttr value = op.getValueAttr();
  if (auto vector = dyn_cast<VectorType>(types.front()))
    value = DenseElementsAttr::get(vector, Attribute(value));
  Value other = arith::ConstantOp::create(builder, loc, value);

  auto choose = [&]() -> LogicalResult {
    auto saved = fragments;
    SmallVector<Value> chosen;
    if (failed(emitChoice(op, *tile, other, chosen)))
      return failure();
    scf::YieldOp::create(builder, loc, chosen);
    fragments = std::move(saved);
    return success();
  };
  Value column = visit == columns ? Value() : columnBase(columns);
  auto whole = scf::IfOp::create(builder, loc, types, visitBit(op.getFull(), visit, column),
                                 /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(whole.thenBlock());
  scf::YieldOp::create(builder, loc, tile->registers);
  builder.setInsertionPointToStart(whole.elseBlock());
  if (visit == columns) { // one column tile: this branch runs only if it is visited
    if (failed(choose()))
      return failure();
  } else {
    auto some = scf::IfOp::create(builder, loc, types, visitBit(op.getVisited(), visit, column),
                                  /*withElseRegion=*/true);
    scf::YieldOp::create(builder, loc, some.getResults());
    builder.setInsertionPointToStart(some.elseBlock());
    scf::YieldOp::create(builder, loc, SmallVector<Value>(types.size(), other));
    builder.setInsertionPointToStart(some.thenBlock());
    if (failed(choose()))
      return failure();
  }
  Fragment result = *tile;
  result.registers.assign(whole.result_begin(), whole.result_end());
  fragments[op.getResult()] = std::move(result);
  return success();
}

//===- Tables ------------------------------------------------------------===//

Value BodyEmitter::loadElements(const BoundView &view, Value indices, Value valid) {
  auto type = dyn_cast<VectorType>(indices.getType());
  Type element = view.type.getElementType();
  Value none =
      arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)));
  auto load = [&](Value index, Value inside) -> Value {
    if (index.getType() != indexType)
      index = arith::ExtSIOp::create(builder, loc, indexType, index);
    index = select(inside, index, constant(0));
    Value found = loadScalars(view, {add(view.offset, index), 0}, 1).front();
    return select(inside, found, none);
  };
  if (!type)
    return load(indices, valid);
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < width; ++lane)
    lanes.push_back(load(vector::ExtractOp::create(builder, loc, indices, lane),
                         vector::ExtractOp::create(builder, loc, valid, lane)));
  return vector::FromElementsOp::create(builder, loc, VectorType::get({width}, element), lanes);
}

LogicalResult BodyEmitter::emitLookup(LookupOp op) {
  const BoundView from = view(op.getView());
  auto asRegister = [&](Value number, Type type) {
    Type i32 = builder.getI32Type();
    if (number.getType() != i32)
      number = arith::TruncIOp::create(builder, loc, i32, number);
    return splat(number, type);
  };
  SmallVector<Fragment> indices;
  for (Value index : op.getIndices()) {
    FailureOr<Fragment> fragment = use(index);
    if (failed(fragment))
      return failure();
    indices.push_back(std::move(*fragment));
  }
  auto iota = op.getIndices().back().getDefiningOp<IotaOp>();
  // Consecutive column indices load as one vector.
  bool neighbors = indices.size() == 1 && iota && !iota.getOfRows();
  Fragment result = indices.front();
  for (auto [i, value] : llvm::enumerate(result.registers)) {
    Type type = value.getType();
    Value valid, place;
    for (auto [dim, fragment] : llvm::enumerate(indices)) {
      Value index = fragment.registers[i];
      // The unsigned comparison rejects negative indices too.
      Value inside = compare(CmpIPredicate::ult, index, asRegister(from.extents[dim], type));
      valid = valid ? arith::AndIOp::create(builder, loc, valid, inside) : inside;
      if (dim + 1 < indices.size())
        index = arith::MulIOp::create(builder, loc, index, asRegister(stride(from, dim), type));
      place = place ? arith::AddIOp::create(builder, loc, place, index) : index;
    }
    value = neighbors ? loadNeighbors(from, place, valid) : loadElements(from, place, valid);
  }
  fragments[op.getResult()] = std::move(result);
  return success();
}

std::pair<Value, Value> BodyEmitter::rangeOfElements(const BoundView &view, Value from, Value to) {
  Value first = loadScalars(view, {add(view.offset, from), 0}, 1).front();
  auto loop = scf::ForOp::create(builder, loc, from, to, constant(1), ValueRange{first, first});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value next = loadScalars(view, {add(view.offset, loop.getInductionVar()), 0}, 1).front();
  Value low = minimum(loop.getRegionIterArg(0), next),
        high = maximum(loop.getRegionIterArg(1), next);
  scf::YieldOp::create(builder, loc, ValueRange{low, high});
  return {loop.getResult(0), loop.getResult(1)};
}

LogicalResult BodyEmitter::emitTableRange(TableRangeOp op) {
  const BoundView table = view(op.getView());
  Value from = scalar(op.getFrom()), to = scalar(op.getTo()), zero = constant(0);
  Value begin = maximum(from, zero), end = minimum(to, table.extents.front());
  Type i32 = builder.getI32Type();
  Value none = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  auto branch = scf::IfOp::create(builder, loc, TypeRange{i32, i32},
                                  compare(CmpIPredicate::slt, begin, end), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, ValueRange{none, none});
    builder.setInsertionPointToStart(branch.thenBlock());
    auto [low, high] = rangeOfElements(table, begin, end);
    // Elements outside the table count as 0.
    Value outside = arith::OrIOp::create(builder, loc, compare(CmpIPredicate::slt, from, begin),
                                         compare(CmpIPredicate::sgt, to, end));
    low = select(outside, minimum(low, none), low);
    high = select(outside, maximum(high, none), high);
    scf::YieldOp::create(builder, loc, ValueRange{low, high});
  }
  scalars[op.getMin()] = branch.getResult(0);
  scalars[op.getMax()] = branch.getResult(1);
  return success();
}
