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
//   many rows   widened once for all fragments of them (CpuSides.cpp)
//
// Where the left side is f16 too, CpuHalfSums.cpp sums in f16, or widens its rows.
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
// Products
//===----------------------------------------------------------------------===//

/// Sums over the features [from, to).
SmallVector<Value> CpuEmitter::contractHalves(ContractOp op, const Fragment &shape,
                                              SmallVector<Value> sums, Value from, Value to) {
  const BoundView right = view(op.getRhs());
  int64_t step = 0;
  SmallVector<Place> panelPlaces = rightPlaces(op, shape, step);
  SmallVector<Value> odd(shape.vectors);
  // Few rows wait for memory, and widening leaves the processor's own fetching too little ahead.
  bool streams = kernel.getScheduleOrDefault().getPrefetch() && shape.rows < plan.fragment.rows;
  auto loadRight = [&](Value k, int64_t j, int64_t u) -> Value {
    if (u % 2 != 0)
      return odd[j];
    Place place = moved(panelPlaces[j], mul(k, 16), u * 16);
    if (streams && vectorColumn(j, columnsOf(op.getType())) % 16 == 0)
      fetchAhead(right, place);
    Value even;
    std::tie(even, odd[j]) = widenedPair(loadWords(right, place, true));
    return even;
  };
  return overFeatures(op, shape, std::move(sums), from, to, loadRight, /*unroll=*/8);
}
