//===- BodyNibbles.cpp - Codes of four bits as floats -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes are stored as 8 + q and become floats without a conversion. The mantissa of
// 2^e counts in steps of 2^(e - 23), so a code whose bits begin at place 23 - e, below
// the exponent of 2^e, is 2^e + 8 + q. Three of the eight codes of a word can stay
// where they are, the others do so after one of two shifts that they share:
//
//   bits 31 .............. 20 19 .......... 8 7 ...... 0
//   code    7     6     5      4    3    2     1    0
//           12 to the right    as they are     8 to the left
//
// One subtraction leaves q, one multiplication makes d * q: 11 bits times 4. Nothing
// is rounded, and nothing is a denormal.

#include "heddle/Dialect/Kernel/Transforms/BodyNibbles.h"

using namespace mlir;
using namespace heddle::kernel;

Value heddle::kernel::decodedNibbles(BodyEmitter &e, Value words, Value scales, int64_t number) {
  OpBuilder &builder = e.builder;
  Location loc = e.loc;
  auto constant = [&](int64_t word) {
    return e.wordConstant(static_cast<int32_t>(word), words.getType());
  };
  int64_t place = 4 * number;
  if (number < 2) {
    words = arith::ShLIOp::create(builder, loc, words, constant(8));
    place += 8;
  } else if (number > 4) {
    words = arith::ShRUIOp::create(builder, loc, words, constant(12));
    place -= 12;
  }
  int64_t power = 23 - place;
  words = arith::AndIOp::create(builder, loc, words, constant(15 << place));
  words = arith::OrIOp::create(builder, loc, words, constant((127 + power) << 23));
  auto zero = DenseElementsAttr::get(cast<VectorType>(scales.getType()),
                                     static_cast<float>((1 << power) + 8));
  Value code = arith::SubFOp::create(builder, loc, e.asFloats(words),
                                     arith::ConstantOp::create(builder, loc, zero));
  return arith::MulFOp::create(builder, loc, scales, code);
}
