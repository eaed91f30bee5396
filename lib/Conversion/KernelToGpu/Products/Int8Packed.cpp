//===- Int8Packed.cpp - Products of bytes by packed dot products ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes that multiply four features in one instruction, for tiles of many rows
// on devices with packed dot products of signed bytes. Rows hold 128 + code. Staging subtracts
// the 128, as centered products require.

#include "../GpuProduct.h"

using namespace mlir;
using namespace heddle;

namespace {
struct Int8Packed : GpuProduct {
  Int8Packed(GpuEmitter &emitter, kernel::ProductOpInterface op)
      : GpuProduct(emitter, op, {.word = 4, .signsRows = true, .fetchesLate = true}) {}
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &target) {
    auto contract = dyn_cast<kernel::ContractOp>(*op);
    return contract && contract.getCentered() && target.packedDots;
  }

  Value step(Value a, Value b, Value c, bool) override {
    return arith::AddIOp::create(builder, loc, c, e.words.dots(a, b));
  }
};
} // namespace

const GpuProductStrategy heddle::gpuInt8Packed = gpuStrategyOf<Int8Packed>();
