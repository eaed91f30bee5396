//===- CpuPairs.cpp - Tiles of bf16 times rows of a view -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys' values of bf16 lie row by row, and a product takes two rows at once: their
// elements are interleaved as they are loaded, or once for all row fragments
// (CpuSides.cpp).
//
//   low  a0 a1 ...     word j: low half a[j], high half b[j]
//   high b0 b1 ...
//
//===----------------------------------------------------------------------===//

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// A row in the low halves of words; the high ones are zero.
Value CpuEmitter::rowAsWords(const BoundView &view, Place place) {
  auto words = VectorType::get({width}, builder.getI32Type());
  return arith::ExtUIOp::create(builder, loc, words, loadVector(view, place));
}

/// A row in the low halves of words, the next one in the high halves.
Value CpuEmitter::pairOfRows(const BoundView &view, Place place, int64_t step) {
  Value low = loadVector(view, place), high = loadVector(view, moved(place, Value(), step));
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < width; ++lane)
    lanes.append({lane, width + lane});
  Value both = vector::ShuffleOp::create(builder, loc, low, high, lanes);
  return vector::BitCastOp::create(builder, loc, VectorType::get({width}, builder.getI32Type()),
                                   both);
}

/// Interleaves rows [begin, end) of a product's view, `begin` even; the last one of an odd number
/// stands beside zero.
void CpuEmitter::pairRows(ContractOp op, const TileMemory &pairs, Value begin, Value end) {
  const BoundView right = view(op.getRhs());
  Fragment shape;
  shape.rows = 1;
  shape.vectors = pairs.columns / width;
  int64_t step = 0;
  SmallVector<Place> rowPlaces = rightPlaces(op, shape, step);
  Value one = constant(1), whole = arith::ShRUIOp::create(builder, loc, end, one);
  auto loop = [&](Value from, Value to, llvm::function_ref<Value(Place)> load) {
    auto loopOp = scf::ForOp::create(builder, loc, from, to, one);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loopOp.getBody());
    Value pair = loopOp.getInductionVar();
    for (auto [j, place] : llvm::enumerate(rowPlaces))
      storeAt(load(moved(place, mul(pair, 2 * step))), pairs.base,
              moved({mul(pair, pairs.columns), 0}, Value(), j * width), pairs.element);
  };
  loop(arith::ShRUIOp::create(builder, loc, begin, one), whole,
       [&](Place place) { return pairOfRows(right, place, step); });
  loop(whole, arith::ShRUIOp::create(builder, loc, add(end, one), one),
       [&](Place place) { return rowAsWords(right, place); });
}

/// A tile of bf16 times rows of a view, in pairs from an even row of the range; the last one of an
/// odd number stands alone.
SmallVector<Value> CpuEmitter::contractPairs(ContractOp op, const TileMemory &left,
                                             const Fragment &shape) {
  const BoundView right = view(op.getRhs());
  const PreparedSide *side = preparedSide(op);
  int64_t step = 0;
  SmallVector<Place> rowPlaces =
      side ? preparedPlaces(op, shape, step) : rightPlaces(op, shape, step);
  int64_t pair = side ? step : 2 * step;
  auto placeOf = [&](Value k, int64_t j, int64_t u) {
    return moved(rowPlaces[j], mul(k, pair), u * pair);
  };
  auto leftWord = [&](Value k, int64_t r, int64_t u) {
    Place place = placeIn(left, r, mul(k, 2), u * 2);
    return loadAt(left.base, place, builder.getI32Type(), left.element);
  };
  auto leftAlone = [&](Value k, int64_t r, int64_t u) -> Value {
    Place place = placeIn(left, r, mul(k, 2), u * 2);
    Value bits = loadAt(left.base, place, left.element, left.element);
    return arith::ExtUIOp::create(builder, loc, builder.getI32Type(), bits);
  };
  auto rightPair = [&](Value k, int64_t j, int64_t u) {
    Place place = placeOf(k, j, u);
    return side ? loadPrepared(*side, place) : pairOfRows(right, place, step);
  };
  auto rightAlone = [&](Value k, int64_t j, int64_t u) {
    Place place = placeOf(k, j, u);
    return side ? loadPrepared(*side, place) : rowAsWords(right, place);
  };
  Operands pairs{leftWord, rightPair, {}}, alone{leftAlone, rightAlone, {}};
  return overRows(op, shape, [&](Value begin, Value end, SmallVector<Value> sums, int64_t unroll) {
    Value one = constant(1);
    auto halved = [&](Value rows) { return arith::ShRUIOp::create(builder, loc, rows, one); };
    Value first = halved(begin), whole = halved(end);
    sums = emitChain(shape, std::move(sums), first, whole, pairs, unroll);
    return emitChain(shape, std::move(sums), whole, halved(add(end, one)), alone, 1);
  });
}
