//===- GgufBlocks.h - Decoders of GGUF's quantized blocks -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders of the tensor types of GGUF files.
#pragma once

#include "heddle/Pack/WeightSource.h"

namespace heddle {

/// How blocks of a type are decoded.
struct GgufDecoder {
  std::string_view type;
  /// Writes the elements of a block.
  void (*decode)(const uint8_t *block, float *out);
  /// Type of the codes that a block keeps, and a group of them; null for types of floats. Scale and
  /// minimum are rounded to f16 once.
  DType kept = DType::F32;
  GroupCodes (*codes)(const uint8_t *block, int64_t group) = nullptr;
};

/// Whether f16 represents a scale or a minimum.
inline bool isFiniteHalf(uint16_t half) { return (half & 0x7c00) != 0x7c00; }

/// The decoder of a type, or null if it cannot be read.
const GgufDecoder *findGgufDecoder(std::string_view type);
/// All types that can be read.
std::span<const std::string_view> decodedGgufTypes();

} // namespace heddle
