//===- GpuNibbles.cpp - Weights of i4 on Vulkan ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes as Support/Program.h stores them. A quad of words is eight features of
// four columns; two words more are the scales that these columns share with 24
// other features.
#include "GpuProduct.h"

#include "heddle/Support/Program.h"

using namespace mlir;
using heddle::kernel::ContractOp;
using heddle::kernel::Place;

namespace heddle {

/// Features of a word, in which places of i4 are counted; words of a line.
static constexpr int64_t wordFeatures = 8, lineWords = 16;

/// Words of the codes of features 0 to 7, and of their scales.
void GpuEmitter::placeNibbles(ContractOp op, Product &product) {
  product.nibbles = true;
  product.unroll = wordFeatures;
  int64_t columns = columnsOf(op.getType()),
          panel = nibblePanelBytes(product.right.type.getDims().back().extent.value) / 4;
  Value first = add(scalar(op.getRhsIndex()), columnBase(columns));
  for (int64_t j = 0; j < product.shape.vectors; ++j) {
    Value column = add(first, constant(vectorColumn(j, columns)));
    Value inside = arith::AndIOp::create(builder, loc, column, constant(15));
    Value start = mul(arith::ShRUIOp::create(builder, loc, column, constant(4)), panel);
    auto placeOf = [&](Value words) -> Place {
      return {add(product.right.offset, mul(add(start, words), wordFeatures)), 0};
    };
    product.rightPlaces.push_back(placeOf(inside));
    product.scalePlaces.push_back(
        placeOf(arith::ShRUIOp::create(builder, loc, inside, constant(1))));
  }
}

/// Four columns at feature k + u; words and scales are loaded with the first of eight features.
SmallVector<Value> GpuEmitter::decodedQuads(const Product &product, Value k, int64_t u,
                                            SmallVectorImpl<Value> &loaded) {
  int64_t vectors = product.shape.vectors;
  if (u == 0) {
    loaded.clear();
    // Two words a feature, and a line of scales in each block.
    Value blocks = arith::ShRUIOp::create(builder, loc, k, constant(6));
    Value far = mul(add(mul(k, 2), mul(blocks, lineWords)), wordFeatures);
    for (Place place : product.rightPlaces)
      loaded.push_back(
          asWords(spirv::LoadOp::create(builder, loc, quadAt(product.right, moved(place, far)))));
    for (Place place : product.scalePlaces)
      loaded.push_back(nibbleScales(product, place, k));
  }
  SmallVector<Value> right;
  for (int64_t j = 0; j < vectors; ++j)
    right.push_back(decodedNibbles(loaded[j], loaded[vectors + j], u));
  return right;
}

/// The scales of four columns in the group that holds feature k.
Value GpuEmitter::nibbleScales(const Product &product, Place place, Value k) {
  Value block = arith::ShRUIOp::create(builder, loc, k, constant(6));
  Value second = arith::AndIOp::create(
      builder, loc, arith::ShRUIOp::create(builder, loc, k, constant(5)), constant(1));
  Value words = add(mul(block, 9 * lineWords), mul(second, lineWords / 2));
  place = moved(place, mul(words, wordFeatures), 8 * lineWords * wordFeatures);
  Value low = spirv::LoadOp::create(builder, loc, wordAt(product.right, place));
  Value high =
      spirv::LoadOp::create(builder, loc, wordAt(product.right, moved(place, {}, wordFeatures)));
  return unpackFour(low, high, builder.getF16Type());
}

} // namespace heddle
