//===- Int8Dot4.cpp - Products of bytes, four at once --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// c + the four products of the bytes of two words: one instruction (vpdpbusd) where there is one.
// Other x86 targets widen bytes to 16 bits, even ones in one vector and odd ones in another, and
// vpmaddwd adds two products of each. Other processors widen each byte to a word.
//
//   a = a3 a2 a1 a0    even: a2 a0, odd: a3 a1
//   c + (a2 b2 + a0 b0) + (a3 b3 + a1 b1)
//
// Nothing is rounded or saturated, so that all instruction sets agree.

#include "../CpuProduct.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::kernel;

/// The intrinsic for vectors of `width` words.
static StringRef formOf(int64_t width, StringRef of4, StringRef of8, StringRef of16) {
  return width == 4 ? of4 : width == 8 ? of8 : of16;
}

namespace {
struct Int8Dot4 : CpuProduct {
  using CpuProduct::CpuProduct;
  static bool accepts(const NumberFormat &format, const CpuTarget &) {
    return format.weights == DType::I8;
  }
  static bool takesApart(const CpuTarget &target) { return !target.int8Dot4; }

  Value step(Value a, Value b, Value c, bool) override {
    if (!StringRef(e.target.triple).starts_with("x86_64"))
      return e.dot4(a, b, c);
    if (!e.target.int8Dot4) {
      Bytes left = bytesOf(a, /*isSigned=*/false), right = bytesOf(b, /*isSigned=*/true);
      return multiplyAddShorts(left.odd, right.odd, multiplyAddShorts(left.even, right.even, c));
    }
    StringRef name = formOf(width, "llvm.x86.avx512.vpdpbusd.128", "llvm.x86.avx512.vpdpbusd.256",
                            "llvm.x86.avx512.vpdpbusd.512");
    auto bytes = VectorType::get({4 * width}, builder.getI8Type());
    SmallVector<Value> operands{c, vector::BitCastOp::create(builder, loc, bytes, a),
                                vector::BitCastOp::create(builder, loc, bytes, b)};
    return LLVM::CallIntrinsicOp::create(builder, loc, c.getType(), builder.getStringAttr(name),
                                         operands)
        .getResult(0);
  }

  /// A single row is bound by memory. Short panels are read one after the other, as one stream;
  /// long ones side by side, because several streams are prefetched at once (docs/benchmarks.md).
  /// Integer sums may be reordered: each vector has several partial sums to hide latency, but few,
  /// since lines would otherwise be loaded out of order.
  Registers sumFeatures(Chain chain, Registers sums, Value from, Value to) override {
    if (chain.shape.rows > 1)
      return CpuProduct::sumFeatures(std::move(chain), std::move(sums), from, to);
    constexpr int64_t mostOfShort = 2048; // features
    const int64_t vectors = chain.shape.vectors;
    const bool together = width > 4 && features() > mostOfShort;
    int64_t group = together ? vectors : 16 / width;             // vectors read side by side
    int64_t phases = together ? width / 8 : width == 16 ? 3 : 2; // sums of a vector
    int64_t first = 0;
    auto loop = [&](Value begin, Value end, int64_t count, Registers parts) {
      auto steps = scf::ForOp::create(builder, loc, begin, end, e.constant(count), parts);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(steps.getBody());
      Value k = steps.getInductionVar();
      parts.assign(steps.getRegionIterArgs().begin(), steps.getRegionIterArgs().end());
      for (int64_t u = 0; u < count; ++u) {
        Value word = chain.left(k, 0, u);
        word = e.splat(word, VectorType::get({width}, word.getType()));
        for (int64_t j = 0; j < group; ++j) {
          Value &part = parts[u % phases * group + j];
          part = step(word, chain.right(k, first + j, u), part, /*guarded=*/false);
        }
      }
      scf::YieldOp::create(builder, loc, parts);
      return Registers(steps.getResults());
    };
    const int64_t unrolled = 8 * phases;
    Value rest = arith::RemUIOp::create(builder, loc, e.sub(to, from), e.constant(unrolled));
    Value whole = e.sub(to, rest);
    for (; first < vectors; first += group) {
      Registers parts(phases * group, e.zeroSum(op));
      llvm::copy(ArrayRef(sums).slice(first, group), parts.begin());
      parts = loop(from, whole, unrolled, parts);
      parts = loop(whole, to, 1, parts);
      for (int64_t i = group; i < phases * group; ++i)
        parts[i % group] = arith::AddIOp::create(builder, loc, parts[i % group], parts[i]);
      std::copy_n(parts.begin(), group, sums.begin() + first);
    }
    return sums;
  }

  struct Bytes {
    Value even, odd;
  };

  /// Widens the bytes of words to 16 bits: the even ones, and the odd ones.
  Bytes bytesOf(Value words, bool isSigned) {
    Bytes &known = knownBytes[words];
    if (known.even)
      return known;
    auto shorts = VectorType::get({2 * width}, builder.getI16Type());
    auto constant = [&](int16_t value) {
      return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(shorts, value));
    };
    Value bits = vector::BitCastOp::create(builder, loc, shorts, words), eight = constant(8);
    if (isSigned)
      return known = {arith::ShRSIOp::create(
                          builder, loc, arith::ShLIOp::create(builder, loc, bits, eight), eight),
                      arith::ShRSIOp::create(builder, loc, bits, eight)};
    return known = {arith::AndIOp::create(builder, loc, bits, constant(0xff)),
                    arith::ShRUIOp::create(builder, loc, bits, eight)};
  }

  Value multiplyAddShorts(Value a, Value b, Value c) {
    StringRef name = formOf(width, "llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
                            "llvm.x86.avx512.pmaddw.d.512");
    Value sums = LLVM::CallIntrinsicOp::create(builder, loc, c.getType(),
                                               builder.getStringAttr(name), ValueRange{a, b})
                     .getResult(0);
    return arith::AddIOp::create(builder, loc, c, sums);
  }

  /// Widened bytes by their words, emitted in the same block.
  llvm::DenseMap<Value, Bytes> knownBytes;
};
} // namespace

const ProductStrategy heddle::kernel::int8Dot4 = strategyOf<Int8Dot4>();
