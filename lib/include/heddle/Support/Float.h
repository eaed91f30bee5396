//===- Float.h - 16-bit floating point -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between f32 and the bits of f16 and bf16. They have no branches, so that loops over
// them are vectorized. Narrowing rounds to nearest, ties to even, independently of the processor's
// denormal modes. Widening f16 multiplies, so it depends on these modes.
#pragma once

#include <bit>
#include <cstdint>

namespace heddle {

inline float floatFromBFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Selects one of two values with a mask of all bits. Compilers turn conditional expressions into
/// branches and then do not vectorize.
inline int32_t chosen(bool first, int32_t a, int32_t b) {
  return b ^ ((a ^ b) & -static_cast<int32_t>(first));
}

inline float floatFromHalf(uint16_t bits) {
  const int32_t sign = static_cast<int32_t>(bits & 0x8000u) << 16, rest = (bits & 0x7fff) << 13;
  // Scaling by 2^112 changes the exponent's bias and normalizes f16 denormals; inf and NaN need all
  // exponent bits set.
  const auto scaled = std::bit_cast<int32_t>(std::bit_cast<float>(rest) * 0x1p112f);
  return std::bit_cast<float>(sign | chosen(rest >= 0x0f800000, rest | 0x7f800000, scaled));
}

inline uint16_t bfloatFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  bool isNan = (bits & 0x7fffffffu) > 0x7f800000u; // NaN is kept and made quiet
  return static_cast<uint16_t>(isNan ? bits >> 16 | 0x40u : rounded);
}

inline uint16_t halfFromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000u;
  const auto rest = static_cast<int32_t>(bits & 0x7fffffffu); // signed, because vectors compare
                                                              // signed integers
  // A carry into the exponent is correct. Ties round to even.
  const int32_t normal = (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
  // Near 1/2, f32 has the spacing of f16's denormals.
  const int32_t denormal =
      std::bit_cast<int32_t>(std::bit_cast<float>(rest) + 0.5f) - std::bit_cast<int32_t>(0.5f);
  const int32_t nan = 0x7e00 | (rest >> 13 & 0x3ff); // NaN is kept and made quiet
  const int32_t finite = chosen(rest < 0x38800000, denormal, normal);
  const int32_t special = chosen(rest > 0x7f800000, nan, 0x7c00);
  return static_cast<uint16_t>(sign | chosen(rest >= 0x477ff000, special, finite)); // from 65520 on
}

} // namespace heddle
