//===- BodyF16.cpp - f16 by integer arithmetic -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts between f16 and f32 by integer arithmetic, for targets without an
// exact instruction. No f32 denormal occurs, so the denormal mode of a kernel
// changes no bit. An f16 denormal corresponds to a normal f32: one exact
// subtraction widens it, and one addition rounds to it.

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

using namespace mlir;
using namespace heddle::kernel;

namespace {
/// Shorthand for ops on words and constants of their type.
struct Words {
  OpBuilder &builder;
  Location loc;
  llvm::function_ref<Value(uint32_t)> constant;

  Value masked(Value x, uint32_t mask) const {
    return arith::AndIOp::create(builder, loc, x, constant(mask));
  }
  Value left(Value x, uint32_t bits) const {
    return arith::ShLIOp::create(builder, loc, x, constant(bits));
  }
  Value right(Value x, uint32_t bits) const {
    return arith::ShRUIOp::create(builder, loc, x, constant(bits));
  }
  Value plus(Value x, uint32_t y) const {
    return arith::AddIOp::create(builder, loc, x, constant(y));
  }
  Value either(Value x, Value y) const { return arith::OrIOp::create(builder, loc, x, y); }
  /// Returns `x < limit ? below : other` for words without a sign bit.
  Value below(Value x, uint32_t limit, Value below, Value other) const {
    Value isBelow =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, x, constant(limit));
    return arith::SelectOp::create(builder, loc, isBelow, below, other);
  }
};
} // namespace

/// Adjusts the exponent bias, which is larger by 112 in f32 (0x38000000 = 112 << 23). A denormal
/// m * 2^-24 equals 2^-14 * (1 + m / 1024) - 2^-14, an exact subtraction.
Value BodyEmitter::widenedHalves(Value words) {
  auto constant = [&](uint32_t word) {
    return wordConstant(static_cast<int32_t>(word), words.getType());
  };
  Words w{builder, loc, constant};
  Value magnitude = w.masked(words, 0x7fff), moved = w.left(magnitude, 13);
  Value bias = constant(0x38800000);
  Value denormal = asWords(arith::SubFOp::create(
      builder, loc, asFloats(arith::AddIOp::create(builder, loc, moved, bias)), asFloats(bias)));
  Value special = w.either(moved, constant(0x7f800000));
  Value finite = w.below(magnitude, 0x400, denormal, w.plus(moved, 0x38000000));
  Value all = w.below(magnitude, 0x7c00, finite, special);
  return asFloats(w.either(all, w.left(w.masked(words, 0x8000), 16)));
}

/// Rounds to nearest, ties to even. For denormals the addition of 0.5 rounds, because f32 values
/// next to 0.5 are multiples of 2^-24, the unit of f16 denormals.
Value BodyEmitter::roundedHalves(Value floats) {
  Value bits = asWords(floats);
  auto constant = [&](uint32_t word) {
    return wordConstant(static_cast<int32_t>(word), bits.getType());
  };
  Words w{builder, loc, constant};
  Value magnitude = w.masked(bits, 0x7fffffff), half = constant(0x3f000000);
  Value small = asWords(arith::AddFOp::create(builder, loc, asFloats(magnitude), asFloats(half)));
  small = arith::SubIOp::create(builder, loc, small, half);
  Value odd = w.masked(w.right(magnitude, 13), 1);
  Value rounded = arith::AddIOp::create(builder, loc, w.plus(magnitude, 0xfff), odd);
  Value normal = w.plus(w.right(rounded, 13), static_cast<uint32_t>(-0x1c000));
  Value nan = w.either(w.masked(w.right(magnitude, 13), 0x3ff), constant(0x7e00));
  // f16 is denormal below 2^-14 (0x38800000) and infinite from 65520 (0x477ff000).
  Value special = w.below(magnitude, 0x7f800001, constant(0x7c00), nan);
  Value finite = w.below(magnitude, 0x38800000, small, normal);
  Value all = w.below(magnitude, 0x477ff000, finite, special);
  return w.either(all, w.masked(w.right(bits, 16), 0x8000));
}
