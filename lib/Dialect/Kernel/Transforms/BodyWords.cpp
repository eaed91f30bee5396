//===- BodyWords.cpp - Words as numbers, numbers as words -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic on words of 4 bytes. A word is either the bits of an f32,
// for powers of two and rounding, or several packed elements (two bf16 or four
// bytes, the even one low). Unpacking is exact; its results are cached because
// several products read them.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

using namespace mlir;
using namespace heddle::kernel;

Type BodyEmitter::withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

/// Builds the power of two from its exponent bits.
Value BodyEmitter::scaleByPower(Value x, Value n) {
  auto floats = [&](float value) -> Value {
    auto vector = dyn_cast<VectorType>(n.getType());
    return arith::ConstantOp::create(builder, loc,
                                     vector ? TypedAttr(DenseElementsAttr::get(vector, value))
                                            : TypedAttr(builder.getF32FloatAttr(value)));
  };
  Value low = floats(-125.0f);
  Value words = arith::FPToSIOp::create(
      builder, loc, withElement(n.getType(), builder.getI32Type()), larger(n, low));
  words = arith::AddIOp::create(builder, loc, words, wordConstant(127, words.getType()));
  words = arith::ShLIOp::create(builder, loc, words, wordConstant(23, words.getType()));
  Value isLow = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, n, low);
  Value power = select(isLow, floats(0.0f), asFloats(words));
  return arith::MulFOp::create(builder, loc, x, power);
}

Value BodyEmitter::asWords(Value floats) {
  return arith::BitcastOp::create(builder, loc, withElement(floats.getType(), builder.getI32Type()),
                                  floats);
}

Value BodyEmitter::asFloats(Value words) {
  return arith::BitcastOp::create(builder, loc, withElement(words.getType(), builder.getF32Type()),
                                  words);
}

Value BodyEmitter::wordConstant(int32_t word, Type like) {
  auto vector = dyn_cast<VectorType>(like);
  TypedAttr value = vector ? TypedAttr(DenseElementsAttr::get(vector, word))
                           : TypedAttr(builder.getI32IntegerAttr(word));
  return arith::ConstantOp::create(builder, loc, value);
}

std::pair<Value, Value> BodyEmitter::halvesOf(Value words) {
  auto &known = halves[words];
  if (!known.first) {
    Type type = words.getType();
    Value even = arith::ShLIOp::create(builder, loc, words, wordConstant(16, type));
    Value odd = arith::AndIOp::create(builder, loc, words,
                                      wordConstant(static_cast<int32_t>(0xffff0000), type));
    known = {asFloats(even), asFloats(odd)};
  }
  return known;
}

/// Rounds to nearest, ties to even, by adding 0x7fff plus the last kept bit.
Value BodyEmitter::nearestWords(Value floats) {
  Value bits = asWords(floats);
  Type type = bits.getType();
  Value odd = arith::AndIOp::create(
      builder, loc, arith::ShRUIOp::create(builder, loc, bits, wordConstant(16, type)),
      wordConstant(1, type));
  Value half = arith::AddIOp::create(builder, loc, odd, wordConstant(0x7fff, type));
  return arith::AddIOp::create(builder, loc, bits, half);
}

/// Rounds to nearest, ties to even; keeps NaN, flushes denormals to zero.
Value BodyEmitter::roundedWords(Value floats) {
  Value bits = asWords(floats);
  Type type = bits.getType();
  auto constant = [&](uint32_t word) { return wordConstant(static_cast<int32_t>(word), type); };
  auto masked = [&](Value words, uint32_t mask) -> Value {
    return arith::AndIOp::create(builder, loc, words, constant(mask));
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value words, uint32_t with) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, words, constant(with));
  };
  Value rounded = masked(nearestWords(floats), 0xffff0000);
  Value magnitude = masked(bits, 0x7fffffff);
  Value isNan = compare(arith::CmpIPredicate::sgt, magnitude, 0x7f800000);
  Value quiet = arith::OrIOp::create(builder, loc, masked(bits, 0xffff0000), constant(0x400000));
  rounded = select(isNan, quiet, rounded);
  Value isSmall = compare(arith::CmpIPredicate::slt, magnitude, 0x800000);
  return select(isSmall, masked(bits, 0x80000000), rounded);
}

/// Extracts one byte of each word as i32; cached.
Value BodyEmitter::byteOf(Value words, int64_t byte, bool isSigned) {
  Value &known = bytes[{words, 2 * byte + isSigned}];
  if (known)
    return known;
  Type type = words.getType();
  auto by = [&](int64_t bits) { return wordConstant(static_cast<int32_t>(bits), type); };
  if (!isSigned) {
    Value low =
        byte ? arith::ShRUIOp::create(builder, loc, words, by(8 * byte)).getResult() : words;
    return known = byte == 3 ? low : arith::AndIOp::create(builder, loc, low, by(0xff)).getResult();
  }
  Value high =
      byte == 3 ? words : arith::ShLIOp::create(builder, loc, words, by(24 - 8 * byte)).getResult();
  return known = arith::ShRSIOp::create(builder, loc, high, by(24));
}

/// Shifts the element of each lane to the high end of the lane, which drops the elements above it.
/// The elements below are masked, or dropped by the shift back, which extends the signs of codes.
Value BodyEmitter::widenedLanes(Value words, Type element) {
  const auto inWord = static_cast<int32_t>(perWord(element));
  if (inWord == 1)
    return asFloats(words);
  auto type = cast<VectorType>(words.getType());
  const int32_t bits = 32 / inWord;
  SmallVector<int32_t> shifts;
  for (int32_t lane = 0; lane < type.getDimSize(0); ++lane)
    shifts.push_back((inWord - 1 - lane % inWord) * bits);
  Value high = arith::ShLIOp::create(
      builder, loc, words,
      arith::ConstantOp::create(builder, loc, DenseIntElementsAttr::get(type, shifts)));
  if (element.isBF16())
    return asFloats(arith::AndIOp::create(builder, loc, high,
                                          wordConstant(static_cast<int32_t>(0xffff0000), type)));
  Value low = wordConstant(32 - bits, type);
  if (element.isF16())
    return widenedHalves(arith::ShRUIOp::create(builder, loc, high, low));
  return arith::SIToFPOp::create(builder, loc, withElement(type, builder.getF32Type()),
                                 arith::ShRSIOp::create(builder, loc, high, low));
}

Value BodyEmitter::dot4(Value a, Value b, Value c) {
  for (int64_t byte = 0; byte < 4; ++byte) {
    Value product = arith::MulIOp::create(builder, loc, byteOf(a, byte, /*isSigned=*/false),
                                          byteOf(b, byte, /*isSigned=*/true));
    c = arith::AddIOp::create(builder, loc, c, product);
  }
  return c;
}
