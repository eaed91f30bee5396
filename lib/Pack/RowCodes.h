//===- RowCodes.h - Row-wise int8 quantization -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Int8 codes of a matrix's rows as `transformer.quantize` defines them. Loops have no branches, so
// that they are vectorized. Files that include this header are compiled with -ffp-contract=off,
// because product and sum are rounded separately.
#pragma once

#include "heddle/Support/WideClones.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace heddle {

/// Scale of a row: code = rint(x * factor), and code * scale approximates x.
struct RowScale {
  float factor, scale;
};

/// Bits of |x|. As integers they are ordered by magnitude, with NaN above infinity.
HEDDLE_IN_CLONE uint32_t magnitudeBits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffu; }

/// Scale of a row whose largest magnitude has these bits. Rows below 2^-118 have codes and scale 0;
/// rows with infinity, NaN or a magnitude of at least 2^127 have codes 0 and the scale NaN.
inline RowScale rowScale(uint32_t largestBits) {
  float largest = std::bit_cast<float>(largestBits);
  if (largestBits >= std::bit_cast<uint32_t>(0x1p127f))
    return {0, std::numeric_limits<float>::quiet_NaN()};
  if (largest < 0x1p-118f)
    return {0, 0};
  return {127 / largest, largest / 127};
}

/// Maximum of `largest` and the magnitudes of a piece of a row, as bits.
HEDDLE_IN_CLONE uint32_t largestMagnitude(const float *row, int64_t count, uint32_t largest) {
  uint32_t lanes[16] = {};
  int64_t first = 0;
  for (; first + 16 <= count; first += 16)
    for (int64_t k = 0; k < 16; ++k)
      lanes[k] = std::max(lanes[k], magnitudeBits(row[first + k]));
  for (; first < count; ++first)
    largest = std::max(largest, magnitudeBits(row[first]));
  return std::max(largest, *std::max_element(lanes, lanes + 16));
}

/// Writes the codes of a piece of a row: rint(x * factor), ties to even, for magnitudes up to 127.
/// Adding 1.5 * 2^23 rounds to an integer, and the code is in the low byte. A row with factor 0 has
/// codes 0.
HEDDLE_IN_CLONE void writeCodes(const float *__restrict row, RowScale scale, int64_t count,
                                int8_t *__restrict codes) {
  const int32_t kept = scale.factor > 0 ? 0xff : 0;
  for (int64_t k = 0; k < count; ++k)
    codes[k] =
        static_cast<int8_t>(std::bit_cast<int32_t>(row[k] * scale.factor + 0x1.8p23f) & kept);
}

} // namespace heddle
