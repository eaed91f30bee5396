//===- Int8Dot4.cpp - Products of bytes, four at once ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes in f32. A step multiplies the four features of a word. Bytes
// are widened because devices multiply 32-bit integers at a quarter of the rate
// of f32 or less. A product is at most 255 * 127, so sums of a block of features
// are exact integers below 2^24. After each block they are added to i32 sums.

#include "../GpuProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace heddle;

namespace {
struct Int8Dot4 : GpuProduct {
  Int8Dot4(GpuEmitter &emitter, kernel::ProductOpInterface op)
      : GpuProduct(emitter, op, {.word = 4}) {
    auto contract = dyn_cast<kernel::ContractOp>(*op);
    isCentered = contract && contract.getCentered();
  }
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return op.getFormat().weights == DType::I8;
  }

  Value step(Value a, Value b, Value c, bool) override {
    Value base = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(-128));
    for (int64_t byte = 0; byte < form.word; ++byte) {
      Value left = e.words.byteAsFloat(a, byte, /*isSigned=*/false);
      if (isCentered)
        left = e.addf(left, e.splat(base, left.getType()));
      c = e.fma(left, e.words.byteAsFloat(b, byte, /*isSigned=*/true), c);
    }
    return c;
  }

  void sumProducts(Registers &sums) override {
    static_assert(blockWords * 4 * 255 * 127 < 1 << 24, "sums of a block are exact");
    int64_t words = *e.constantOf(count); // features are static
    if (words <= blockWords)
      return addSteps(e.constant(0), words, Value(), sums);
    int64_t whole = words / blockWords * blockWords;
    e.loopOver(e.constant(0), e.constant(whole), blockWords, sums,
               [&](Value first) { addSteps(first, blockWords, Value(), sums); });
    if (whole < words)
      addSteps(e.constant(whole), words - whole, Value(), sums);
  }

  /// Adds at most `blockWords` words, whose products are summed in f32.
  void addSteps(Value first, int64_t words, Value start, Registers &sums) override {
    Registers floatSums(sums.size(), e.zeroVector());
    GpuProduct::addSteps(first, words, start, floatSums);
    for (auto [sum, floats] : llvm::zip(sums, floatSums)) {
      Value integers = arith::FPToSIOp::create(builder, loc, sum.getType(), floats);
      sum = arith::AddIOp::create(builder, loc, sum, integers);
    }
  }

private:
  /// A multiple of the words of a vec4; staged blocks are not longer.
  static constexpr int64_t blockWords = 128;
  bool isCentered = false; ///< rows hold 128 + code, and codes are summed
};
} // namespace

const GpuProductStrategy heddle::gpuInt8Dot4 = gpuStrategyOf<Int8Dot4>();
