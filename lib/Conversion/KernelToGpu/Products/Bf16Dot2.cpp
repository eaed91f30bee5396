//===- Bf16Dot2.cpp - Products of bf16 on the GPU -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuBf16.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle;

Value Bf16Dot2::step(Value a, Value b, Value c, bool) {
  auto [evenA, oddA] = e.halvesOf(a);
  auto [evenB, oddB] = e.halvesOf(b);
  c = e.fma(oddA, oddB, c);
  return e.fma(evenA, evenB, c);
}

namespace {
/// Product over features that staging widens.
struct Bf16Widened : OddFirst {
  Bf16Widened(GpuEmitter &emitter, kernel::ProductOpInterface op)
      : OddFirst(emitter, op, {.widens = true}) {}
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &target) {
    return Bf16Dot2::accepts(op, target);
  }
};
} // namespace

/// Multiplies rows two at a time, then a last single row.
Value Bf16Rows::middleLoops(Value from, Registers &sums) {
  Value even = e.masked(count, -2);
  emitLoop({from, end(even), 2, cast<kernel::ContractRowsOp>(*op).getGuarded()}, sums);
  return even;
}

const GpuProductStrategy heddle::gpuBf16Dot2 = gpuStrategyOf<Bf16Dot2>();
const GpuProductStrategy heddle::gpuBf16Widened = gpuStrategyOf<Bf16Widened>();
const GpuProductStrategy heddle::gpuBf16Rows = gpuStrategyOf<Bf16Rows>();
