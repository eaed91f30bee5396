//===- CpuSides.cpp - Right sides prepared once for many rows -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some right sides cost instructions before they can be multiplied. Where many row
// fragments read one, it is made ready in scratch before the loop over them:
//
//   panels of f16     widened: panels of f32, [c/16][k][16]
//   panels of i4      decoded: panels of f32 (CpuNibbles.cpp)
//   rows of f16       widened: rows of f32
//   rows of bf16      pairs of rows, interleaved (CpuPairs.cpp)
//
// The last rows of a tile, which a smaller register tile runs, read the view.
//
//===----------------------------------------------------------------------===//

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===----------------------------------------------------------------------===//
// What is prepared
//===----------------------------------------------------------------------===//

/// Features of a panel in scratch, whole words of them.
int64_t CpuEmitter::preparedFeatures(ContractOp op) {
  const BoundView &right = view(op.getRhs());
  int64_t word = perWord(right), features = right.type.getDims().back().extent.value;
  features = (features + word - 1) / word * word;
  return isBlocked(*op) ? std::min(kernel.getScheduleOrDefault().getKblock(), features) : features;
}

/// The form of a right side in scratch; none where one fragment has all rows, or where it would
/// leave little room in the second cache.
std::optional<TileMemory> CpuEmitter::formOfSide(ContractOp op) {
  const BoundView &right = view(op.getRhs());
  bool pairs = op.getRows() && right.type.getElementType().isBF16();
  if ((!pairs && !isWidened(op)) || plan.fragment.rows == plan.tileRows)
    return std::nullopt;
  TileMemory form;
  form.columns = columnsOf(op.getType());
  form.rows = op.getRows() ? columnsOf(op.getLhs().getType()) : preparedFeatures(op);
  form.element = builder.getF32Type();
  int64_t most = 256 << 10; // bytes
  if (pairs) {
    form.columns = padded(right.type.getDims().back().extent.value);
    form.rows /= 2;
    form.element = builder.getI32Type();
    most = 128 << 10;
  }
  return form.rows * form.columns * 4 > most ? std::nullopt : std::optional(form);
}

/// Fills scratch for the large register tile, where it runs at all: a mask's tiles that are not
/// visited stay empty.
void CpuEmitter::prepareSide(ContractOp op, Value from, Value to) {
  std::optional<TileMemory> form = formOfSide(op);
  if (!form)
    return;
  form->base = allocateElements(form->rows * form->columns, form->element);
  preparedSides[op] = {*form, from};
  ifLargeTileRuns([&] {
    Value first = op.getFrom() ? scalar(op.getFrom()) : constant(0);
    if (op.getRows())
      return forVisited(op, first, scalar(op.getRows()), [&](Value begin, Value end) {
        isHalf(op) ? widenRows(op, *form, begin, end) : pairRows(op, *form, begin, end);
      });
    Value left = columnsLeft(*op, form->columns);
    Value last = left ? minimum(left, constant(form->columns)) : constant(form->columns);
    forVisited(op, first, last, [&](Value begin, Value end) {
      Value first = from ? from : constant(0), last = to ? to : constant(form->rows);
      isNibbles(op) ? decodePanels(op, *form, {begin, end}, first, last)
                    : widenPanels(op, *form, {begin, end}, first, last);
    });
  });
}

void CpuEmitter::releaseSide(Operation *op) {
  if (auto side = preparedSides.find(op); side != preparedSides.end())
    release(side->second.memory);
}

void CpuEmitter::ifLargeTileRuns(function_ref<void()> body) {
  Value any =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, splitRows().large, constant(0));
  auto branch = scf::IfOp::create(builder, loc, any, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

void CpuEmitter::forVisited(ContractOp op, Value from, Value to,
                            function_ref<void(Value begin, Value end)> part) {
  if (!op.getVisited())
    return part(from, to);
  Value tile = constant(*op.getVisitTile());
  auto loop = scf::ForOp::create(builder, loc, from, to, tile);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value begin = loop.getInductionVar();
  auto visited =
      scf::IfOp::create(builder, loc, visitBit(op.getVisited(), *op.getVisitTile(), begin),
                        /*withElseRegion=*/false);
  builder.setInsertionPointToStart(visited.thenBlock());
  part(begin, minimum(add(begin, tile), to));
}

//===----------------------------------------------------------------------===//
// Widening
//===----------------------------------------------------------------------===//

scf::ForOp CpuEmitter::loopBy(Value from, Value to, int64_t step) {
  auto loop = scf::ForOp::create(builder, loc, from, to, constant(step));
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

/// Columns from a multiple of 16 on, of the features [from, to).
void CpuEmitter::widenPanels(ContractOp op, const TileMemory &side, ColumnRange columns, Value from,
                             Value to) {
  OpBuilder::InsertionGuard guard(builder);
  const BoundView right = view(op.getRhs());
  int64_t stored = padded(right.type.getDims().back().pitch.value);
  Value column = loopBy(columns.from, columns.to, 16).getInductionVar();
  Value start = add(right.offset, mul(add(scalar(op.getRhsIndex()), column), stored));
  Value feature = loopBy(from, to, 2).getInductionVar();
  Place source = moved({start, 0}, mul(feature, 16));
  Place target = moved({mul(column, side.rows), 0}, mul(sub(feature, from), 16));
  for (int64_t lane = 0; lane < 16; lane += width) {
    auto [even, odd] = widenedPair(loadWords(right, moved(source, Value(), 2 * lane), true));
    storeAt(even, side.base, moved(target, Value(), lane), side.element);
    storeAt(odd, side.base, moved(target, Value(), 16 + lane), side.element);
  }
}

void CpuEmitter::widenRows(ContractOp op, const TileMemory &side, Value row, Value end) {
  OpBuilder::InsertionGuard guard(builder);
  const BoundView right = view(op.getRhs());
  int64_t stored = padded(right.type.getDims().back().pitch.value);
  row = loopBy(row, end, 1).getInductionVar();
  Value start = add(right.offset, mul(add(scalar(op.getRhsIndex()), row), stored));
  Value column =
      loopBy(constant(0), constant(std::min(side.columns, stored)), 16).getInductionVar();
  for (int64_t lane = 0; lane < 16; lane += width)
    storeAt(widened(loadVector(right, moved({start, lane}, column))), side.base,
            moved({mul(row, side.columns), lane}, column), side.element);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

const CpuEmitter::PreparedSide *CpuEmitter::preparedSide(ContractOp op) {
  auto side = rows == plan.fragment.rows ? preparedSides.find(op) : preparedSides.end();
  return side == preparedSides.end() ? nullptr : &side->second;
}

Value CpuEmitter::loadPrepared(const PreparedSide &side, Place place) {
  return loadAt(side.memory.base, place, VectorType::get({width}, side.memory.element),
                side.memory.element);
}

/// Where the registers of a prepared side lie at k = 0, and the distance to k + 1.
SmallVector<Place> CpuEmitter::preparedPlaces(ContractOp op, const Fragment &shape, int64_t &step) {
  const PreparedSide &side = preparedSides[op];
  int64_t columns = columnsOf(op.getType()), depth = op.getRows() ? 1 : side.memory.rows;
  step = op.getRows() ? side.memory.columns : 16;
  SmallVector<Place> result;
  Place start = moved({Value(), 0}, mul(columnBase(columns), depth));
  if (side.from)
    start = moved(start, mul(sub(Value(), side.from), step));
  for (int64_t j = 0; j < shape.vectors; ++j) {
    int64_t column = vectorColumn(j, columns);
    result.push_back(
        moved(start, Value(), op.getRows() ? column : column / 16 * 16 * depth + column % 16));
  }
  return result;
}
