//===- GpuProduct.cpp - Products on the GPU -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table of strategies, and their common part:
//
// result[r, c] = sum over k of left[r, k] * right[k, c], by one chain of Fma for
// each value, with k ascending from zero:
//
//   scf.for k step 4        left side: one vec4 of four k for each row
//     for u in 0..3         right vec4s of k + u, then rows x vec4s fma
//   remaining k one by one

#include "GpuProduct.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Fragment;
using heddle::kernel::ProductOpInterface;

namespace heddle {

//===- The strategies ----------------------------------------------------===//

static GpuSource sourceOf(GpuEmitter &emitter, ProductOpInterface op) {
  if (op.isOverRows() || !emitter.placement.block)
    return GpuSource::Memory;
  return emitter.shapeOf(op.getType()).rows % kVec4 == 0 ? GpuSource::Crosswise : GpuSource::Staged;
}

/// The first strategy that reads operands from their place and accepts the op is taken. f32 is
/// last, because it accepts every op.
std::unique_ptr<GpuProduct> makeProduct(GpuEmitter &emitter, ProductOpInterface op) {
  static const GpuProductStrategy f32 = gpuStrategyOf<GpuProduct>();
  static constexpr auto crosswise = static_cast<unsigned>(GpuSource::Crosswise), any = ~0u;
  static const struct {
    const GpuProductStrategy *strategy;
    unsigned sources;
  } table[] = {{&gpuCachedPanels, any},
               {&gpuCachedBf16Panels, any},
               {&gpuCachedRows, any},
               {&gpuCachedBf16Rows, any},
               {&gpuInt8Packed, crosswise},
               {&gpuInt8Dot4, any},
               {&gpuInt4Packed, crosswise},
               {&gpuGroups, any},
               {&gpuBf16Widened, crosswise},
               {&gpuBf16Dot2, any},
               {&gpuBf16Rows, any},
               {&gpuF16Widened, any},
               {&f32, any}};
  const GpuSource source = sourceOf(emitter, op);
  for (auto [strategy, sources] : table)
    if ((sources & static_cast<unsigned>(source)) && strategy->accepts(op, emitter.target)) {
      std::unique_ptr<GpuProduct> product = strategy->make(emitter, op);
      product->makeOperands(source);
      return product;
    }
  llvm_unreachable("the last one accepts everything");
}

GpuProduct::GpuProduct(GpuEmitter &emitter, ProductOpInterface op, GpuProductForm form)
    : GpuContraction(emitter, op, form) {
  if (!this->form.block)
    this->form.block = emitter.placement.block;
}

void GpuProduct::makeOperands(GpuSource source) {
  if (!left)
    left = makeLeft(source, *this, op);
  if (!right)
    right = makeRight(source, *this, e, op);
}

//===- The chain ---------------------------------------------------------===//

GpuProduct::Registers GpuProduct::loadRight(Value k, int64_t u, Registers &) {
  return right->load(k, u);
}

/// c + a * b in f32. If `guarded`, c where a is zero and b is not finite.
Value GpuProduct::step(Value a, Value b, Value c, bool guarded) {
  Value next = e.fma(a, b, c);
  if (!guarded)
    return next;
  Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, e.zeroVector());
  Value skip = e.bitAnd(none, lanesNotFinite(e, {b}));
  return e.select(skip, c, next);
}

/// Emits one iteration: for each k the loads, then rows x vec4s products.
void GpuProduct::emitSteps(const Loop &loop, Value k, Registers &sums) {
  const bool isWhole = loop.steps == stepsOfIteration();
  Registers cache;
  for (int64_t number = 0; number < loop.steps; ++number) {
    int64_t u = inOrder(number, loop.steps);
    Registers b =
        loop.beyond
            ? loadRight(e.minimum(e.add(k, e.constant(u)), e.sub(count, e.constant(1))), 0, cache)
            : loadRight(k, u, cache);
    if (number % kVec4 == 0)
      left->reset();
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value a = left->load(k, row, u, isWhole);
      a = e.splat(a, VectorType::get({width}, a.getType()));
      for (int64_t j = 0; j < shape.vectors; ++j) {
        Value &sum = sums[row * shape.vectors + j];
        sum = step(a, b[j], sum, loop.guarded);
      }
    }
  }
}

/// Moves loads from memory, with their operands, to the start of a block.
static void loadFirst(Block &block) {
  llvm::SetVector<Operation *> early;
  for (Operation &op : llvm::reverse(block)) {
    auto load = dyn_cast<spirv::LoadOp>(op);
    const bool isOfMemory =
        load && cast<spirv::PointerType>(load.getPtr().getType()).getStorageClass() ==
                    spirv::StorageClass::StorageBuffer;
    if (isOfMemory ||
        llvm::any_of(op.getUsers(), [&](Operation *user) { return early.contains(user); }))
      early.insert(&op);
  }
  Operation *last = nullptr;
  for (Operation *op : llvm::reverse(early)) {
    last ? op->moveAfter(last) : op->moveBefore(&block.front());
    last = op;
  }
}

void GpuProduct::emitLoop(const Loop &loop, Registers &sums) {
  e.loopOver(loop.from, loop.to, loop.steps, sums, [&](Value k) {
    emitSteps(loop, k, sums);
    if (e.mapping->loadsFirst() && !loop.guarded)
      loadFirst(*builder.getInsertionBlock());
  });
}

FailureOr<Fragment> GpuProduct::run() {
  if (!shape.vectors || columns() % 16 != 0)
    return op.emitOpError("expected a multiple of 16 columns, found ") << op.getType();
  placeRight();
  FailureOr<Value> steps = left->place();
  if (failed(steps))
    return failure(); // the left side has reported the error
  count = *steps;
  Registers sums(shape.size(), e.zeroSum(op));
  right->sum(*this, sums);
  shape.registers = std::move(sums);
  return shape;
}

int64_t GpuProduct::unrolled() {
  return e.mapping->stepsOfProduct(e.constantOf(count),
                                   shape.vectors / GpuEmitter::perWord(rightView()));
}

/// Emits the main loop and returns the first remaining step.
Value GpuProduct::sumWhole(Registers &sums) {
  std::optional<int64_t> known = e.constantOf(count);
  const int64_t steps = unrolled();
  Value whole = known ? e.constant(*known / steps * steps) : Value(e.masked(count, -steps));
  emitLoop({e.constant(0), end(whole), steps}, sums);
  return whole;
}

void GpuProduct::sumProducts(Registers &sums) {
  auto overRows = dyn_cast<kernel::ContractRowsOp>(*op);
  if (overRows && overRows.getGuarded())
    return e.mapping->sumGuarded(*this, sums);
  Value from = middleLoops(sumWhole(sums), sums);
  std::optional<int64_t> known = e.constantOf(count);
  if (!known || *known % unrolled())
    emitLoop({from, end(count), form.grain}, sums);
}

/// Adds the steps from `from` on, without products of zero and a non-finite value.
void GpuProduct::sumGuardedFrom(Value from, Registers &sums) {
  from = middleLoops(from, sums);
  emitLoop({from, end(count), form.grain, /*guarded=*/true}, sums);
}

void GpuProduct::sumOrRestart(Registers &sums) {
  sumGuardedFrom(restartIfNotFinite(sumWhole(sums), sums), sums);
}

/// Repeats all steps, guarded, in a branch that is taken if a sum is not finite. Loads outside the
/// branch stay the same for all invocations.
void GpuProduct::repeatIfNotFinite(Registers &sums) {
  e.replaceIf(isAnyNotFinite(e, sums), sums, [&](MutableArrayRef<Value> replaced) {
    Registers again(replaced.size(), e.zeroVector());
    sumGuardedFrom(e.constant(0), again);
    llvm::copy(again, replaced.begin());
  });
}

/// The remaining k are one more iteration of the main loop. Rows after the last have zeros on the
/// left and do not change sums.
void GpuProduct::sumBeyondOrRepeat(Registers &sums) {
  const int64_t steps = unrolled();
  Value whole = e.masked(count, -steps);
  emitLoop({e.constant(0), end(whole), steps}, sums);
  emitLoop({whole, end(count), steps, /*guarded=*/false, /*beyond=*/true}, sums);
  repeatIfNotFinite(sums);
}

void GpuProduct::sumOrRepeat(Registers &sums) {
  sumGuardedFrom(sumWhole(sums), sums);
  repeatIfNotFinite(sums);
}

void GpuProduct::addSteps(Value first, int64_t steps, Value, Registers &sums) {
  int64_t most = stepsOfIteration(), whole = steps / most * most, rest = steps - whole;
  if (whole)
    emitLoop({first, end(e.add(first, e.constant(whole))), most}, sums);
  Value from = e.add(first, e.constant(whole));
  if (rest)
    emitLoop({from, end(e.add(from, e.constant(rest))), right->stepsOfRest(rest)}, sums);
}

//===- Non-finite values -------------------------------------------------===//

/// Tests bits, because devices may flush or ignore NaN in comparisons.
Value lanesNotFinite(GpuEmitter &e, ArrayRef<Value> registers) {
  Value largest;
  for (Value value : registers) {
    Value bits = e.asWords(value);
    bits = e.bitAnd(bits, e.wordConstant(kMagnitudeBits, bits.getType()));
    largest = largest ? arith::MaxSIOp::create(e.builder, e.loc, largest, bits).getResult() : bits;
  }
  return e.compare(arith::CmpIPredicate::sge, largest,
                   e.wordConstant(kExponentBits, largest.getType()));
}

Value isAnyNotFinite(GpuEmitter &e, ArrayRef<Value> registers) {
  Value lanes = lanesNotFinite(e, registers), any;
  for (int64_t lane = 0; lane < e.width; ++lane) {
    Value one = e.extract(lanes, lane);
    any = any ? e.bitOr(any, one) : one;
  }
  return any;
}

/// Restarts a guarded product. A non-finite value on the right makes the sums that it enters
/// non-finite, so finite sums are correct and only the remaining k follow. Otherwise the loop over
/// the remaining k, which skips products of zero and a non-finite value, runs over all k from zero
/// sums. Returns the first k of the second loop.
Value GpuProduct::restartIfNotFinite(Value whole, Registers &sums) {
  Value any = isAnyNotFinite(e, sums);
  Value all = e.splat(any, VectorType::get({width}, builder.getI1Type())), zero = e.zeroVector();
  for (Value &sum : sums)
    sum = e.select(all, zero, sum);
  return e.select(any, e.constant(0), whole);
}

} // namespace heddle
