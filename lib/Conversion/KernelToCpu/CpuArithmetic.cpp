//===- CpuArithmetic.cpp - Conversions and powers on the CPU --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between f32 and narrow formats, and dot products of bytes. Both use the target's
// instructions where it has them.
//
// dot4 adds the four products of the bytes of two words to c. With vpdpbusd this is one
// instruction. Other x86 targets widen even and odd bytes to 16 bits in separate vectors, and
// vpmaddwd adds two products of each. Other processors widen each byte to a word.
//
//   a = a3 a2 a1 a0    even: a2 a0, odd: a3 a1
//   c + (a2 b2 + a0 b0) + (a3 b3 + a1 b1)
//
// Nothing is rounded or saturated, so all instruction sets produce the same result.

#include "CpuEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle::kernel;

Value CpuEmitter::instruction(StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, result, builder.getStringAttr(name), operands)
      .getResult(0);
}

/// Uses vscalefps, which is exact unless the result is denormal; the mask flushes denormals to 0.
Value CpuEmitter::scaleByPower(Value x, Value n) {
  auto floats = dyn_cast<VectorType>(x.getType());
  if (!floats || target.lanes != 16)
    return BodyEmitter::scaleByPower(x, n);
  Value low = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(floats, -125.0f));
  Value kept = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGE, n, low);
  kept = LLVM::BitcastOp::create(builder, loc, builder.getI16Type(), kept);
  SmallVector<Value> operands{x, n, zeroVector(), kept,
                              wordConstant(4, builder.getI32Type())}; // the current rounding mode
  return LLVM::CallIntrinsicOp::create(builder, loc, floats,
                                       builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                       operands)
      .getResult(0);
}

/// Rounds to bf16 or f16, held as 16 bits, or truncates integers to their low byte.
Value CpuEmitter::narrow(Value value, Type element) {
  if (element.isF16())
    return narrowedToHalf(value);
  auto type = cast<VectorType>(value.getType());
  if (element.isInteger(8))
    return arith::TruncIOp::create(builder, loc, VectorType::get(type.getShape(), element), value);
  auto bits = VectorType::get(type.getShape(), builder.getI16Type());
  if (target.bf16Dot2) {
    auto rounded = VectorType::get(type.getShape(), builder.getBF16Type());
    Value made = LLVM::CallIntrinsicOp::create(
                     builder, loc, rounded,
                     builder.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"), value)
                     .getResult(0);
    return arith::BitcastOp::create(builder, loc, bits, made);
  }
  Value words = roundedWords(value);
  words = arith::ShRUIOp::create(builder, loc, words, wordConstant(16, words.getType()));
  return arith::TruncIOp::create(builder, loc, bits, words);
}

/// Widens f16, held as 16 bits, to f32.
Value CpuEmitter::widened(Value bits) {
  if (!widensHalves())
    return widenedHalves(arith::ExtUIOp::create(
        builder, loc, withElement(bits.getType(), builder.getI32Type()), bits));
  Value halves = arith::BitcastOp::create(builder, loc,
                                          withElement(bits.getType(), builder.getF16Type()), bits);
  return arith::ExtFOp::create(builder, loc, withElement(bits.getType(), builder.getF32Type()),
                               halves);
}

/// Rounds f32 to f16, held as 16 bits.
Value CpuEmitter::narrowedToHalf(Value value) {
  Type bits = withElement(value.getType(), builder.getI16Type());
  if (!target.has("f16c"))
    return arith::TruncIOp::create(builder, loc, bits, roundedHalves(value));
  Value halves = arith::TruncFOp::create(builder, loc,
                                         withElement(value.getType(), builder.getF16Type()), value);
  return arith::BitcastOp::create(builder, loc, bits, halves);
}

/// Widens the even (low) and odd (high) f16 of words to f32.
std::pair<Value, Value> CpuEmitter::widenedPair(Value words) {
  if (!widensHalves())
    return {widenedHalves(
                arith::AndIOp::create(builder, loc, words, wordConstant(0xffff, words.getType()))),
            widenedHalves(
                arith::ShRUIOp::create(builder, loc, words, wordConstant(16, words.getType())))};
  Value all = vector::BitCastOp::create(builder, loc,
                                        VectorType::get({2 * width}, builder.getI16Type()), words);
  auto half = [&](int64_t first) {
    SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < width; ++lane)
      lanes.push_back(2 * lane + first);
    return widened(vector::ShuffleOp::create(builder, loc, all, all, lanes));
  };
  return {half(0), half(1)};
}

Value CpuEmitter::widened(Value elements, Type type, Value scale) {
  if (type.isF32())
    return elements;
  if (type.isF16())
    return widened(elements);
  Type words = withElement(elements.getType(), builder.getI32Type());
  if (type.isBF16())
    return asFloats(arith::ShLIOp::create(builder, loc,
                                          arith::ExtUIOp::create(builder, loc, words, elements),
                                          wordConstant(16, words)));
  Value code = arith::SIToFPOp::create(builder, loc, withElement(words, builder.getF32Type()),
                                       arith::ExtSIOp::create(builder, loc, words, elements));
  return arith::MulFOp::create(builder, loc, code, scale);
}

Registers CpuEmitter::widenedWords(Value words, Type type, Value scale) {
  if (type.isF32())
    return {asFloats(words)};
  if (type.isF16() || type.isBF16()) {
    auto [even, odd] = type.isF16() ? widenedPair(words) : halvesOf(words);
    return {even, odd};
  }
  Registers parts;
  for (int64_t byte = 0; byte < 4; ++byte) {
    Value code =
        arith::SIToFPOp::create(builder, loc, withElement(words.getType(), builder.getF32Type()),
                                byteOf(words, byte, /*isSigned=*/true));
    parts.push_back(arith::MulFOp::create(builder, loc, code, scale));
  }
  return parts;
}

/// The two are rounded separately: LLVM has no instruction for both if 256-bit vectors are
/// preferred.
Value CpuEmitter::bf16Pairs(Value low, Value high) {
  auto words = VectorType::get({width}, builder.getI32Type());
  Value sixteen = wordConstant(16, words), even, odd;
  if (target.bf16Dot2) {
    Type bf16 = builder.getBF16Type();
    even = arith::ExtUIOp::create(builder, loc, words, narrow(low, bf16));
    odd = arith::ExtUIOp::create(builder, loc, words, narrow(high, bf16));
    odd = arith::ShLIOp::create(builder, loc, odd, sixteen);
  } else {
    even = arith::ShRUIOp::create(builder, loc, roundedWords(low), sixteen);
    odd = roundedWords(high);
  }
  return arith::OrIOp::create(builder, loc, even, odd);
}

//===- Products of bytes -------------------------------------------------===//

Value CpuEmitter::dot4(Value a, Value b, Value c) {
  if (!isX86())
    return BodyEmitter::dot4(a, b, c);
  if (!target.int8Dot4) {
    Shorts left = shortsOf(a, /*isSigned=*/false), right = shortsOf(b, /*isSigned=*/true);
    return multiplyAddShorts(left.odd, right.odd, multiplyAddShorts(left.even, right.even, c));
  }
  auto bytes = VectorType::get({4 * width}, builder.getI8Type());
  return instruction(formOf("llvm.x86.avx512.vpdpbusd.128", "llvm.x86.avx512.vpdpbusd.256",
                            "llvm.x86.avx512.vpdpbusd.512"),
                     c.getType(),
                     {c, vector::BitCastOp::create(builder, loc, bytes, a),
                      vector::BitCastOp::create(builder, loc, bytes, b)});
}

CpuEmitter::Shorts CpuEmitter::shortsOf(Value words, bool isSigned) {
  Shorts &known = knownShorts[isSigned][words];
  if (known.even)
    return known;
  auto shorts = VectorType::get({2 * width}, builder.getI16Type());
  auto constant = [&](int16_t value) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(shorts, value));
  };
  Value bits = vector::BitCastOp::create(builder, loc, shorts, words), eight = constant(8);
  if (isSigned)
    return known = {arith::ShRSIOp::create(builder, loc,
                                           arith::ShLIOp::create(builder, loc, bits, eight), eight),
                    arith::ShRSIOp::create(builder, loc, bits, eight)};
  return known = {arith::AndIOp::create(builder, loc, bits, constant(0xff)),
                  arith::ShRUIOp::create(builder, loc, bits, eight)};
}

Value CpuEmitter::multiplyAddShorts(Value a, Value b, Value c) {
  Value sums = instruction(
      formOf("llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx512.pmaddw.d.512"),
      c.getType(), {a, b});
  return arith::AddIOp::create(builder, loc, c, sums);
}
