//===- GpuProduct.cpp - Products on the GPU -------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// List of strategies, and their common part:
//
// result[r, c] = sum over k of left[r, k] * right[k, c], by one chain of Fma for
// each value, with k ascending from zero:
//
//   scf.for k step 4        left side: one vec4 of four k for each row
//     for u in 0..3         right vec4s of k + u, then rows x vec4s fma
//   remaining k one by one
//
// Each left vec4 is loaded at its first use, so that drivers keep it in
// registers. Loading all of them before the products costs 12 % on llvmpipe.

#include "GpuProduct.h"

#include "GpuMatrices.h"

#include "heddle/Support/Program.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;
using heddle::kernel::Fragment;
using heddle::kernel::ProductOpInterface;

namespace heddle {

//===- The strategies ----------------------------------------------------===//

kernel::Mapping mappingOf(Operation *op) {
  kernel::PlanAttr plan = op->getParentOfType<kernel::FuncOp>().getPlanAttr();
  return plan ? plan.getMapping() : kernel::Mapping::Blocked;
}

/// The first strategy that accepts the op. f32 is last, because it accepts every op.
static const GpuProductStrategy &chooseStrategy(ProductOpInterface op, const GpuTarget &target) {
  static const GpuProductStrategy f32 = gpuStrategyOf<GpuProduct>();
  static const GpuProductStrategy *const strategies[] = {
      &gpuWidenedPanels, &gpuPairedPanels, &gpuKeptRows, &gpuKeptBf16Rows,
      &gpuInt8Packed,    &gpuInt8Dot4,     &gpuInt4,     &gpuBf16Dot2,
      &gpuBf16Rows,      &gpuF16Widened,   &f32};
  for (const GpuProductStrategy *strategy : strategies)
    if (strategy->accepts(op, target))
      return *strategy;
  llvm_unreachable("the last one accepts everything");
}

std::unique_ptr<GpuProduct> makeProduct(GpuEmitter &emitter, ProductOpInterface op) {
  return chooseStrategy(op, emitter.target).make(emitter, op);
}

//===- Operands ----------------------------------------------------------===//

/// Column c is row c of the view: panel c / 16, place c % 16. A fragment narrower than a panel may
/// begin inside a panel.
void GpuProduct::placeRight() {
  if (isStaged())
    return placeStagedRight();
  const BoundView right = this->right();
  int64_t panel = right.type.getPanel();
  if (op.isOverRows() || shape.vectors * width % panel == 0) {
    rightPlaces = e.rightPlaces(op, shape, rightStep);
  } else {
    int64_t columns = GpuEmitter::columnsOf(op.getType());
    Value column = e.add(e.scalar(op.getRhsIndex()), e.columnBase(columns));
    bool isPart = panel % (shape.vectors * width) == 0;
    for (int64_t j = 0; j < shape.vectors; ++j) {
      int64_t c = e.vectorColumn(j, columns);
      if (isPart)
        rightPlaces.push_back({panelStart(column), c * GpuEmitter::perWord(right)});
      else
        rightPlaces.push_back({panelStart(e.add(column, e.constant(c))), 0});
    }
  }
  if (!op.isOverRows())
    rightStep = panel * word();
}

/// Panels of a staged block are one pitch apart. Places count elements, as in memory.
Value GpuProduct::stagedColumn(Value column) {
  int64_t perWord = elementsOfStagedWord(), panels = GpuEmitter::columnsOf(op.getType()) / 16;
  Value inside = arith::AndIOp::create(builder, loc, column, e.constant(15));
  inside = e.mul(inside, perWord);
  if (panels == 1)
    return inside;
  Value panel = arith::ShRUIOp::create(builder, loc, column, e.constant(4));
  int64_t pitch = rightLayout().pitch * vec4 * perWord;
  return e.add(e.mul(panel, pitch), inside);
}

void GpuProduct::placeStagedRight() {
  int64_t columns = GpuEmitter::columnsOf(op.getType()), perWord = elementsOfStagedWord();
  rightStep = right().type.getPanel() * word(); // determines the layout of panels
  Value first = e.columnBase(columns);
  bool isPart = 16 % (shape.vectors * width) == 0; // a fragment is inside one panel
  for (int64_t j = 0; j < shape.vectors; ++j) {
    int64_t c = e.vectorColumn(j, columns);
    if (isPart)
      rightPlaces.push_back({stagedColumn(e.add(first, e.constant(0))), c * perWord});
    else
      rightPlaces.push_back({stagedColumn(e.add(first, e.constant(c))), 0});
  }
}

/// Address of a column at k = 0.
Value GpuProduct::panelStart(Value column) {
  const BoundView right = this->right();
  int64_t stored = padded(right.type.getDims().back().pitch.value);
  Value inside = arith::AndIOp::create(builder, loc, column, e.constant(right.type.getPanel() - 1));
  return e.add(e.add(right.offset, e.mul(e.sub(column, inside), stored)),
               e.mul(inside, GpuEmitter::perWord(right)));
}

/// Stages a tile for all invocations, or finds the addresses of a view's rows.
LogicalResult GpuProduct::placeLeft() {
  if (auto tile = dyn_cast<RankedTensorType>(op.getLhs().getType())) {
    count = e.scalar(op.getRange().to);
    leftPitch = tile.getDimSize(1);
    return e.workgroup.stage(op.getLhs());
  }
  const BoundView left = e.view(op.getLhs());
  if (!GpuMemory::hasVec4(left.type))
    return op.emitOpError("expected rows of floats on the left, found ") << left.type;
  int64_t features = left.type.getDims().back().extent.value;
  // k covers whole words of the right side, whose padding is zero.
  int64_t together = std::max(GpuEmitter::perWord(right()), word());
  count = e.constant((features + together - 1) / together * (together / word()));
  leftPitch = padded(left.type.getDims().back().pitch.value);
  leftStart = rowStart(left);
  if (e.mapping->skipsMissingRows())
    e.mapping->noteRows(e.compare(arith::CmpIPredicate::slt, firstRow(), left.extents.front()));
  return success();
}

Value GpuProduct::firstRow() {
  Value base = op.getType().getDimSize(0) > 1 ? e.rowBase() : Value();
  return e.mapping->rowOfProduct(e.scalar(op.getLhsIndex()), base,
                                 e.view(op.getLhs()).extents.front());
}

Value GpuProduct::rowStart(const BoundView &view) {
  int64_t pitch = padded(view.type.getDims().back().pitch.value);
  return e.add(view.offset, e.mul(firstRow(), pitch));
}

//===- The chain ---------------------------------------------------------===//

/// left[row, k + u]; `loaded` caches the row's vec4 at k. Remaining steps load single elements.
Value GpuProduct::leftScalar(Value &loaded, Value k, int64_t row, int64_t u, bool whole) {
  if (isStaged())
    return loadStagedLeft(loaded, k, row, u);
  if (leftStart)
    return loadLeft(loaded, {e.add(leftStart, e.mul(k, word())), row * leftPitch}, u, whole);
  if (!loaded)
    loaded = e.workgroup.stagedVec4(leftPitch, e.add(e.mapping->stagedRow(), e.constant(row)),
                                    e.add(e.memory.quarter(k), e.constant(u / vec4)));
  if (whole)
    return vector::ExtractOp::create(builder, loc, loaded, u % vec4);
  Value lane = arith::AndIOp::create(builder, loc, e.add(k, e.constant(u)),
                                     e.constant(width - 1)); // a pair is inside one vec4
  return spirv::VectorExtractDynamicOp::create(builder, loc, loaded, lane);
}

Value GpuProduct::loadLeft(Value &loaded, Address place, int64_t u, bool whole) {
  const BoundView left = e.view(op.getLhs());
  if (!whole) {
    Address here = e.moved(place, Value(), u * word());
    Value one = e.memory.loadWord(left, here);
    return word() == 1 ? one : e.asWords(one);
  }
  if (!loaded) {
    Address first = e.moved(place, Value(), u / vec4 * vec4 * word());
    loaded = e.memory.loadVec4(left, first);
    if (word() != 1)
      loaded = e.asWords(loaded);
  }
  return vector::ExtractOp::create(builder, loc, loaded, u % vec4);
}

GpuProduct::Registers GpuProduct::loadRight(Value k, int64_t u, Registers &) {
  Value far = e.mul(k, rightStep);
  if (op.isOverRows() && e.mapping->loadsFirst() && GpuEmitter::perWord(right()) == 2)
    return loadHalves(far, u * rightStep);
  Registers vec4s;
  for (Address place : rightPlaces) {
    Address here = e.moved(place, far, u * rightStep);
    if (word() == 1 && !isStaged())
      vec4s.push_back(e.loadVector(right(), here));
    else
      vec4s.push_back(word() == 1 ? rightQuad(here) : e.asWords(rightQuad(here)));
  }
  return vec4s;
}

/// As `loadRight`, for bf16 and f16 in vec4s. A vec4 fills two registers; an invocation with one
/// register discards its neighbour's half.
GpuProduct::Registers GpuProduct::loadHalves(Value far, int64_t step) {
  Registers vec4s;
  const int64_t together = shape.vectors % 2 == 0 ? 2 : 1;
  Value isSecond;
  if (together == 1)
    isSecond = e.compare(
        arith::CmpIPredicate::ne,
        arith::AndIOp::create(builder, loc, rightPlaces.front().dynamic, e.constant(vec4)),
        e.constant(0));
  for (int64_t j = 0; j < shape.vectors; j += together) {
    Address here = e.moved(rightPlaces[j], far, step);
    if (shape.vectors > 1 && together == 1) { // a row may begin at either half of a vec4
      vec4s.push_back(e.loadVector(right(), here));
      continue;
    }
    Value quad = e.memory.loadVec4(right(), here);
    SmallVector<Value> words;
    for (int64_t word = 0; word < vec4; ++word)
      words.push_back(vector::ExtractOp::create(builder, loc, quad, word));
    if (together == 1)
      words = {e.select(isSecond, words[2], words[0]), e.select(isSecond, words[3], words[1])};
    for (size_t word = 0; word < words.size(); word += 2)
      vec4s.push_back(
          e.words.unpackFour(words[word], words[word + 1], right().type.getElementType()));
  }
  return vec4s;
}

/// c + a * b in f32. If `guarded`, c where a is zero and b is not finite.
Value GpuProduct::step(Value a, Value b, Value c, bool guarded) {
  Value next = math::FmaOp::create(builder, loc, a, b, c);
  if (!guarded)
    return next;
  Value none = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, a, e.zeroVector());
  Value skip = arith::AndIOp::create(builder, loc, none, lanesNotFinite(e, {b}));
  return e.select(skip, c, next);
}

Value GpuProduct::packedDot(Value a, Value b) {
  auto bytes = spirv::PackedVectorFormatAttr::get(
      builder.getContext(), spirv::PackedVectorFormat::PackedVectorFormat4x8Bit);
  return spirv::SDotOp::create(builder, loc, builder.getI32Type(), a, b, bytes);
}

Value GpuProduct::packedDots(Value a, Value b) {
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < width; ++lane)
    lanes.push_back(packedDot(vector::ExtractOp::create(builder, loc, a, lane),
                              vector::ExtractOp::create(builder, loc, b, lane)));
  return vector::FromElementsOp::create(builder, loc, a.getType(), lanes);
}

/// Emits one iteration: for each k the loads, then rows x vec4s products.
void GpuProduct::emitSteps(const Loop &loop, Value k, Registers &sums) {
  Registers vec4s(shape.rows), kept, rows, keptRows;
  for (int64_t number = 0; number < loop.steps; ++number) {
    int64_t u = inOrder(number, loop.steps);
    Registers b =
        loop.beyond
            ? loadRight(e.minimum(e.add(k, e.constant(u)), e.sub(count, e.constant(1))), 0, kept)
            : loadRight(k, u, kept);
    if (number && number % vec4 == 0) // the next vec4s of the left side
      vec4s.assign(vec4s.size(), Value());
    if (isCrosswise())
      rows = loadCrosswise(k, u, keptRows);
    for (int64_t row = 0; row < shape.rows; ++row) {
      Value a = isCrosswise() ? rows[row]
                              : leftScalar(vec4s[row], k, row, u, loop.steps == stepsOfIteration());
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
  if (!shape.vectors || GpuEmitter::columnsOf(op.getType()) % 16 != 0)
    return op.emitOpError("expected a multiple of 16 columns, found ") << op.getType();
  placeRight();
  if (failed(placeLeft()))
    return failure(); // placeLeft has reported the error
  Registers sums(shape.size() + sumsBeside(), e.zeroSum(op));
  if (isStaged())
    sumStaged(sums);
  else
    sumProducts(sums);
  finishSums(sums);
  shape.registers = std::move(sums);
  return shape;
}

/// Emits the main loop and returns the first remaining step.
Value GpuProduct::sumWhole(Registers &sums) {
  std::optional<int64_t> known = e.constantOf(count);
  const int64_t steps = unrolled();
  Value whole = known ? e.constant(*known / steps * steps)
                      : Value(arith::AndIOp::create(builder, loc, count, e.constant(-steps)));
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
    emitLoop({from, end(count), grain()}, sums);
}

int64_t GpuProduct::unrolled() const {
  ProductOpInterface product = op;
  const Type element = product.getRhs().getType().getElementType();
  return e.mapping->stepsOfProduct(e.constantOf(count),
                                   shape.vectors / GpuEmitter::perWord(element));
}

void GpuProduct::sumOrRestart(Registers &sums) {
  Value from = middleLoops(restartIfNotFinite(sumWhole(sums), sums), sums);
  emitLoop({from, end(count), grain(), /*guarded=*/true}, sums);
}

/// The remaining k are one more iteration of the main loop. Rows after the last have zeros on the
/// left and do not change sums.
void GpuProduct::sumBeyondOrRepeat(Registers &sums) {
  const int64_t steps = unrolled();
  Value whole = arith::AndIOp::create(builder, loc, count, e.constant(-steps));
  emitLoop({e.constant(0), end(whole), steps}, sums);
  emitLoop({whole, end(count), steps, /*guarded=*/false, /*beyond=*/true}, sums);
  Value any = isAnyNotFinite(e, sums);
  e.replaceIf(any, sums, [&](MutableArrayRef<Value> replaced) {
    Registers again(replaced.size(), e.zeroVector());
    Value from = middleLoops(e.constant(0), again);
    emitLoop({from, end(count), grain(), /*guarded=*/true}, again);
    llvm::copy(again, replaced.begin());
  });
}

/// A branch repeats all k if a sum is not finite, after the main loop and the remaining k. Loads
/// outside the branch stay the same for all invocations.
void GpuProduct::sumOrRepeat(Registers &sums) {
  Value whole = sumWhole(sums);
  auto guardedFrom = [&](Value from, Registers &values) {
    from = middleLoops(from, values);
    emitLoop({from, end(count), grain(), /*guarded=*/true}, values);
  };
  guardedFrom(whole, sums);
  e.replaceIf(isAnyNotFinite(e, sums), sums, [&](MutableArrayRef<Value> replaced) {
    Registers again(replaced.size(), e.zeroVector());
    guardedFrom(e.constant(0), again);
    llvm::copy(again, replaced.begin());
  });
}

void GpuProduct::addSteps(Value first, int64_t steps, Value, Registers &sums) {
  int64_t most = stepsOfIteration(), whole = steps / most * most, rest = steps - whole;
  if (whole)
    emitLoop({first, end(e.add(first, e.constant(whole))), most}, sums);
  Value from = e.add(first, e.constant(whole));
  if (rest)
    emitLoop({from, end(e.add(from, e.constant(rest))), isStaged() ? rest : grain()}, sums);
}

//===- Non-finite values -------------------------------------------------===//

/// Tests bits, because devices may flush or ignore NaN in comparisons.
Value lanesNotFinite(GpuEmitter &e, ArrayRef<Value> registers) {
  Value largest;
  for (Value value : registers) {
    Value bits = e.asWords(value);
    bits = arith::AndIOp::create(e.builder, e.loc, bits,
                                 e.wordConstant(kMagnitudeBits, bits.getType()));
    largest = largest ? arith::MaxSIOp::create(e.builder, e.loc, largest, bits).getResult() : bits;
  }
  return e.compare(arith::CmpIPredicate::sge, largest,
                   e.wordConstant(kExponentBits, largest.getType()));
}

Value isAnyNotFinite(GpuEmitter &e, ArrayRef<Value> registers) {
  Value lanes = lanesNotFinite(e, registers), any;
  for (int64_t lane = 0; lane < e.width; ++lane) {
    Value one = vector::ExtractOp::create(e.builder, e.loc, lanes, lane);
    any = any ? arith::OrIOp::create(e.builder, e.loc, any, one).getResult() : one;
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
