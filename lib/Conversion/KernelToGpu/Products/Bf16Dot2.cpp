//===- Bf16Dot2.cpp - Products of bf16, two at once -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuBf16.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle;

Value Bf16Dot2::step(Value a, Value b, Value c, bool guarded) {
  if (widens())
    return GpuProduct::step(a, b, c, guarded);
  auto [evenA, oddA] = e.halvesOf(a);
  auto [evenB, oddB] = e.halvesOf(b);
  c = math::FmaOp::create(builder, loc, oddA, oddB, c);
  return math::FmaOp::create(builder, loc, evenA, evenB, c);
}

/// Multiplies pairs of rows, then a last single row.
Value Bf16Rows::middleLoops(Value from, Registers &sums) {
  Value pairs = arith::AndIOp::create(builder, loc, count, e.constant(-2));
  emitLoop({from, end(pairs), 2, cast<kernel::ContractRowsOp>(*op).getGuarded()}, sums);
  return pairs;
}

const GpuProductStrategy heddle::gpuBf16Dot2 = gpuStrategyOf<Bf16Dot2>();
const GpuProductStrategy heddle::gpuBf16Rows = gpuStrategyOf<Bf16Rows>();
