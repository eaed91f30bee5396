//===- Int8Packed.cpp - Products of bytes by packed dot products ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four features a step by one instruction, for tiles of many rows on devices that have
// it for signed bytes. Rows hold 128 + code, so that
//
//   sum of row * weight  =  sum of code * weight  +  128 * sum of weight
//
// Rows lose their 128 when they are staged. Of the weights' sum an invocation adds
// the steps of its own number, for its columns; behind the last block those of a column
// are added up. Of short blocks, which leave room for as many parts as they have steps, some
// invocations have no step. Sums of i32 are exact, or wrap, in any order.

#include "../GpuProduct.h"

using namespace mlir;
using namespace heddle;

namespace {
struct Int8Packed : GpuProduct {
  using GpuProduct::GpuProduct;
  static bool accepts(kernel::ContractOp op, const GpuTarget &target) {
    return op.getFormat().weights == DType::I8 && target.packedDots &&
           mappingOf(op) == kernel::Mapping::Staged;
  }

  int64_t word() const override { return 4; }
  /// Of the weights, for the columns of an invocation.
  int64_t sumsBeside() const override { return shape.vectors; }
  Value step(Value a, Value b, Value c, bool) override {
    return arith::AddIOp::create(builder, loc, c, packedDots(a, b));
  }

  bool fetchesLate() const override { return true; }
  Value asStaged(Value quad) override {
    Value words = e.asWords(quad), bases = e.wordConstant(0x80808080, words.getType());
    return e.asFloats(arith::XOrIOp::create(builder, loc, words, bases));
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
    const GpuStaging::Layout layout = rightLayout();
    const int64_t columns = GpuEmitter::columnsOf(op.getType()), quads = columns / vec4;
    Value first = e.quarter(e.columnBase(columns));
    auto place = [&](Value team, int64_t j) {
      return e.add(e.add(e.mul(team, quads), first), e.constant(j));
    };
    const int64_t teams = std::min(e.placement.ty, block);
    assert(teams * quads <= layout.entries && "parts lie where the block did");
    e.workgroup.beforeWrite(layout.array);
    Value hasPart = teams < e.placement.ty
                        ? e.compare(arith::CmpIPredicate::slt, e.ty, e.constant(teams))
                        : Value();
    e.onlyIf(hasPart, [&] {
      for (int64_t j = 0; j < shape.vectors; ++j)
        e.workgroup.write(layout.array, e.vec4Type(), layout.entries, place(e.ty, j),
                          e.asFloats(sums[shape.size() + j]));
    });
    e.workgroup.barrier();
    sums.truncate(shape.size());
    for (int64_t j = 0; j < shape.vectors; ++j) {
      Value all;
      for (int64_t team = 0; team < teams; ++team) {
        Value part = e.asWords(e.workgroup.read(layout.array, e.vec4Type(), layout.entries,
                                                place(e.constant(team), j)));
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
  /// Adds the weights of a step of a staged block, of which `steps` exist.
  void addWeights(Value number, int64_t steps, bool mayEnd, Registers &weights) {
    Registers none,
        words = loadRight(mayEnd ? e.minimum(number, e.constant(steps - 1)) : number, 0, none);
    for (auto [sum, word] : llvm::zip(weights, words)) {
      Value next = arith::AddIOp::create(
          builder, loc, sum, packedDots(word, e.wordConstant(0x01010101, word.getType())));
      Value exists =
          mayEnd ? e.compare(arith::CmpIPredicate::slt, number, e.constant(steps)) : Value();
      if (exists)
        exists = e.splat(exists, VectorType::get({width}, builder.getI1Type()));
      sum = exists ? e.select(exists, next, sum) : next;
    }
  }
};
} // namespace

const GpuProductStrategy heddle::gpuInt8Packed = gpuStrategyOf<Int8Packed>();
