//===- GpuMemory.h - Vec4s and words of memory ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers are arrays of vec4s of words. A word stores one f32, two bf16 or f16, or four
// i8 codes. GpuMemory computes the addresses of vec4s and words; GpuWords converts words to
// registers, which hold bf16 and f16 as f32 and each code as an i32, and back.
#pragma once

#include "heddle/Dialect/Kernel/Transforms/BodyEmitter.h"

namespace heddle {

class GpuEmitter;

/// Addresses and loads of the vec4s and words of views.
class GpuMemory {
public:
  explicit GpuMemory(GpuEmitter &emitter) : e(emitter) {}

  /// Whether rows start at multiples of four words. Rows of index tables and of tables with a
  /// dynamic width do not.
  static bool hasVec4(kernel::ViewType type);
  /// Returns `elements` / 4.
  mlir::Value quarter(mlir::Value elements) { return quotient(elements, 2); }
  /// Returns the index of the vec4 at a place, where a word holds `perWord` elements.
  mlir::Value vec4Index(int64_t perWord, kernel::Address place);
  mlir::Value vec4Index(const kernel::BoundView &view, kernel::Address place) {
    return vec4Index(formatOf(view.type.getElementType()).perWord, place);
  }
  /// Returns a pointer to the vec4, to the word, or to the element of 32 bits at a place.
  mlir::Value vec4At(const kernel::BoundView &view, kernel::Address place);
  mlir::Value wordAt(const kernel::BoundView &view, kernel::Address place);
  mlir::Value elementAt(const kernel::BoundView &view, kernel::Address place);
  mlir::Value loadVec4(const kernel::BoundView &view, kernel::Address place);
  mlir::Value loadWord(const kernel::BoundView &view, kernel::Address place);

private:
  /// Returns `elements` / 2^shift.
  mlir::Value quotient(mlir::Value elements, int64_t shift);

  GpuEmitter &e;
  /// Results of `quotient`, by elements and shift.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> quotients;
};

/// Conversions between the words of memory and registers.
class GpuWords {
public:
  explicit GpuWords(GpuEmitter &emitter) : e(emitter) {}

  /// Returns the even (low) and odd (high) elements of words, widened to f32.
  std::pair<mlir::Value, mlir::Value> unpack(mlir::Value words, mlir::Type element);
  /// Widens the elements of two words to four floats.
  mlir::Value unpackFour(mlir::Value first, mlir::Value second, mlir::Type element);
  /// Packs four floats, already rounded to `element`, into two words.
  std::pair<mlir::Value, mlir::Value> packFour(mlir::Value value, mlir::Type element);
  /// Rounds four floats to f16 by the device's conversion and packs them into two words.
  llvm::SmallVector<mlir::Value> roundToHalves(mlir::Value value);
  /// Returns one byte of each word, widened to f32.
  mlir::Value byteAsFloat(mlir::Value words, int64_t byte, bool isSigned);
  /// Packs the low bytes of four integers into a word. `unpackBytes` extends their signs.
  mlir::Value packBytes(mlir::Value value);
  mlir::Value unpackBytes(mlir::Value word);
  /// Returns the numbers that codes encode: codes * scale.
  mlir::Value decode(mlir::Value codes, mlir::Value scale);
  /// Returns the dot product of the four signed bytes of two words, or of each word of registers.
  mlir::Value dot(mlir::Value a, mlir::Value b);
  mlir::Value dots(mlir::Value a, mlir::Value b);
  /// Subtracts 128 from the bytes of a vec4, which hold 128 + code.
  mlir::Value signedBytes(mlir::Value vec4);

private:
  std::pair<mlir::Value, mlir::Value> unpackByDevice(mlir::Value words);

  GpuEmitter &e;
  /// Results of byteAsFloat, by words and 2 * byte + isSigned, in the block of the words.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> floatBytes;
};

} // namespace heddle
