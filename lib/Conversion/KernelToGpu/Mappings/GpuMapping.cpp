//===- GpuMapping.cpp - The mapping `blocked` -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuMapping.h"

#include "../GpuEmitter.h"
#include "../GpuProduct.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::ReduceKind;

namespace heddle {

GpuMapping::GpuMapping(GpuEmitter &emitter) : e(emitter), builder(emitter.builder) {}
GpuMapping::~GpuMapping() = default;

//===- Rows and columns --------------------------------------------------===//

void GpuMapping::placeInvocation() {
  e.number = e.entry.invocation();
  placeNumber();
}

void GpuMapping::placeNumber() {
  const int64_t across = e.placement.tx;
  e.tx = builder.createOrFold<arith::RemUIOp>(e.loc, e.number, e.constant(across));
  e.ty = builder.createOrFold<arith::DivUIOp>(e.loc, e.number, e.constant(across));
}

Value GpuMapping::firstRow() { return e.mul(e.ty, e.placement.rows); }

/// Number of consecutive columns of an invocation: the fewest vec4s with which the invocations
/// cover all columns exactly once.
static int64_t blockOfColumns(int64_t tileColumns, int64_t tx) {
  int64_t columns = 4;
  while (columns < tileColumns && (tileColumns % columns != 0 || tileColumns / columns > tx))
    columns += 4;
  return columns;
}

int64_t GpuMapping::activeColumns(int64_t tileColumns) const {
  return tileColumns / blockOfColumns(tileColumns, e.placement.tx);
}

int64_t GpuMapping::vectorsOf(int64_t tileColumns) const {
  return blockOfColumns(tileColumns, e.placement.tx) / e.width;
}

int64_t GpuMapping::columnOf(int64_t number) const { return number * e.width; }

Value GpuMapping::firstColumn(int64_t tileColumns) {
  const int64_t tx = e.placement.tx, active = activeColumns(tileColumns);
  Value place = active < tx ? e.minimum(e.tx, e.constant(active - 1)) : e.tx;
  return e.add(e.mul(place, blockOfColumns(tileColumns, tx)), e.at.elementColumn);
}

Value GpuMapping::owns(RankedTensorType tile) {
  Value condition;
  const int64_t active = tile.getDimSize(1) == 1 ? 1 : activeColumns(tile.getDimSize(1));
  if (active < e.placement.tx)
    condition = e.less(e.tx, e.constant(active));
  if (tile.getDimSize(0) == 1 && e.placement.ty > 1)
    condition = e.allOf(condition, e.compare(arith::CmpIPredicate::eq, e.ty, e.constant(0)));
  return condition;
}

//===- Ops ---------------------------------------------------------------===//

LogicalResult GpuMapping::emitProduct(kernel::ProductOpInterface op) { return emitByStrategy(op); }

LogicalResult GpuMapping::emitByStrategy(kernel::ProductOpInterface op) {
  FailureOr<Fragment> result = makeProduct(e, op)->run();
  if (failed(result))
    return failure(); // the strategy has reported the error
  e.fragments[op->getResult(0)] = std::move(*result);
  return success();
}

LogicalResult GpuMapping::emitLoop(scf::ForOp op) { return e.emitLoop(op); }

LogicalResult GpuMapping::emitColumnLoop(ArrayRef<Operation *> run) {
  return run.front()->emitOpError("expected no loop over columns in this mapping");
}

//===- Products ----------------------------------------------------------===//

int64_t GpuMapping::stepsOfProduct(std::optional<int64_t>, int64_t) const { return kVec4; }

Value GpuMapping::rowOfProduct(Value first, Value base, Value) { return e.add(first, base); }

void GpuMapping::noteRows(Value condition) {
  rowsExist = condition;
  rowsKnownIn = builder.getInsertionBlock();
}

/// Invocations whose rows do not exist skip the loop, which contains no barrier.
Value GpuMapping::unlessMissing(Value end) {
  Block *here = builder.getInsertionBlock();
  if (!rowsExist ||
      (rowsKnownIn != here && !rowsKnownIn->findAncestorOpInBlock(*here->getParentOp())))
    return end;
  return e.select(rowsExist, end, e.constant(0));
}

void GpuMapping::sumGuarded(GpuProduct &product, SmallVector<Value> &sums) {
  product.sumOrRestart(sums);
}

//===- Tiles in workgroup memory -----------------------------------------===//

Value GpuMapping::stagedRow() { return e.rowBase(); }

int64_t GpuMapping::stagedRows() const { return e.placement.ty * e.placement.rows; }

Value GpuMapping::stagedPlace(int64_t vec4s, Value row, Value column) {
  return e.add(e.mul(row, vec4s), column);
}

//===- Reductions --------------------------------------------------------===//

/// Each invocation reduces its columns, then reads the partial maxima of its rows.
Fragment GpuMapping::maximaOfRows(const Fragment &tile) {
  const int64_t entries = e.placement.invocations() * e.placement.rows;
  Type f32 = builder.getF32Type();
  auto place = [&](int64_t row, Value column) {
    return e.add(e.mul(e.add(stagedRow(), e.constant(row)), e.placement.tx), column);
  };
  e.workgroup.beforeWrite(SharedArray::Maxima);
  for (int64_t row = 0; row < tile.rows; ++row) {
    Value largest = tile.at(row, 0);
    for (int64_t j = 1; j < tile.vectors; ++j)
      largest = e.larger(largest, tile.at(row, j));
    e.workgroup.write(SharedArray::Maxima, f32, entries, place(row, e.tx),
                      e.reduceLanes(ReduceKind::Max, {largest}));
  }
  e.workgroup.barrier();
  Fragment result{{}, tile.rows, 0};
  for (int64_t row = 0; row < tile.rows; ++row) {
    Value largest;
    for (int64_t i = 0; i < e.placement.tx; ++i) {
      Value one = e.workgroup.read(SharedArray::Maxima, f32, entries, place(row, e.constant(i)));
      largest = largest ? e.larger(largest, one) : one;
    }
    result.registers.push_back(largest);
  }
  return result;
}

Value GpuMapping::sumOfStagedRow(Value row, int64_t columns) {
  SmallVector<Value> lanes(kLaneVectors);
  for (int64_t vec4 = 0; vec4 < columns / e.width; ++vec4) {
    Value &lane = lanes[vec4 % kLaneVectors];
    Value next = e.workgroup.stagedVec4(columns, row, e.constant(vec4));
    lane = lane ? e.combine(ReduceKind::Add, lane, next) : next;
  }
  return e.reduceLanes(ReduceKind::Add, lanes);
}

/// Invocation i sums rows i, i + invocations, ..., then reads the sums of its own rows.
Fragment GpuMapping::sumsOfStagedRows(RankedTensorType type) {
  const int64_t rows = type.getDimSize(0), invocations = e.placement.ty * e.placement.tx;
  Type f32 = builder.getF32Type();
  e.workgroup.beforeWrite(SharedArray::Sums);
  Value invocation = e.add(e.mul(e.ty, e.placement.tx), e.tx);
  for (int64_t first = 0; first < rows; first += invocations) {
    Value row = e.add(invocation, e.constant(first));
    const bool isWhole = first + invocations <= rows;
    Value exists = isWhole ? Value() : e.less(row, e.constant(rows));
    e.onlyIf(exists, [&] {
      e.workgroup.write(SharedArray::Sums, f32, rows, row, sumOfStagedRow(row, type.getDimSize(1)));
    });
  }
  e.workgroup.barrier();
  Fragment result{{}, e.placement.rows, 0};
  for (int64_t row = 0; row < e.placement.rows; ++row)
    result.registers.push_back(
        e.workgroup.read(SharedArray::Sums, f32, rows, e.add(e.rowBase(), e.constant(row))));
  return result;
}

LogicalResult GpuMapping::emitReduce(kernel::ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  if (type.getDimSize(1) == 1)
    return e.reduceFragment(op);
  if (type.getDimSize(1) % 16 != 0 || type.getDimSize(0) != e.placement.ty * e.placement.rows)
    return op.emitOpError("expected a tile of ")
           << e.placement.ty * e.placement.rows << " rows and a multiple of 16 columns, found "
           << type;
  if (op.getKind() == ReduceKind::Max) {
    FailureOr<Fragment> tile = e.use(op.getOperand());
    if (failed(tile))
      return tile;
    e.fragments[op.getResult()] = maximaOfRows(*tile);
    return success();
  }
  if (LogicalResult staged = e.workgroup.stage(op.getOperand()); failed(staged))
    return staged;
  e.fragments[op.getResult()] = sumsOfStagedRows(type);
  return success();
}

} // namespace heddle
