//===- F16Widened.cpp - Products with f16, summed in f32 ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with f16 weights. Loads widen both sides to f32. k counts features as
// with f32; an iteration has an even number, because two share a word.

#include "../GpuProduct.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;

namespace {
struct F16Widened : GpuProduct {
  F16Widened(GpuEmitter &emitter, kernel::ProductOpInterface op)
      : GpuProduct(emitter, op, {.grain = 2}) {}
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return !op.isOverRows() && op.getFormat().weights == DType::F16;
  }

  /// An even step keeps the odd halves of its words for the next step.
  Registers loadRight(Value k, int64_t u, Registers &odd) override {
    if (u % 2 != 0)
      return odd;
    Value far = e.mul(k, right->step);
    Registers even;
    odd.clear();
    for (Address place : right->places) {
      Value words = e.asWords(right->vec4(e.moved(place, far, u * right->step)));
      auto [low, high] = e.words.unpack(words, rightView().type.getElementType());
      odd.push_back(high);
      even.push_back(low);
    }
    return even;
  }
};
} // namespace

const GpuProductStrategy heddle::gpuF16Widened = gpuStrategyOf<F16Widened>();
