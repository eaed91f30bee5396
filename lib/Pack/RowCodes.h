//===- RowCodes.h - Rows of a matrix as codes of 8 bits --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes of a matrix' rows as `transformer.quantize` defines them. No branches, so
// that loops over rows are vectorised; what includes this is compiled without
// contraction, since product and sum are rounded each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace heddle {

/// What codes of a row are made with, and what they stand for: code = rint(x * factor), and x is
/// about code * scale.
struct RowScale {
  float factor, scale;
};

/// The bits of a magnitude, which are ordered as magnitudes are: NaN is above infinity.
inline uint32_t magnitudeBits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffu; }

/// Of a row whose largest magnitude has these bits. Rows of next to nothing have codes and scale 0,
/// rows with an infinity, a NaN or 2^127 and more codes 0 and a scale of NaN.
inline RowScale rowScale(uint32_t largestBits) {
  float largest = std::bit_cast<float>(largestBits);
  if (largestBits >= std::bit_cast<uint32_t>(0x1p127f))
    return {0, std::numeric_limits<float>::quiet_NaN()};
  if (largest < 0x1p-118f)
    return {0, 0};
  return {127 / largest, largest / 127};
}

/// Calls body(k) for each k below `count`, sixteen at a time: compilers make vectors of loops whose
/// length they know.
template <typename Body>
void inSixteens(int64_t count, Body body) {
  int64_t first = 0;
  for (; first + 16 <= count; first += 16)
    for (int64_t k = 0; k < 16; ++k)
      body(first + k);
  for (; first < count; ++first)
    body(first);
}

/// The largest of `largest` and the magnitudes of a piece of a row, as bits.
inline uint32_t largestMagnitude(const float *row, int64_t count, uint32_t largest) {
  uint32_t lanes[16] = {};
  inSixteens(count, [&](int64_t k) {
    lanes[k % 16] = std::max(lanes[k % 16], magnitudeBits(row[k]));
  });
  return std::max(largest, *std::max_element(lanes, lanes + 16));
}

/// rint(x * factor) of magnitudes up to 127, ties to even: the sum with 1.5 * 2^23 has no room for
/// a fraction. What is not finite has the code 0.
inline int8_t codeOf(float x, RowScale row) {
  float product = row.factor > 0 ? x * row.factor : 0;
  return static_cast<int8_t>(std::bit_cast<int32_t>(product + 0x1.8p23f));
}

/// The codes of a piece of a row.
inline void writeCodes(const float *row, RowScale scale, int64_t count, int8_t *codes) {
  inSixteens(count, [&](int64_t k) { codes[k] = codeOf(row[k], scale); });
}

} // namespace heddle
