//===- Int8Dot4.cpp - Products of bytes, four at once ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A word holds four features, so that a step multiplies four; sums are i32.

#include "../GpuProduct.h"

using namespace mlir;
using namespace heddle;

namespace {
struct Int8Dot4 : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ContractOp op, const GpuTarget &) {
    return op.getFormat().weights == DType::I8;
  }

  int64_t word() const override { return 4; }

  Value step(Value a, Value b, Value c, bool) override { return e.dot4(a, b, c); }
};
} // namespace

const GpuProductStrategy heddle::gpuInt8Dot4 = gpuStrategyOf<Int8Dot4>();
