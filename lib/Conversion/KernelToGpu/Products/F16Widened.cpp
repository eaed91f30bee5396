//===- F16Widened.cpp - Products with f16, summed in f32 ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with f16 weights. Loads widen both sides to f32. k counts features as
// with f32; an iteration has pairs of them, because two share a word.

#include "../GpuProduct.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;

namespace {
struct F16Widened : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &) {
    return !op.isOverRows() && op.getFormat().weights == DType::F16;
  }

  int64_t grain() const override { return 2; }

  /// An even step keeps the odd halves of its words for the next step.
  Registers loadRight(Value k, int64_t u, Registers &odd) override {
    if (u % 2 != 0)
      return odd;
    Value far = e.mul(k, rightStep);
    Registers even;
    odd.clear();
    for (Address place : rightPlaces) {
      Value words = e.asWords(rightQuad(e.moved(place, far, u * rightStep)));
      auto [low, high] = e.words.unpack(words, right().type.getElementType());
      odd.push_back(high);
      even.push_back(low);
    }
    return even;
  }

  /// `place` is the start of a word; `loaded` caches the vec4 of an iteration or the pair of a
  /// word.
  Value loadLeft(Value &loaded, Address place, int64_t u, bool whole) override {
    const kernel::BoundView left = e.view(op.getLhs());
    if (!left.type.getElementType().isF16())
      return GpuProduct::loadLeft(loaded, place, u, whole);
    if (!loaded && whole)
      loaded = e.loadVector(left, e.moved(place, Value(), u / vec4 * vec4));
    if (!loaded) {
      Value word = e.asWords(e.memory.loadWord(left, place));
      auto [even, odd] = e.words.unpack(word, left.type.getElementType());
      loaded = vector::FromElementsOp::create(
          builder, loc, VectorType::get({2}, builder.getF32Type()), ValueRange{even, odd});
    }
    return vector::ExtractOp::create(builder, loc, loaded, u % vec4);
  }

  /// An even step keeps the odd halves, as on the right.
  Registers loadCrosswise(Value k, int64_t u, Registers &odd) override {
    Type element = e.view(op.getLhs()).type.getElementType();
    if (!element.isF16())
      return GpuProduct::loadCrosswise(k, u, odd);
    if (u % 2 != 0)
      return rowsOf(odd);
    Value half = builder.createOrFold<arith::ShRUIOp>(loc, k, e.constant(1));
    Registers even;
    odd.clear();
    for (Value quad : leftWords(e.add(half, e.constant(u / 2)))) {
      auto [low, high] = e.words.unpack(e.asWords(quad), element);
      even.push_back(low);
      odd.push_back(high);
    }
    return rowsOf(even);
  }

  /// A vec4 of words holds eight features.
  Value loadStagedLeft(Value &loaded, Value k, int64_t row, int64_t u) override {
    Type element = e.view(op.getLhs()).type.getElementType();
    if (!element.isF16())
      return GpuProduct::loadStagedLeft(loaded, k, row, u);
    if (!loaded) {
      Value eighth = builder.createOrFold<arith::ShRUIOp>(loc, k, e.constant(3));
      Value quad = leftQuad(row, e.add(eighth, e.constant(u / 8)));
      auto wordOf = [&](int64_t word) -> Value {
        return vector::ExtractOp::create(builder, loc, quad, word);
      };
      int64_t first = u % 8 / 2;
      loaded = e.words.unpackFour(wordOf(first), wordOf(first + 1), element);
    }
    return vector::ExtractOp::create(builder, loc, loaded, u % vec4);
  }
};
} // namespace

const GpuProductStrategy heddle::gpuF16Widened = gpuStrategyOf<F16Widened>();
