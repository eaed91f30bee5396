//===- Bf16Dot2.cpp - Products of bf16, two at once -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16. A word of a panel holds two features, so that a step
// multiplies two, the odd one first. Rows of a view are widened as they are
// loaded, and multiplied in pairs in the same order.

#include "../GpuProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::ContractOp;

namespace {
/// Over features.
struct Bf16Dot2 : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ContractOp op, const GpuTarget &) {
    return !op.getRows() && op.getFormat().weights == DType::BF16;
  }

  int64_t word() const override { return 2; }

  Value step(Value a, Value b, Value c, bool) override {
    auto [evenA, oddA] = e.halvesOf(a);
    auto [evenB, oddB] = e.halvesOf(b);
    c = math::FmaOp::create(builder, loc, oddA, oddB, c);
    return math::FmaOp::create(builder, loc, evenA, evenB, c);
  }
};

/// Over rows.
struct Bf16Rows : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ContractOp op, const GpuTarget &) {
    return op.getRows() && op.getFormat().weights == DType::BF16;
  }

  int64_t inOrder(int64_t step, int64_t steps) const override {
    return steps > 1 ? step ^ 1 : step;
  }

  /// Pairs first, then a last single row.
  Value middleLoops(Value from, Registers &sums) override {
    Value pairs = arith::AndIOp::create(builder, loc, count, e.constant(-2));
    emitLoop({from, end(pairs), 2, op.getGuarded()}, sums);
    return pairs;
  }
};
} // namespace

const GpuProductStrategy heddle::gpuBf16Dot2 = gpuStrategyOf<Bf16Dot2>();
const GpuProductStrategy heddle::gpuBf16Rows = gpuStrategyOf<Bf16Rows>();
