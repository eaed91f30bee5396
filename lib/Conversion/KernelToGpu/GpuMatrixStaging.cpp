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
  shareOut(e, block.rows * block.quads, [&](Value number) {
    Value row = arith::DivUIOp::create(e.builder, e.loc, number, e.constant(block.quads)),
          quad = arith::RemUIOp::create(e.builder, e.loc, number, e.constant(block.quads));
    Value place = e.add(e.mul(placeOf(row), block.pitch()), quad);
    slots.push_back({startOf(row), quad, e.mul(place, array.perQuad()), row, {}, {}});
  });
}

/// Sixteen invocations take the columns of a panel, so that they load contiguous words.
void GpuMatrixStaging::placePanels(function_ref<Value(Value)> startOf, int64_t before) {
  shareOut(e, block.rows * block.quads, [&](Value number) {
    auto quotient = [&](Value x, int64_t by) -> Value {
      return arith::DivUIOp::create(e.builder, e.loc, x, e.constant(by));
    };
    auto rest = [&](Value x, int64_t by) -> Value {
      return arith::RemUIOp::create(e.builder, e.loc, x, e.constant(by));
    };
    Value inside = rest(number, kPanel), panel = quotient(number, kPanel * block.quads),
          quad = rest(quotient(number, kPanel), block.quads),
          column = e.add(e.mul(panel, kPanel), inside);
    Value place = e.add(e.mul(e.add(column, e.constant(before)), block.pitch()), quad);
    Value start = e.add(startOf(panel), quotient(inside, kQuad));
    slots.push_back({start, quad, e.mul(place, array.perQuad()), column, rest(inside, kQuad), {}});
  });
}

bool GpuMatrixStaging::isWidened() const {
  return isPanel() && view.type.getElementType().isInteger(4);
}

/// Returns the distance of a vec4 from the start of its row or column in memory. In a panel, the
/// words of a column are a line of sixteen words apart. Two words of i4 become a vec4 of bytes, and
/// a line of scales follows the lines of codes of each group. Distances add up if one is of whole
/// groups.
Value GpuMatrixStaging::distanceOf(Value quad) {
  if (!isWidened())
    return e.mul(quad, isPanel() ? kPanel : parts());
  constexpr const ElementFormat &format = formatOf(DType::I4);
  constexpr int64_t quadsOfGroup = (format.blockLines - 1) / kLines;
  Value group = arith::DivUIOp::create(e.builder, e.loc, quad, e.constant(quadsOfGroup)),
        inside = arith::RemUIOp::create(e.builder, e.loc, quad, e.constant(quadsOfGroup));
  Value line = e.add(e.mul(group, format.blockLines), e.mul(inside, kLines));
  return e.mul(line, kPanel / kQuad);
}

/// Loads a vec4 of a row, or the words of a panel's column that become one.
Value GpuMatrixStaging::load(const Slot &slot, Value place) {
  if (!slot.lane)
    return spirv::LoadOp::create(e.builder, e.loc, e.entry.vec4(view.argument, place));
  const int64_t count = isWidened() ? kLines : kQuad;
  SmallVector<Value> words;
  for (int64_t word = 0; word < count; ++word) {
    Value line = e.add(place, e.constant(word * kPanel / kQuad));
    words.push_back(
        spirv::LoadOp::create(e.builder, e.loc, e.entry.lane(view.argument, line, slot.lane)));
  }
  return vector::FromElementsOp::create(e.builder, e.loc,
                                        VectorType::get({count}, e.builder.getF32Type()), words);
}

/// The low halves of a word's bytes are four features, the high halves the next four.
Value GpuMatrixStaging::asBytes(Value codes) {
  Value packed = e.asWords(codes);
  Value halves = e.wordConstant(0x0f0f0f0f, packed.getType()),
        bits = e.wordConstant(4, packed.getType());
  Value low = arith::AndIOp::create(e.builder, e.loc, packed, halves),
        high = arith::ShRUIOp::create(e.builder, e.loc, packed, bits);
  high = arith::AndIOp::create(e.builder, e.loc, high, halves);
  SmallVector<Value> words;
  for (int64_t word = 0; word < kQuad; ++word)
    words.push_back(vector::ExtractOp::create(e.builder, e.loc, word % 2 ? high : low, word / 2));
  return e.asFloats(vector::FromElementsOp::create(
      e.builder, e.loc, VectorType::get({kQuad}, e.builder.getI32Type()), words));
}

/// Clears the elements of a vec4 that are beyond the end of the row.
Value GpuMatrixStaging::upTo(const End &end, Value quad, Value words) {
  SmallVector<Value> masks;
  for (int64_t word = 0; word < kQuad; ++word) {
    Value number = e.add(e.mul(quad, kQuad), e.constant(word)), whole = e.constant(end.whole);
    Value mask = e.constant(0);
    if (end.bits)
      mask = e.select(e.compare(arith::CmpIPredicate::eq, number, whole),
                      e.constant(static_cast<int32_t>(end.bits)), mask);
    masks.push_back(
        e.select(e.compare(arith::CmpIPredicate::slt, number, whole), e.constant(-1), mask));
  }
  Value integers = e.asWords(words);
  Value mask =
      vector::FromElementsOp::create(e.builder, e.loc, cast<VectorType>(integers.getType()), masks);
  return e.asFloats(arith::AndIOp::create(e.builder, e.loc, integers, mask));
}

void GpuMatrixStaging::fetch(Value first, const End *end, Quads &loaded) {
  for (const Slot &slot : slots)
    for (int64_t part = 0; part < parts(); ++part) {
      Value before = e.memory.quarter(first);
      if (!end && isa<IntegerType>(view.type.getElementType())) {
        // Compute the block-invariant part of the address first. This saves registers for integer
        // formats and would cost some for floats.
        Value place = e.add(slot.start, distanceOf(slot.quad));
        loaded.push_back(load(slot, e.add(place, distanceOf(before))));
        continue;
      }
      Value quad = e.add(e.mul(e.add(slot.quad, before), parts()), e.constant(part)), known = quad;
      if (end)
        known = e.minimum(quad, e.constant(end->stored / kQuad - 1));
      Value found = load(slot, e.add(slot.start, isPanel() ? distanceOf(known) : known));
      // Codes of i4 need no mask: beyond the end they fill a group, and the rows are zero there.
      loaded.push_back(end && !isWidened() ? upTo(*end, quad, found) : found);
    }
}

void GpuMatrixStaging::store(ArrayRef<Value> loaded) {
  Type entry = VectorType::get({array.unit}, e.builder.getF32Type());
  for (auto [number, slot] : llvm::enumerate(slots)) {
    ArrayRef<Value> quads = loaded.slice(number * parts(), parts());
    Value quad = isRounded()   ? rounded(quads, slot.factor)
                 : isWidened() ? asBytes(quads.front())
                               : quads.front();
    for (int64_t part = 0; part < array.perQuad(); ++part) {
      Value value = quad;
      if (array.unit != kQuad) {
        SmallVector<Value> words;
        for (int64_t word = 0; word < array.unit; ++word)
          words.push_back(
              vector::ExtractOp::create(e.builder, e.loc, quad, part * array.unit + word));
        value = vector::FromElementsOp::create(e.builder, e.loc, cast<VectorType>(entry), words);
      }
      e.workgroup.write(array.use, entry, array.entries, e.add(slot.place, e.constant(part)),
                        value);
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

Value GpuMatrixStaging::rounded(ArrayRef<Value> quads, Value factor) {
  SmallVector<Value> words;
  for (Value quad : quads) {
    Value scaled = arith::MulFOp::create(e.builder, e.loc, quad, e.splat(factor, quad.getType()));
    auto halves = VectorType::get({kQuad}, e.builder.getF16Type()),
         pairs = VectorType::get({kQuad / 2}, e.builder.getF32Type());
    Value packed = spirv::FConvertOp::create(e.builder, e.loc, halves, scaled);
    packed = spirv::BitcastOp::create(e.builder, e.loc, pairs, packed);
    for (int64_t word = 0; word < kQuad / 2; ++word)
      words.push_back(vector::ExtractOp::create(e.builder, e.loc, packed, word));
  }
  return vector::FromElementsOp::create(e.builder, e.loc, e.vec4Type(), words);
}

/// Returns the largest magnitude among this invocation's vec4s of a row, as bits.
Value GpuMatrixStaging::largestSeen(const Slot &slot, const End &end) {
  constexpr int64_t together = 4; // loads
  const int64_t features = end.whole, all = llvm::divideCeil(features, kQuad),
                steps = llvm::divideCeil(all, block.quads);
  Value quarters = spirv::ConstantOp::getZero(VectorType::get({kQuad}, e.builder.getI32Type()),
                                              e.loc, e.builder);
  SmallVector<Value> largest = {quarters};
  e.loopOver(e.constant(0), e.constant(steps), together, largest, [&](Value step) {
    e.builder.getInsertionBlock()->getParentOp()->setAttr(kRolled, e.builder.getUnitAttr());
    for (int64_t i = 0; i < together; ++i) {
      Value quad = e.add(e.mul(e.add(step, e.constant(i)), block.quads), slot.quad);
      quad = e.minimum(quad, e.constant(all - 1)); // the last one repeats
      Value numbers = load(slot, e.add(slot.start, quad));
      if (features % kQuad)
        numbers = upTo(end, quad, numbers);
      Value bits = e.asWords(numbers);
      bits = arith::AndIOp::create(e.builder, e.loc, bits,
                                   e.wordConstant(kMagnitudeBits, bits.getType()));
      largest[0] = arith::MaxSIOp::create(e.builder, e.loc, largest[0], bits);
    }
  });
  Value most;
  for (int64_t word = 0; word < kQuad; ++word) {
    Value one = vector::ExtractOp::create(e.builder, e.loc, largest[0], word);
    most = most ? e.maximum(most, one) : one;
  }
  return most;
}

Value GpuMatrixStaging::entryOfScale(Value row) {
  return e.entry.shared(SharedArray::Maxima, e.builder.getF32Type(), block.rows, row);
}

/// Each invocation finds the maximum of its part of a row. The maxima are combined after a barrier.
void GpuMatrixStaging::scaleRows(const End &end) {
  SmallVector<Value> seen;
  for (const Slot &slot : slots)
    seen.push_back(largestSeen(slot, end));
  e.workgroup.barrier();
  for (auto [slot, most] : llvm::zip(slots, seen)) {
    Value place = e.add(e.mul(slot.line, block.quads), slot.quad);
    auto pointer =
        e.entry.shared(array.use, e.vec4Type(), array.entries, e.memory.quarter(place),
                       arith::AndIOp::create(e.builder, e.loc, place, e.constant(kQuad - 1)));
    spirv::StoreOp::create(e.builder, e.loc, pointer, e.asFloats(most));
  }
  e.workgroup.barrier();
  for (Slot &slot : slots) {
    Value most = e.constant(kLeastScale);
    for (int64_t quad = 0; quad < block.quads / kQuad; ++quad) {
      Value place = e.add(e.mul(slot.line, block.quads / kQuad), e.constant(quad));
      Value four = e.asWords(e.workgroup.read(array.use, e.vec4Type(), array.entries, place));
      for (int64_t word = 0; word < kQuad; ++word)
        most = e.maximum(most, vector::ExtractOp::create(e.builder, e.loc, four, word));
    }
    Value bits = arith::AndIOp::create(e.builder, e.loc, most, e.constant(kExponentBits));
    bits = e.minimum(bits, e.constant(kMostScale));
    slot.factor = e.asFloats(e.sub(e.constant(kInverse), bits));
    spirv::StoreOp::create(e.builder, e.loc, entryOfScale(slot.line), e.asFloats(bits));
  }
}

Value GpuMatrixStaging::scaleOf(Value row) {
  return spirv::LoadOp::create(e.builder, e.loc, entryOfScale(row));
}

} // namespace heddle
