//===- GpuMemory.cpp - Vec4s and words of memory --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file implements GpuMemory and GpuWords. Element addresses are divided by four where
// all of them are multiples of four.
#include "GpuMemory.h"

#include "GpuEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::Address;
using heddle::kernel::BoundView;

namespace heddle {

//===- Addresses ---------------------------------------------------------===//

/// The shift is emitted once, directly after the definition of `elements`.
Value GpuMemory::quotient(Value elements, int64_t shift) {
  Value &found = quotients[{elements, shift}];
  if (!found) {
    OpBuilder::InsertionGuard guard(e.builder);
    e.builder.setInsertionPointAfterValue(elements);
    found = e.shiftedRight(elements, shift);
  }
  return found;
}

bool GpuMemory::hasVec4(kernel::ViewType type) {
  return !type.holdsIndices() && (type.getRank() == 1 || type.getDims().back().pitch.isStatic());
}

Value GpuMemory::vec4At(const BoundView &view, Address place) {
  return e.entry.vec4(view.argument, vec4Index(view, place));
}

Value GpuMemory::vec4Index(int64_t perWord, Address place) {
  int64_t elements = 4 * perWord, shift = llvm::Log2_64(elements);
  assert(place.constant % elements == 0 && "vec4s lie on multiples of four words");
  Value index = e.constant(place.constant / elements);
  if (place.dynamic)
    index = e.add(quotient(place.dynamic, shift), index);
  return index;
}

Value GpuMemory::wordAt(const BoundView &view, Address place) {
  int64_t word = GpuEmitter::perWord(view);
  Value index = e.constant(place.constant / word);
  if (place.dynamic)
    index = e.add(word == 1 ? place.dynamic : quotient(place.dynamic, llvm::Log2_64(word)), index);
  return e.entry.element(view.argument, index);
}

Value GpuMemory::elementAt(const BoundView &view, Address place) {
  Value index = e.constant(place.constant);
  if (place.dynamic)
    index = e.add(place.dynamic, index);
  return e.entry.element(view.argument, index);
}

Value GpuMemory::loadVec4(const BoundView &view, Address place) {
  return e.load(vec4At(view, place));
}

Value GpuMemory::loadWord(const BoundView &view, Address place) {
  return e.load(wordAt(view, place));
}

//===- Words -------------------------------------------------------------===//

std::pair<Value, Value> GpuWords::unpack(Value words, Type element) {
  if (!element.isF16())
    return e.halvesOf(words);
  Type type = words.getType();
  Value even = e.bitAnd(words, e.wordConstant(0xffff, type));
  Value odd = arith::ShRUIOp::create(e.builder, e.loc, words, e.wordConstant(16, type));
  auto [low, high] = unpackByDevice(words);
  Value keeps = e.splat(e.entry.keepsHalves(), e.withElement(type, e.builder.getI1Type()));
  return {e.select(keeps, low, e.widenedHalves(even)), e.select(keeps, high, e.widenedHalves(odd))};
}

/// Unpacks words by an instruction that flushes denormals of f16 on some devices.
std::pair<Value, Value> GpuWords::unpackByDevice(Value words) {
  Type pair = VectorType::get({2}, e.builder.getF32Type());
  auto vector = dyn_cast<VectorType>(words.getType());
  SmallVector<Value> low, high;
  for (int64_t lane = 0; lane < (vector ? vector.getDimSize(0) : 1); ++lane) {
    Value word = vector ? e.extract(words, lane) : words;
    Value both = spirv::GLUnpackHalf2x16Op::create(e.builder, e.loc, pair, word);
    low.push_back(e.extract(both, 0));
    high.push_back(e.extract(both, 1));
  }
  if (!vector)
    return {low.front(), high.front()};
  return {e.vectorOf(low), e.vectorOf(high)};
}

Value GpuWords::byteAsFloat(Value words, int64_t byte, bool isSigned) {
  Value &known = floatBytes[{words, 2 * byte + isSigned}];
  if (known)
    return known;
  Type type = e.withElement(words.getType(), e.builder.getF32Type());
  Value integer = e.byteOf(words, byte, isSigned);
  if (isSigned)
    return known = arith::SIToFPOp::create(e.builder, e.loc, type, integer);
  return known = arith::UIToFPOp::create(e.builder, e.loc, type, integer);
}

Value GpuWords::unpackFour(Value first, Value second, Type element) {
  SmallVector<Value> elements;
  for (Value word : {first, second}) {
    auto [even, odd] = unpack(e.asWords(word), element);
    elements.append({even, odd});
  }
  return e.vectorOf(elements);
}

std::pair<Value, Value> GpuWords::packFour(Value value, Type element) {
  if (element.isF16() && e.convertsHalves()) {
    const SmallVector<Value> pairs = roundToHalves(value);
    return {pairs[0], pairs[1]};
  }
  Value words = element.isF16() ? e.roundedHalves(value) : e.asWords(value);
  auto word = [&](int64_t first) -> Value {
    Value even = e.extract(words, first), odd = e.extract(words, first + 1);
    if (element.isF16())
      odd = e.shiftedLeft(odd, 16);
    else
      even = e.shiftedRight(even, 16);
    return e.asFloats(e.bitOr(odd, even));
  };
  return {word(0), word(2)};
}

SmallVector<Value> GpuWords::roundToHalves(Value value) {
  auto halves = VectorType::get({kVec4}, e.builder.getF16Type()),
       words = VectorType::get({kVec4 / 2}, e.builder.getF32Type());
  Value packed = spirv::FConvertOp::create(e.builder, e.loc, halves, value);
  packed = spirv::BitcastOp::create(e.builder, e.loc, words, packed);
  return {e.extract(packed, 0), e.extract(packed, 1)};
}

/// The word is stored as a float but never used as one.
Value GpuWords::packBytes(Value value) {
  Value word;
  for (int64_t lane = 0; lane < e.width; ++lane) {
    Value code = e.extract(value, lane);
    if (lane < 3) // the shift drops the high bytes of the last
      code = e.masked(code, 0xff);
    if (lane)
      code = e.shiftedLeft(code, 8 * lane);
    word = word ? e.bitOr(word, code) : code;
  }
  return e.asFloats(word);
}

Value GpuWords::unpackBytes(Value word) {
  SmallVector<Value> bytes;
  for (int64_t byte = 0; byte < e.width; ++byte)
    bytes.push_back(e.byteOf(word, byte, /*isSigned=*/true));
  return e.vectorOf(bytes);
}

Value GpuWords::decode(Value codes, Value scale) {
  Value numbers = arith::SIToFPOp::create(e.builder, e.loc, scale.getType(), codes);
  return e.mulf(numbers, scale);
}

Value GpuWords::dot(Value a, Value b) {
  auto bytes = spirv::PackedVectorFormatAttr::get(
      e.builder.getContext(), spirv::PackedVectorFormat::PackedVectorFormat4x8Bit);
  return spirv::SDotOp::create(e.builder, e.loc, e.builder.getI32Type(), a, b, bytes);
}

Value GpuWords::dots(Value a, Value b) {
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < e.width; ++lane)
    lanes.push_back(dot(e.extract(a, lane), e.extract(b, lane)));
  return e.vectorOf(lanes);
}

Value GpuWords::signedBytes(Value vec4) {
  Value words = e.asWords(vec4), bases = e.wordConstant(0x80808080, words.getType());
  return e.asFloats(arith::XOrIOp::create(e.builder, e.loc, words, bases));
}

} // namespace heddle
