//===- BodyMemory.cpp - Views, loads and stores of a body -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits addresses of fragments, loads and stores. Offsets count elements. Parts
// of an address that do not depend on the launch stay constant.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

BoundView BodyEmitter::bindView(Value value, ViewType type, int64_t argument,
                                function_ref<Value(const Size &)> size) {
  BoundView bound{type, argument, Value(), {}, {}};
  for (const ViewDim &dim : type.getDims()) {
    bound.extents.push_back(size(dim.extent));
    bound.pitches.push_back(size(dim.pitch));
  }
  views[value] = bound;
  return bound;
}

/// Number of elements that a row occupies in memory. Rows of numbers are padded to a multiple of
/// 16; indices and vectors are dense.
static Value storedColumns(const BoundView &view, function_ref<Value(int64_t)> constant) {
  const Size &pitch = view.type.getDims().back().pitch;
  if (!pitch.isStatic() || view.type.holdsIndices() || view.type.getRank() == 1)
    return view.pitches.back();
  return constant(padded(pitch.value));
}

Value BodyEmitter::stride(const BoundView &view, int64_t dim) {
  int64_t last = view.type.getRank() - 1;
  if (dim == last)
    return constant(1);
  // In panels, neighboring elements of a row are 16 apart, but a row occupies the same number of
  // elements.
  Value result = storedColumns(view, [&](int64_t value) { return constant(value); });
  for (int64_t i = last - 1; i > dim; --i)
    result = mul(result, view.pitches[i]);
  return result;
}

Value BodyEmitter::pointOffset(const BoundView &view, ValueRange indices, int64_t kept) {
  Value offset = view.offset;
  for (int64_t dim = 0; dim < view.type.getRank() - kept; ++dim)
    offset = add(offset, mul(scalar(indices[dim]), stride(view, dim)));
  return offset;
}

LogicalResult BodyEmitter::emitSlice(SliceOp op) {
  const BoundView from = view(op.getView());
  int64_t points = op.getIndices().size();
  BoundView result{op.getType(), from.argument, Value(), {}, {}};
  result.offset = pointOffset(from, op.getIndices(), from.type.getRank() - points);
  result.extents.append(from.extents.begin() + points, from.extents.end());
  result.pitches.append(from.pitches.begin() + points, from.pitches.end());
  views[op.getResult()] = std::move(result);
  return success();
}

//===- Fragments of row-major memory -------------------------------------===//

/// Addresses in a matrix of strips. If `column` is a multiple of 16, the strips before it hold
/// `column` times the number of rows. Otherwise a fragment does not cross the end of a strip, except
/// to the same column of another one.
SmallVector<Address> BodyEmitter::placesInStrips(const BoundView &view, Value offset, Value row,
                                                 Value column, const Fragment &shape,
                                                 int64_t tileColumns) {
  const int64_t strip = view.type.getStrip(), rows = padded(view.type.getDim(0).extent.value);
  Value inside = beginsInStrips() && column
                     ? builder.createOrFold<arith::RemUIOp>(loc, column, constant(strip))
                     : Value();
  Value before = inside ? sub(column, inside) : column;
  Address base = moved(moved(moved({offset, 0}, mul(row, strip)), mul(before, rows)), inside);
  SmallVector<Address> result;
  for (int64_t r = 0; r < shape.rows; ++r)
    for (int64_t j = 0; j < shape.columns(); ++j) {
      const int64_t c = shape.vectors ? vectorColumn(j, tileColumns) : 0;
      result.push_back(moved(base, Value(), r * strip + c / strip * strip * rows + c % strip));
    }
  return result;
}

SmallVector<Address> BodyEmitter::places(const BoundView &view, Value offset, Value row,
                                         Value column, const Fragment &shape, int64_t tileColumns) {
  if (view.type.getStrip())
    return placesInStrips(view, offset, row, column, shape, tileColumns);
  int64_t rank = view.type.getRank();
  Value pitch = rank > 1 ? stride(view, rank - 2) : constant(1);
  std::optional<int64_t> known = constantOf(pitch);
  Address base = moved(moved({offset, 0}, mul(row, pitch)), column);
  SmallVector<Address> result;
  for (int64_t r = 0; r < shape.rows; ++r) {
    Address start =
        known ? moved(base, Value(), r * *known) : moved(base, r ? mul(pitch, r) : Value());
    for (int64_t j = 0; j < shape.columns(); ++j)
      result.push_back(moved(start, Value(), shape.vectors ? vectorColumn(j, tileColumns) : 0));
  }
  return result;
}

Value BodyEmitter::inRing(StoreOpInterface op, Value row) {
  if (!op.getRing())
    return row;
  Value ring = constant(static_cast<int64_t>(*op.getRing()));
  Value beyond = compare(arith::CmpIPredicate::uge, row, ring);
  return select(beyond, sub(row, ring), row);
}

StorePiece BodyEmitter::pieceOf(StoreOpInterface op, Value inTile) {
  inTile = inTile ? inTile : constant(0);
  Value column = add(scalar(op.getIndices().back()), inTile);
  if (auto head = dyn_cast<StoreColumnsOp>(*op)) {
    Value limit = constant(static_cast<int64_t>(head.getColumns()));
    return {Value(), column,
            builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, inTile, limit)};
  }
  const BoundView &to = view(op.getView());
  const int64_t all = op.getViewColumns()->value, size = to.type.getDims().back().extent.value;
  Value head = column, isStored;
  // Columns that are not stored are directed to the padding after the last head's columns.
  if (all % 16 != 0) {
    isStored = compare(arith::CmpIPredicate::ult, column, constant(all));
    column = minimum(column, constant(all));
    head = minimum(column, constant(all - 1));
  }
  head = builder.createOrFold<arith::DivUIOp>(loc, head, constant(size));
  return {mul(head, stride(to, 1)), sub(column, mul(head, size)), isStored};
}

SmallVector<Address> BodyEmitter::storedPlaces(StoreOpInterface op, Value offset, Value row,
                                               Value column, const Fragment &shape) {
  const BoundView &to = view(op.getView());
  const int64_t columns = op.getTile().getType().getDimSize(1);
  if (!op.getRing())
    return places(to, offset, row, column, shape, columns);
  SmallVector<Address> result;
  Fragment oneRow = shape;
  oneRow.rows = 1;
  for (int64_t r = 0; r < shape.rows; ++r)
    result.append(places(to, offset, inRing(op, add(row, constant(r))), column, oneRow, columns));
  return result;
}

SmallVector<Address> BodyEmitter::loadPlaces(LoadOp op) {
  const BoundView &from = view(op.getView());
  RankedTensorType type = op.getType();
  int64_t rank = from.type.getRank(), columns = type.getDimSize(1);
  Value row, column;
  if (op.getAsRows())
    row = add(scalar(op.getIndices().front()), rowBase());
  else
    column = add(scalar(op.getIndices().back()), columns > 1 ? columnBase(columns) : Value());
  if (rank > 1)
    row = add(scalar(op.getIndices()[rank - 2]), type.getDimSize(0) > 1 ? rowBase() : Value());
  Value offset = pointOffset(from, op.getIndices(), std::min<int64_t>(rank, 2));
  return places(from, offset, row, column, shapeOf(type), columns);
}

LogicalResult BodyEmitter::emitLoad(LoadOp op) {
  const BoundView &from = view(op.getView());
  Fragment result = shapeOf(op.getType());
  for (Address place : loadPlaces(op))
    result.registers.push_back(result.vectors ? loadVector(from, place)
                                              : loadScalars(from, place, 1).front());
  fragments[op.getResult()] = std::move(result);
  return success();
}

LogicalResult BodyEmitter::emitRead(ReadOp op) {
  const BoundView &from = view(op.getView());
  Value offset = pointOffset(from, op.getIndices(), 0);
  scalars[op.getResult()] = loadScalars(from, {offset, 0}, 1).front();
  return success();
}

/// Neighboring words of a row are 16 words apart in panels. Each word holds `perWord` elements of
/// the row.
Value BodyEmitter::loadFromPanels(const BoundView &view, Address place) {
  const int64_t inWord = perWord(view);
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < width; lane += inWord)
    lanes.append(inWord, loadWord(view, moved(place, Value(), lane * view.type.getPanel())));
  auto type = VectorType::get({width}, builder.getI32Type());
  return widenedLanes(vector::FromElementsOp::create(builder, loc, type, lanes),
                      view.type.getElementType());
}

std::pair<Value, Value> BodyEmitter::gatherableRows(const BoundView &table) {
  return {constant(0), sub(table.extents.front(), constant(1))};
}

/// Gathers one table row for each row of the tile. Indices outside the table, which occur in rows
/// past the extent, are clamped.
LogicalResult BodyEmitter::emitGather(GatherOp op) {
  const BoundView &from = view(op.getView());
  FailureOr<Fragment> rows = use(op.getRows());
  if (failed(rows))
    return failure();
  const int64_t columns = columnsOf(op.getType()), panel = from.type.getPanel();
  Fragment result = shapeOf(op.getType());
  Fragment oneRow = result;
  oneRow.rows = 1;
  auto [first, last] = gatherableRows(from);
  Value column = add(scalar(op.getColumn()), columnBase(columns));
  for (int64_t r = 0; r < result.rows; ++r) {
    Value index = rows->at(r, 0);
    if (index.getType() != indexType)
      index = arith::ExtSIOp::create(builder, loc, indexType, index);
    index = maximum(minimum(index, last), first);
    if (formatOf(from.type.getElementType()).holdsScales()) {
      for (int64_t j = 0; j < result.vectors; ++j)
        result.registers.push_back(
            loadFromGroups(from, index, add(column, constant(vectorColumn(j, columns)))));
      continue;
    }
    if (!panel) {
      for (Address place : places(from, from.offset, index, column, oneRow, columns))
        result.registers.push_back(loadVector(from, place));
      continue;
    }
    Value inPanel = arith::AndIOp::create(builder, loc, index, constant(panel - 1));
    Address start = moved({from.offset, 0}, mul(sub(index, inPanel), stride(from, 0)));
    start = moved(moved(start, mul(inPanel, perWord(from))), mul(column, panel));
    for (int64_t j = 0; j < result.vectors; ++j)
      result.registers.push_back(
          loadFromPanels(from, moved(start, Value(), vectorColumn(j, columns) * panel)));
  }
  fragments[op.getResult()] = std::move(result);
  return success();
}
