//===- Float.cpp - 16-bit floating point -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narrowing uses integer arithmetic, so that the processor's rounding and denormal
// modes have no effect.

#include "heddle/Support/Float.h"

namespace heddle {

/// `value >> shift`, rounded to nearest, ties to even.
static uint32_t roundedShift(uint32_t value, int shift) {
  uint32_t low = value & ((1u << shift) - 1), half = 1u << (shift - 1);
  uint32_t kept = value >> shift;
  return kept + (low > half || (low == half && (kept & 1)));
}

uint16_t halfFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) // NaN stays one, and quiet
    return static_cast<uint16_t>(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
  if (rest >= 0x477ff000u) // 65520 and more round to infinity
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (rest >= 0x38800000u) // normal in f16; a carry into the exponent is correct
    return static_cast<uint16_t>(sign | roundedShift(rest - 0x38000000u, 13));
  if (rest < 0x33000000u) // below half of the smallest denormal
    return static_cast<uint16_t>(sign);
  uint32_t mantissa = (rest & 0x7fffffu) | 0x800000u;
  return static_cast<uint16_t>(sign | roundedShift(mantissa, 126 - static_cast<int>(rest >> 23)));
}

} // namespace heddle
