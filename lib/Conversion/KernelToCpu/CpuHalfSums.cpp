//===- CpuHalfSums.cpp - Products of two f16 on the CPU -*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of f16 times panels of f16. Where there are multiply-adds of f16, a word of
// the row, two features, is spread over a register and meets a line of the panel
// as it lies: 16 columns of two features each. Every lane is a sum of one column's
// even or odd features.
//
//   for blocks of 256 features   even, odd = 0, 128 products each, in f16
//                                sum += f32(even) + f32(odd)
//
// Blocks begin at multiples of 256 whatever else is blocked, so that an element's
// bits depend on nothing but its row and its column.
//
// Elsewhere both sides are widened and all is as with f32: rows are widened into
// scratch, one register tile's at a time.
//
//===----------------------------------------------------------------------===//

#include "CpuEmitter.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

//===----------------------------------------------------------------------===//
// Sums in f16
//===----------------------------------------------------------------------===//

/// Two products in each word, and two sums.
Value CpuEmitter::multiplyAddHalves(Value a, Value b, Value c) {
  a = vector::BitCastOp::create(builder, loc, c.getType(), a);
  b = vector::BitCastOp::create(builder, loc, c.getType(), b);
  return math::FmaOp::create(builder, loc, a, b, c);
}

/// Adds the sums of even and odd features to that of all. One permutation brings the even ones into
/// the low half of the register: taken out one by one, they would cost two narrowings.
Value CpuEmitter::addHalves(Value sum, Value halves) {
  SmallVector<int64_t> evenFirst;
  for (int64_t first : {0, 1})
    for (int64_t lane = 0; lane < width; ++lane)
      evenFirst.push_back(2 * lane + first);
  Value sorted = vector::ShuffleOp::create(builder, loc, halves, halves, evenFirst);
  Value wide = arith::ExtFOp::create(builder, loc,
                                     VectorType::get({2 * width}, builder.getF32Type()), sorted);
  auto part = [&](int64_t first) -> Value {
    return vector::ShuffleOp::create(builder, loc, wide, wide,
                                     llvm::to_vector(llvm::seq<int64_t>(first, first + width)));
  };
  Value even = part(0), odd = part(width);
  Value both = arith::AddFOp::create(builder, loc, even, odd);
  return arith::AddFOp::create(builder, loc, sum, both);
}

/// The sums over `count` words from `from` on, added to `sums` block by block.
SmallVector<Value> CpuEmitter::sumInHalves(const Fragment &shape, SmallVector<Value> sums,
                                           Value from, Value count, const Operands &operands) {
  constexpr int64_t block = featuresSummedInHalves / 2;
  std::optional<int64_t> words = constantOf(count);
  assert(words && "rows of products have a static number of features, and so have k-blocks");
  auto halves = VectorType::get({2 * width}, builder.getF16Type());
  auto addBlock = [&](Value start, int64_t length) {
    auto left = [&](Value k, int64_t r, int64_t u) { return operands.left(add(start, k), r, u); };
    auto right = [&](Value k, int64_t j, int64_t u) { return operands.right(add(start, k), j, u); };
    auto atStep = [&](Value k) { operands.atStep(add(start, k)); };
    Value zero =
        arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(halves)));
    SmallVector<Value> parts = emitChain(shape, SmallVector<Value>(shape.size(), zero), constant(0),
                                         constant(length), {left, right, atStep});
    for (auto [sum, part] : llvm::zip_equal(sums, parts))
      sum = addHalves(sum, part);
  };
  int64_t whole = *words / block * block;
  if (whole > 0) {
    auto loop = scf::ForOp::create(builder, loc, from ? from : constant(0),
                                   add(from, constant(whole)), constant(block), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    addBlock(loop.getInductionVar(), block);
    scf::YieldOp::create(builder, loc, sums);
    sums.assign(loop.result_begin(), loop.result_end());
  }
  if (*words > whole)
    addBlock(add(from, constant(whole)), *words - whole);
  return sums;
}

//===----------------------------------------------------------------------===//
// Sums in f32
//===----------------------------------------------------------------------===//

/// The features [from, to) of the register tile's rows as f32 in scratch, which the caller releases.
TileMemory CpuEmitter::widenLeftRows(ContractOp op, const Fragment &shape, Value from, Value to) {
  const BoundView left = view(op.getLhs());
  SmallVector<Place> places = leftRows(op, shape);
  TileMemory memory;
  memory.rows = shape.rows;
  memory.columns = padded(preparedFeatures(op));
  memory.element = builder.getF32Type();
  memory.base = allocateElements(memory.rows * memory.columns, memory.element);
  OpBuilder::InsertionGuard guard(builder);
  Value feature = loopBy(from, to, 16).getInductionVar();
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t lane = 0; lane < 16; lane += width)
      storeAt(widened(loadVector(left, moved(places[row], feature, lane))), memory.base,
              moved({sub(feature, from), 0}, Value(), row * memory.columns + lane), memory.element);
  return memory;
}
