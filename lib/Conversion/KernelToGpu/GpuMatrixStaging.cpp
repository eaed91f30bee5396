//===- GpuMatrixStaging.cpp - Operands of matrix units --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuMatrixStaging: places, loads and stores of the copied vec4s,
// and the powers of two of f32 rows.
#include "GpuMatrixStaging.h"

#include "GpuEmitter.h"
#include "GpuLoops.h"

#include "heddle/Support/Formats.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;

namespace heddle {

/// Words of i4 that become a vec4 of bytes. Each is in a line of its own.
static constexpr int64_t kLines = 2;

GpuMatrixStaging::GpuMatrixStaging(GpuEmitter &emitter, const BoundView &from, Block part,
                                   MatrixArray to)
    : e(emitter), view(from), block(part), array(to) {}

void shareOut(GpuEmitter &e, int64_t all, function_ref<void(Value)> take) {
  const int64_t invocations = e.placement.ty * e.placement.tx;
  for (int64_t first = 0; first < all; first += invocations) {
    Value number = e.add(e.number, e.constant(first));
    if (first + invocations > all)
      number = e.minimum(number, e.constant(all - 1));
    take(number);
  }
}

void GpuMatrixStaging::placeRows(function_ref<Value(Value)> startOf,
                                 function_ref<Value(Value)> placeOf) {
  shareOut(e, block.rows * block.vec4s, [&](Value number) {
    Value row = e.quotient(number, block.vec4s), vec4 = e.remainder(number, block.vec4s);
    Value place = e.add(e.mul(placeOf(row), block.pitch()), vec4);
    slots.push_back({startOf(row), vec4, e.mul(place, array.perVec4()), row, {}, {}});
  });
}

/// Sixteen invocations take the columns of a panel, so that they load contiguous words.
void GpuMatrixStaging::placePanels(function_ref<Value(Value)> startOf, int64_t before) {
  shareOut(e, block.rows * block.vec4s, [&](Value number) {
    Value inside = e.remainder(number, kPanel), panel = e.quotient(number, kPanel * block.vec4s),
          vec4 = e.remainder(e.quotient(number, kPanel), block.vec4s),
          column = e.add(e.mul(panel, kPanel), inside);
    Value place = e.add(e.mul(e.add(column, e.constant(before)), block.pitch()), vec4);
    Value start = e.add(startOf(panel), e.quotient(inside, kVec4));
    slots.push_back(
        {start, vec4, e.mul(place, array.perVec4()), column, e.remainder(inside, kVec4), {}});
  });
}

bool GpuMatrixStaging::isWidened() const {
  return isPanel() && view.type.getElementType().isInteger(4);
}

/// Returns the distance of a vec4 from the start of its row or column in memory. In a panel, the
/// words of a column are a line of sixteen words apart. Two words of i4 become a vec4 of bytes, and
/// a line of scales follows the lines of codes of each group. Distances add up if one is of whole
/// groups.
Value GpuMatrixStaging::distanceOf(Value vec4) {
  if (!isWidened())
    return e.mul(vec4, isPanel() ? kPanel : parts());
  constexpr const ElementFormat &format = formatOf(DType::I4);
  constexpr int64_t vec4sOfGroup = (format.blockLines - 1) / kLines;
  Value group = e.quotient(vec4, vec4sOfGroup), inside = e.remainder(vec4, vec4sOfGroup);
  Value line = e.add(e.mul(group, format.blockLines), e.mul(inside, kLines));
  return e.mul(line, kPanel / kVec4);
}

/// Loads a vec4 of a row, or the words of a panel's column that become one.
Value GpuMatrixStaging::load(const Slot &slot, Value place) {
  if (!slot.lane)
    return e.load(e.entry.vec4(view.argument, place));
  const int64_t count = isWidened() ? kLines : kVec4;
  SmallVector<Value> words;
  for (int64_t word = 0; word < count; ++word) {
    Value line = e.add(place, e.constant(word * kPanel / kVec4));
    words.push_back(e.load(e.entry.lane(view.argument, line, slot.lane)));
  }
  return e.vectorOf(words);
}

/// The low halves of a word's bytes are four features, the high halves the next four.
Value GpuMatrixStaging::asBytes(Value codes) {
  Value packed = e.asWords(codes);
  Value halves = e.wordConstant(0x0f0f0f0f, packed.getType()),
        bits = e.wordConstant(4, packed.getType());
  Value low = e.bitAnd(packed, halves),
        high = arith::ShRUIOp::create(e.builder, e.loc, packed, bits);
  high = e.bitAnd(high, halves);
  SmallVector<Value> words;
  for (int64_t word = 0; word < kVec4; ++word)
    words.push_back(e.extract(word % 2 ? high : low, word / 2));
  return e.asFloats(e.vectorOf(words));
}

/// Clears the elements of a vec4 that are beyond the end of the row.
Value GpuMatrixStaging::upTo(const End &end, Value vec4, Value words) {
  SmallVector<Value> masks;
  for (int64_t word = 0; word < kVec4; ++word) {
    Value number = e.add(e.mul(vec4, kVec4), e.constant(word)), whole = e.constant(end.whole);
    Value mask = e.constant(0);
    if (end.bits)
      mask = e.select(e.compare(arith::CmpIPredicate::eq, number, whole),
                      e.constant(static_cast<int32_t>(end.bits)), mask);
    masks.push_back(e.select(e.less(number, whole), e.constant(-1), mask));
  }
  Value integers = e.asWords(words);
  Value mask = e.vectorOf(masks);
  return e.asFloats(e.bitAnd(integers, mask));
}

void GpuMatrixStaging::fetch(Value first, const End *end, Vec4s &loaded) {
  for (const Slot &slot : slots)
    for (int64_t part = 0; part < parts(); ++part) {
      Value before = e.memory.quarter(first);
      if (!end && isa<IntegerType>(view.type.getElementType())) {
        // Compute the block-invariant part of the address first. This saves registers for integer
        // formats and would cost some for floats.
        Value place = e.add(slot.start, distanceOf(slot.vec4));
        loaded.push_back(load(slot, e.add(place, distanceOf(before))));
        continue;
      }
      Value vec4 = e.add(e.mul(e.add(slot.vec4, before), parts()), e.constant(part)), known = vec4;
      if (end)
        known = e.minimum(vec4, e.constant(end->stored / kVec4 - 1));
      Value found = load(slot, e.add(slot.start, isPanel() ? distanceOf(known) : known));
      // Codes of i4 need no mask: beyond the end they fill a group, and the rows are zero there.
      loaded.push_back(end && !isWidened() ? upTo(*end, vec4, found) : found);
    }
}

void GpuMatrixStaging::store(ArrayRef<Value> loaded) {
  Type entry = VectorType::get({array.unit}, e.builder.getF32Type());
  for (auto [number, slot] : llvm::enumerate(slots)) {
    ArrayRef<Value> vec4s = loaded.slice(number * parts(), parts());
    Value vec4 = isRounded()   ? rounded(vec4s, slot.factor)
                 : isWidened() ? asBytes(vec4s.front())
                               : vec4s.front();
    for (int64_t part = 0; part < array.perVec4(); ++part) {
      Value value = vec4;
      if (array.unit != kVec4) {
        SmallVector<Value> words;
        for (int64_t word = 0; word < array.unit; ++word)
          words.push_back(e.extract(vec4, part * array.unit + word));
        value = e.vectorOf(words);
      }
      Value place = e.workgroup.inBuffer(e.add(slot.place, e.constant(part)), array.staged);
      e.workgroup.write(array.use, entry, array.entries, place, value);
    }
  }
}

//===- Rows of f32 --------------------------------------------------------===//

/// Bounds of a row's scale, as bits of an f32, within which the inverse is a normal number too.
/// Rows of smaller numbers need less precision. Rows with infinities or NaN have no finite sums
/// anyway. The bits of an inverse are kInverse minus the bits of its power of two.
static constexpr int32_t kLeastScale = 0x0d000000, kMostScale = 0x7e800000, kInverse = 0x7f000000;

bool GpuMatrixStaging::isRounded() const {
  return !isPanel() && view.type.getElementType().isF32();
}

Value GpuMatrixStaging::rounded(ArrayRef<Value> vec4s, Value factor) {
  SmallVector<Value> words;
  for (Value vec4 : vec4s) {
    Value scaled = e.mulf(vec4, e.splat(factor, vec4.getType()));
    llvm::append_range(words, e.words.roundToHalves(scaled));
  }
  return e.vectorOf(words);
}

/// Returns the largest magnitude among this invocation's vec4s of a row, as bits.
Value GpuMatrixStaging::largestSeen(const Slot &slot, const End &end) {
  constexpr int64_t together = 4; // loads
  const int64_t features = end.whole, all = llvm::divideCeil(features, kVec4),
                steps = llvm::divideCeil(all, block.vec4s);
  Value quarters = spirv::ConstantOp::getZero(VectorType::get({kVec4}, e.builder.getI32Type()),
                                              e.loc, e.builder);
  SmallVector<Value> largest = {quarters};
  e.loopOver(e.constant(0), e.constant(steps), together, largest, [&](Value step) {
    e.markLoop(kRolled);
    for (int64_t i = 0; i < together; ++i) {
      Value vec4 = e.add(e.mul(e.add(step, e.constant(i)), block.vec4s), slot.vec4);
      vec4 = e.minimum(vec4, e.constant(all - 1)); // the last one repeats
      Value numbers = load(slot, e.add(slot.start, vec4));
      if (features % kVec4)
        numbers = upTo(end, vec4, numbers);
      Value bits = e.asWords(numbers);
      bits = e.bitAnd(bits, e.wordConstant(kMagnitudeBits, bits.getType()));
      largest[0] = arith::MaxSIOp::create(e.builder, e.loc, largest[0], bits);
    }
  });
  Value most;
  for (int64_t word = 0; word < kVec4; ++word) {
    Value one = e.extract(largest[0], word);
    most = most ? e.maximum(most, one) : one;
  }
  return most;
}

Value GpuMatrixStaging::entryOfScale(Value row) {
  return e.entry.shared(SharedArray::Maxima, e.builder.getF32Type(),
                        e.placement.ty * e.placement.rows, row);
}

/// Returns the largest of a row's maxima, one of each vec4 of a block, and of the least scale.
Value GpuMatrixStaging::largestOfRow(Value row) {
  Value most = e.constant(kLeastScale);
  auto read = [&](Value place, Value lane = {}) {
    return e.asWords(e.workgroup.read(array.use, e.vec4Type(), array.entries, place, lane));
  };
  if (block.vec4s < kVec4) {
    Value first = e.mul(row, block.vec4s);
    for (int64_t vec4 = 0; vec4 < block.vec4s; ++vec4) {
      Value place = e.add(first, e.constant(vec4));
      most = e.maximum(most, read(e.memory.quarter(place), e.masked(place, kVec4 - 1)));
    }
    return most;
  }
  for (int64_t vec4 = 0; vec4 < block.vec4s / kVec4; ++vec4) {
    Value four = read(e.add(e.mul(row, block.vec4s / kVec4), e.constant(vec4)));
    for (int64_t word = 0; word < kVec4; ++word)
      most = e.maximum(most, e.extract(four, word));
  }
  return most;
}

/// Each invocation finds the maximum of its part of a row. The maxima are combined after a barrier.
void GpuMatrixStaging::scaleRows(const End &end) {
  SmallVector<Value> seen;
  for (const Slot &slot : slots)
    seen.push_back(largestSeen(slot, end));
  e.workgroup.barrier();
  for (auto [slot, most] : llvm::zip(slots, seen)) {
    Value place = e.add(e.mul(slot.line, block.vec4s), slot.vec4);
    auto pointer = e.entry.shared(array.use, e.vec4Type(), array.entries, e.memory.quarter(place),
                                  e.masked(place, kVec4 - 1));
    e.store(pointer, e.asFloats(most));
  }
  e.workgroup.barrier();
  for (const Slot &slot : slots) {
    Value most = largestOfRow(slot.line);
    Value bits = e.masked(most, kExponentBits);
    bits = e.minimum(bits, e.constant(kMostScale));
    e.store(entryOfScale(slot.line), e.asFloats(bits));
  }
}

/// This invocation has itself stored the powers of two that it loads, so there is no barrier.
void GpuMatrixStaging::takeFactors() {
  for (Slot &slot : slots)
    slot.factor = e.asFloats(e.sub(e.constant(kInverse), e.asWords(scaleOf(slot.line))));
}

Value GpuMatrixStaging::scaleOf(Value row) { return e.load(entryOfScale(row)); }

} // namespace heddle
