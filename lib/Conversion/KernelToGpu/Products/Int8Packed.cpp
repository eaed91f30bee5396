//===- Int8Packed.cpp - Products of bytes by packed dot products ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bytes that multiply four features in one instruction, for tiles of many rows
// on devices with packed dot products of signed bytes. Rows hold 128 + code, so
//
//   sum of row * weight  =  sum of code * weight  +  128 * sum of weight
//
// Staging subtracts 128 from rows. Each invocation adds the weights of its columns for every
// ty-th step of a block, and the partial sums of a column are added after the last block.
// A block shorter than ty has room for one partial sum a step, so other invocations add
// none. The order of additions does not matter, because i32 sums are exact or wrap.

#include "../GpuProduct.h"

using namespace mlir;
using namespace heddle;

namespace {
struct Int8Packed : GpuProduct {
  Int8Packed(GpuEmitter &emitter, kernel::ProductOpInterface op)
      : GpuProduct(emitter, op, {.word = 4, .signsRows = true, .fetchesLate = true}) {}
  static bool accepts(kernel::ProductOpInterface op, const GpuTarget &target) {
    return op.getFormat().weights == DType::I8 && target.packedDots;
  }

  /// Sums of the weights of an invocation's columns.
  int64_t additionalSums() const override { return shape.vectors; }
  Value step(Value a, Value b, Value c, bool) override {
    return arith::AddIOp::create(builder, loc, c, e.words.dots(a, b));
  }

  void addSteps(Value first, int64_t steps, Value start, Registers &sums) override {
    Registers products(ArrayRef(sums).drop_back(shape.vectors)),
        weights(ArrayRef(sums).take_back(shape.vectors));
    GpuProduct::addSteps(first, steps, start, products);
    for (int64_t from = 0; from < steps; from += e.placement.ty)
      addWeights(e.add(e.ty, e.constant(from)), steps, from + e.placement.ty > steps, weights);
    sums = std::move(products);
    llvm::append_range(sums, weights);
  }

  void finishSums(Registers &sums) override {
    const GpuStaging::Layout layout = panelLayout();
    const int64_t vec4s = columns() / kVec4, parts = std::min(e.placement.ty, form.block);
    Value first = e.memory.quarter(e.columnBase(columns()));
    auto place = [&](Value part, int64_t j) {
      return e.add(e.add(e.mul(part, vec4s), first), e.constant(j));
    };
    assert(parts * vec4s <= layout.entries && "partial sums replace the block");
    e.workgroup.beforeWrite(layout.array);
    Value hasPart = parts < e.placement.ty ? e.less(e.ty, e.constant(parts)) : Value();
    e.onlyIf(hasPart, [&] {
      for (int64_t j = 0; j < shape.vectors; ++j)
        e.workgroup.write(layout.array, e.vec4Type(), layout.entries, place(e.ty, j),
                          e.asFloats(sums[shape.size() + j]));
    });
    e.workgroup.barrier();
    sums.truncate(shape.size());
    for (int64_t j = 0; j < shape.vectors; ++j) {
      Value all;
      for (int64_t number = 0; number < parts; ++number) {
        Value part = e.asWords(e.workgroup.read(layout.array, e.vec4Type(), layout.entries,
                                                place(e.constant(number), j)));
        all = all ? arith::AddIOp::create(builder, loc, all, part).getResult() : part;
      }
      all = arith::ShLIOp::create(builder, loc, all, e.wordConstant(7, all.getType()));
      for (int64_t row = 0; row < shape.rows; ++row) {
        Value &sum = sums[row * shape.vectors + j];
        sum = arith::AddIOp::create(builder, loc, sum, all);
      }
    }
  }

private:
  /// Adds the weights of step `number` of a staged block that has `steps`. `mayEnd`: the step may
  /// not exist.
  void addWeights(Value number, int64_t steps, bool mayEnd, Registers &weights) {
    Registers none,
        words = loadRight(mayEnd ? e.minimum(number, e.constant(steps - 1)) : number, 0, none);
    for (auto [sum, word] : llvm::zip(weights, words)) {
      Value next = arith::AddIOp::create(
          builder, loc, sum, e.words.dots(word, e.wordConstant(0x01010101, word.getType())));
      Value exists = mayEnd ? e.less(number, e.constant(steps)) : Value();
      if (exists)
        exists = e.splat(exists, VectorType::get({width}, builder.getI1Type()));
      sum = exists ? e.select(exists, next, sum) : next;
    }
  }
};
} // namespace

const GpuProductStrategy heddle::gpuInt8Packed = gpuStrategyOf<Int8Packed>();
