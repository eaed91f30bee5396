//===- Float.h - 16-bit floating point -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between f32 and the bits of f16 and bf16. The inline ones have no
// branches, so that loops over them vectorise. Narrowing rounds to nearest, ties to
// even.
#pragma once

#include <bit>
#include <cstdint>

namespace heddle {

inline float floatFromBFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline float floatFromHalf(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t rest = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  // Scaling by 2^112 changes the exponent's bias and normalises f16 denormals; inf and NaN need
  // all exponent bits set.
  uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112f);
  uint32_t special = rest | 0x7f800000u;
  return std::bit_cast<float>(sign | (rest >= 0x0f800000u ? special : scaled));
}

inline uint16_t bfloatFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  bool isNan = (bits & 0x7fffffffu) > 0x7f800000u; // NaN stays one, and quiet
  return static_cast<uint16_t>(isNan ? bits >> 16 | 0x40u : rounded);
}

uint16_t halfFromFloat(float value);

} // namespace heddle
