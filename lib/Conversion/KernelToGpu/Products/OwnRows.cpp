//===- OwnRows.cpp - Products over rows of whole rows ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights of attention by values, where an invocation has a query by itself. Its
// weights are in registers, so the keys of a chunk are written out; values are the
// same for all invocations, and drivers load them once a subgroup. Weights behind
// the last key are zero. A chain whose sum is not finite is repeated in a loop, which
// leaves out what meets a zero.

#include "../GpuProduct.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using heddle::kernel::Fragment;

namespace {
struct OwnRows : GpuProduct {
  using GpuProduct::GpuProduct;

  FailureOr<Fragment> run() override {
    FailureOr<Fragment> found = e.runs.whole(op.getLhs());
    if (failed(found))
      return failure();
    weights = std::move(*found);
    rightPlaces = e.rightPlaces(op, shape, rightStep);
    inPairs = op.getFormat().weights == DType::BF16;
    Registers sums(shape.size(), e.zeroVector());
    for (int64_t n = 0; n < weights.vectors * width; ++n) {
      int64_t key = inPairs ? n ^ 1 : n;
      Value weight =
          vector::ExtractOp::create(builder, loc, weights.at(0, key / width), key % width);
      addKey(weight, e.constant(key), sums, /*guarded=*/false);
    }
    if (op.getGuarded())
      repeatGuarded(sums);
    shape.registers = std::move(sums);
    return shape;
  }

private:
  void addKey(Value weight, Value key, Registers &sums, bool guarded) {
    Value factor = e.splat(weight, VectorType::get({width}, weight.getType()));
    for (auto [sum, place] : llvm::zip(sums, rightPlaces))
      sum = step(factor, e.loadVector(right(), e.moved(place, e.mul(key, rightStep))), sum, guarded);
  }

  void repeatGuarded(Registers &sums) {
    Value keys = e.scalar(op.getRows());
    if (inPairs)
      keys = arith::AndIOp::create(builder, loc, e.add(keys, e.constant(1)), e.constant(-2));
    Value from = restartIfNotFinite(keys, sums);
    e.loopOver(from, keys, inPairs ? 2 : 1, sums, [&](Value first) {
      for (int64_t n = inPairs ? 1 : 0; n >= 0; --n) {
        Value key = e.add(first, e.constant(n));
        addKey(weightOf(key), key, sums, /*guarded=*/true);
      }
    });
  }

  /// The weight of a key that is known when the kernel runs: registers have no numbers.
  Value weightOf(Value key) {
    Value number = arith::ShRUIOp::create(builder, loc, key, e.constant(2)), four = weights.at(0, 0);
    for (int64_t n = 1; n < weights.vectors; ++n) {
      Value here = e.compare(arith::CmpIPredicate::eq, number, e.constant(n));
      here = e.splat(here, VectorType::get({width}, builder.getI1Type()));
      four = e.select(here, weights.at(0, n), four);
    }
    Value lane = arith::AndIOp::create(builder, loc, key, e.constant(width - 1));
    return spirv::VectorExtractDynamicOp::create(builder, loc, four, lane);
  }

  Fragment weights;
  bool inPairs = false; ///< of keys, the odd one first
};
} // namespace

const GpuProductStrategy heddle::gpuOwnRows = gpuStrategyOf<OwnRows>();
