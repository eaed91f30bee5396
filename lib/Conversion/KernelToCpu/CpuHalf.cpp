//===- CpuHalf.cpp - Products with f16 on the CPU -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f16 is a form of storage: the right side of a product is widened, exactly, and
// multiplied as f32 is, feature by feature or key by key.
//
//   few rows    widened in registers as it is loaded: memory is what they wait for
//   many rows   widened once into scratch before the loop over row fragments, all
//               of which read it there as they would read f32
//
// Scratch has panels of f32 [c/16][k][16], or rows of values. Where the left side is f16 too,
// CpuHalfSums.cpp sums in f16, or widens its rows.
//
//===----------------------------------------------------------------------===//

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

/// Registers of 16 bits as f32.
Value CpuEmitter::widened(Value bits) {
  if (!target.has("f16c"))
    return widenedHalves(arith::ExtUIOp::create(
        builder, loc, withElement(bits.getType(), builder.getI32Type()), bits));
  Value halves = arith::BitcastOp::create(builder, loc,
                                          withElement(bits.getType(), builder.getF16Type()), bits);
  return arith::ExtFOp::create(builder, loc, withElement(bits.getType(), builder.getF32Type()),
                               halves);
}

/// f32 rounded to f16, as 16 bits.
Value CpuEmitter::narrowedToHalf(Value value) {
  Type bits = withElement(value.getType(), builder.getI16Type());
  if (!target.has("f16c"))
    return arith::TruncIOp::create(builder, loc, bits, roundedHalves(value));
  Value halves = arith::TruncFOp::create(builder, loc,
                                         withElement(value.getType(), builder.getF16Type()), value);
  return arith::BitcastOp::create(builder, loc, bits, halves);
}

/// The even (low) and the odd (high) halves of words, as f32.
std::pair<Value, Value> CpuEmitter::widenedPair(Value words) {
  if (!target.has("f16c"))
    return {widenedHalves(
                arith::AndIOp::create(builder, loc, words, wordConstant(0xffff, words.getType()))),
            widenedHalves(
                arith::ShRUIOp::create(builder, loc, words, wordConstant(16, words.getType())))};
  Value all = vector::BitCastOp::create(builder, loc,
                                        VectorType::get({2 * width}, builder.getI16Type()), words);
  auto half = [&](int64_t first) {
    SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < width; ++lane)
      lanes.push_back(2 * lane + first);
    return widened(vector::ShuffleOp::create(builder, loc, all, all, lanes));
  };
  return {half(0), half(1)};
}

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

/// Scratch for one right side; larger ones are widened in registers.
static constexpr int64_t mostWidenedBytes = 256 << 10;

/// Features of a panel in scratch, an even number.
int64_t CpuEmitter::widenedFeatures(ContractOp op) {
  int64_t features = (view(op.getRhs()).type.getDims().back().extent.value + 1) / 2 * 2;
  return isBlocked(*op) ? std::min(kernel.getScheduleOrDefault().getKblock(), features) : features;
}

/// Fills scratch for the large register tile, where it runs at all: a mask's tiles that are not
/// visited stay empty.
void CpuEmitter::widenOnce(ContractOp op, Value from, Value to) {
  int64_t columns = columnsOf(op.getType());
  int64_t depth = op.getRows() ? columnsOf(op.getLhs().getType()) : widenedFeatures(op);
  if (!isHalf(op) || sumsHalves(op) || plan.fewRows == 0 || depth * columns * 4 > mostWidenedBytes)
    return;
  TileMemory memory;
  memory.rows = depth;
  memory.columns = columns;
  memory.element = builder.getF32Type();
  memory.base = allocateElements(depth * columns, memory.element);
  widenedSides[op] = {memory, from};
  ifLargeTileRuns([&] {
    Value first = op.getFrom() ? scalar(op.getFrom()) : constant(0);
    if (op.getRows())
      return forVisited(op, first, scalar(op.getRows()),
                        [&](Value begin, Value end) { widenRows(op, begin, end); });
    Value left = columnsLeft(*op, columns);
    Value last = left ? minimum(left, constant(columns)) : constant(columns);
    forVisited(op, first, last, [&](Value begin, Value end) {
      widenPanels(op, begin, end, from ? from : constant(0), to ? to : constant(depth));
    });
  });
}

void CpuEmitter::releaseWidened(Operation *op) {
  if (auto widened = widenedSides.find(op); widened != widenedSides.end())
    release(widened->second.memory);
}

scf::ForOp CpuEmitter::loopBy(Value from, Value to, int64_t step) {
  auto loop = scf::ForOp::create(builder, loc, from, to, constant(step));
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

/// Columns from a multiple of 16 on, of the features [from, to).
void CpuEmitter::widenPanels(ContractOp op, Value column, Value end, Value from, Value to) {
  OpBuilder::InsertionGuard guard(builder);
  const BoundView right = view(op.getRhs());
  const TileMemory &memory = widenedSides[op].memory;
  int64_t stored = padded(right.type.getDims().back().pitch.value);
  column = loopBy(column, end, 16).getInductionVar();
  Value start = add(right.offset, mul(add(scalar(op.getRhsIndex()), column), stored));
  Value feature = loopBy(from, to, 2).getInductionVar();
  Place source = moved({start, 0}, mul(feature, 16));
  Place target = moved({mul(column, memory.rows), 0}, mul(sub(feature, from), 16));
  for (int64_t lane = 0; lane < 16; lane += width) {
    auto [even, odd] = widenedPair(loadWords(right, moved(source, Value(), 2 * lane), true));
    storeAt(even, memory.base, moved(target, Value(), lane), memory.element);
    storeAt(odd, memory.base, moved(target, Value(), 16 + lane), memory.element);
  }
}

void CpuEmitter::widenRows(ContractOp op, Value row, Value end) {
  OpBuilder::InsertionGuard guard(builder);
  const BoundView right = view(op.getRhs());
  const TileMemory &memory = widenedSides[op].memory;
  int64_t stored = padded(right.type.getDims().back().pitch.value);
  row = loopBy(row, end, 1).getInductionVar();
  Value start = add(right.offset, mul(add(scalar(op.getRhsIndex()), row), stored));
  Value column =
      loopBy(constant(0), constant(std::min(memory.columns, stored)), 16).getInductionVar();
  for (int64_t lane = 0; lane < 16; lane += width)
    storeAt(widened(loadVector(right, moved({start, lane}, column))), memory.base,
            moved({mul(row, memory.columns), lane}, column), memory.element);
}

/// A register of the right side in scratch.
Value CpuEmitter::loadWidened(ContractOp op, Place place) {
  const TileMemory &memory = widenedSides[op].memory;
  return loadAt(memory.base, place, registerType(memory.element, 1), memory.element);
}

/// Where the registers of the right side lie in scratch at k = 0, and the distance to k + 1.
SmallVector<Place> CpuEmitter::widenedPlaces(ContractOp op, const Fragment &shape, int64_t &step) {
  const WidenedSide &side = widenedSides[op];
  int64_t columns = columnsOf(op.getType()), depth = op.getRows() ? 1 : side.memory.rows;
  step = op.getRows() ? columns : 16;
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

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Sums over the features [from, to): pairs of them lie in a word, and a last one without a
/// partner has zeros of padding beside it.
SmallVector<Value> CpuEmitter::contractHalves(ContractOp op, const Fragment &shape,
                                              SmallVector<Value> sums, Value from, Value to) {
  const BoundView left = view(op.getLhs()), right = view(op.getRhs());
  SmallVector<Place> leftPlaces = leftRows(op, shape);
  std::optional<TileMemory> leftWidened;
  if (left.type.getElementType().isF16())
    leftWidened = widenLeftRows(op, shape, from, to);
  bool fromScratch = readsWidened(op);
  int64_t step = 0;
  SmallVector<Place> rightAt =
      fromScratch ? widenedPlaces(op, shape, step) : rightPlaces(op, shape, step);
  SmallVector<Value> odd(shape.vectors);
  // Few rows wait for memory, and widening leaves the processor's own fetching too little ahead.
  bool streams = kernel.getScheduleOrDefault().getPrefetch() && shape.rows < plan.fragment.rows;
  auto loadLeft = [&](Value k, int64_t r, int64_t u) {
    if (leftWidened)
      return loadAt(leftWidened->base,
                    moved({sub(k, from), 0}, Value(), r * leftWidened->columns + u),
                    leftWidened->element, leftWidened->element);
    return loadScalars(left, moved(leftPlaces[r], k, u), 1).front();
  };
  auto loadRight = [&](Value k, int64_t j, int64_t u) -> Value {
    Place place = moved(rightAt[j], mul(k, 16), u * 16);
    if (fromScratch)
      return loadWidened(op, place);
    if (u % 2 != 0)
      return odd[j];
    if (streams && vectorColumn(j, columnsOf(op.getType())) % 16 == 0)
      fetchAhead(right, place);
    Value even;
    std::tie(even, odd[j]) = widenedPair(loadWords(right, place, true));
    return even;
  };
  auto words = [&](Value features) {
    return builder.createOrFold<arith::DivUIOp>(loc, add(features, constant(1)), constant(2));
  };
  bool fetches = kernel.getScheduleOrDefault().getPrefetch() && shape.rows == plan.fragment.rows;
  NextPanels next;
  if (fetches)
    next = nextPanels(op, words(from), words(to));
  auto atStep = [&](Value k) {
    if (next.start)
      prefetch(next, words(k), words(from), op);
  };
  sums = emitChain(shape, std::move(sums), from, mul(words(to), 2),
                   {loadLeft, loadRight, atStep, /*grain=*/2}, /*unroll=*/8);
  if (leftWidened)
    release(*leftWidened);
  return sums;
}

/// The line that the same panel's words are read from eight lines later.
void CpuEmitter::fetchAhead(const BoundView &right, Place place) {
  constexpr int64_t lines = 8, halvesInLine = 32;
  LLVM::Prefetch::create(builder, loc,
                         address(pointers[right.argument],
                                 moved(place, Value(), lines * halvesInLine), builder.getI16Type()),
                         0, 3, 1);
}

/// A row of values as f32, from scratch or as it lies in the view.
Value CpuEmitter::loadValues(ContractOp op, Place place) {
  const BoundView &right = view(op.getRhs());
  if (!isHalf(op))
    return loadVector(right, place);
  if (readsWidened(op))
    return loadWidened(op, place);
  return widened(loadVector(right, place));
}
