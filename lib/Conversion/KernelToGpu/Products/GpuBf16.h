//===- GpuBf16.h - Products of bf16 on the GPU ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 (Bf16Dot2.cpp). A word of a panel holds two features, so a step
// multiplies two, the odd one first. If an invocation has several rows of a staged block,
// staging widens the words once for all invocations that multiply them. A step is then one
// feature, in the same order. Products over rows widen rows as they load them and multiply
// them in pairs, in the same order.
#pragma once

#include "../GpuProduct.h"

namespace heddle {

/// Order of steps that puts the odd one of each pair first.
inline int64_t oddFirst(int64_t step, int64_t steps) { return steps > 1 ? step ^ 1 : step; }

/// Product over features.
struct Bf16Dot2 : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return !op.isOverRows() && op.getFormat().weights == DType::BF16;
  }

  bool widens() const override { return isCrosswise(); }
  int64_t word() const override { return widens() ? 1 : 2; }
  int64_t inOrder(int64_t step, int64_t steps) const override {
    return widens() ? oddFirst(step, steps) : step;
  }
  mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded) override;
};

/// Product over rows.
struct Bf16Rows : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return op.isOverRows() && op.getFormat().weights == DType::BF16;
  }

  int64_t inOrder(int64_t step, int64_t steps) const override { return oddFirst(step, steps); }
  mlir::Value middleLoops(mlir::Value from, Registers &sums) override;
};

} // namespace heddle
