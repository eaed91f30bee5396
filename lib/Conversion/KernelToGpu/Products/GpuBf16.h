//===- GpuBf16.h - Products of bf16 on the GPU ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 (Bf16Dot2.cpp). A word of a panel holds two features, so a step multiplies
// two, the odd one first. If an invocation has several rows of a staged block, staging widens
// the words once for all invocations that multiply them. A step is then one feature, in the
// same order. Products over rows widen rows as they load them and multiply them two at a
// time, in the same order.
#pragma once

#include "../GpuProduct.h"

namespace heddle {

/// Product over features, two at once.
struct Bf16Dot2 : GpuProduct {
  Bf16Dot2(GpuEmitter &emitter, kernel::ProductOpInterface op, int64_t grain = 1)
      : GpuProduct(emitter, op, {.word = 2, .grain = grain}) {}
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return !op.isOverRows() && op.getFormat().weights == DType::BF16;
  }

  mlir::Value step(mlir::Value a, mlir::Value b, mlir::Value c, bool guarded) override;
};

/// Products of f32 in the order of bf16: the odd step of two is first.
struct OddFirst : GpuProduct {
  using GpuProduct::GpuProduct;
  int64_t inOrder(int64_t step, int64_t steps) const override {
    return steps > 1 ? step ^ 1 : step;
  }
};

/// Product over rows.
struct Bf16Rows : OddFirst {
  using OddFirst::OddFirst;
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return op.isOverRows() && op.getFormat().weights == DType::BF16;
  }

  mlir::Value middleLoops(mlir::Value from, Registers &sums) override;
};

} // namespace heddle
