//===- Int4.cpp - Products with weights of i4 -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes as Support/Formats.h stores them. Four words are eight features of four
// columns; two words more are the scales that these columns share with 24 other
// features.

#include "../GpuProduct.h"

#include "heddle/Dialect/Kernel/Transforms/BodyNibbles.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Address;

/// Features of a word, in which places of i4 are counted; words of a line.
static constexpr int64_t wordFeatures = 8, lineWords = 16;

namespace {
struct Int4 : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ContractOp op, const GpuTarget &) {
    return op.getFormat().weights == DType::I4;
  }

  int64_t unrolled() const override { return wordFeatures; }

  /// Words of the codes of features 0 to 7, and of their scales.
  void placeRight() override {
    int64_t columns = GpuEmitter::columnsOf(op.getType()),
            panel = panelBytes(DType::I4, right().type.getDims().back().extent.value) / 4;
    Value first = e.add(e.scalar(op.getRhsIndex()), e.columnBase(columns));
    for (int64_t j = 0; j < shape.vectors; ++j) {
      Value column = e.add(first, e.constant(e.vectorColumn(j, columns)));
      Value inside = arith::AndIOp::create(builder, loc, column, e.constant(15));
      Value start =
          e.mul(arith::ShRUIOp::create(builder, loc, column, e.constant(4)).getResult(), panel);
      auto placeOf = [&](Value words) -> Address {
        return {e.add(right().offset, e.mul(e.add(start, words), wordFeatures)), 0};
      };
      rightPlaces.push_back(placeOf(inside));
      scalePlaces.push_back(placeOf(arith::ShRUIOp::create(builder, loc, inside, e.constant(1))));
    }
  }

  /// Words and scales are loaded with the first of eight features.
  Registers loadRight(Value k, int64_t u, Registers &loaded) override {
    if (u == 0)
      loadWords(k, loaded);
    Registers decoded;
    for (int64_t j = 0; j < shape.vectors; ++j)
      decoded.push_back(decodedNibbles(e, loaded[j], loaded[shape.vectors + j], u));
    return decoded;
  }

private:
  void loadWords(Value k, Registers &loaded) {
    loaded.clear();
    // Two words a feature, and a line of scales in each block.
    Value blocks = arith::ShRUIOp::create(builder, loc, k, e.constant(6));
    Value far = e.mul(e.add(e.mul(k, 2), e.mul(blocks, lineWords)), wordFeatures);
    for (Address place : rightPlaces)
      loaded.push_back(
          e.asWords(spirv::LoadOp::create(builder, loc, e.vec4At(right(), e.moved(place, far)))));
    for (Address place : scalePlaces)
      loaded.push_back(scales(place, k));
  }

  /// The scales of four columns in the group that holds feature k.
  Value scales(Address place, Value k) {
    Value block = arith::ShRUIOp::create(builder, loc, k, e.constant(6));
    Value second = arith::AndIOp::create(
        builder, loc, arith::ShRUIOp::create(builder, loc, k, e.constant(5)), e.constant(1));
    Value words = e.add(e.mul(block, 9 * lineWords), e.mul(second, lineWords / 2));
    place = e.moved(place, e.mul(words, wordFeatures), 8 * lineWords * wordFeatures);
    Value low = spirv::LoadOp::create(builder, loc, e.wordAt(right(), place));
    Value high =
        spirv::LoadOp::create(builder, loc, e.wordAt(right(), e.moved(place, {}, wordFeatures)));
    return e.unpackFour(low, high, builder.getF16Type());
  }

  SmallVector<Address> scalePlaces; ///< like rightPlaces
};
} // namespace

const GpuProductStrategy heddle::gpuInt4 = gpuStrategyOf<Int4>();
