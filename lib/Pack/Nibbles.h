//===- Nibbles.h - Codes of 4 bits that share a scale ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of 32 numbers as codes from -8 to 7 and a scale of f16, which
// `transformer.weight` defines. What includes this is compiled without contraction,
// like RowCodes.h.
#pragma once

#include "RowCodes.h"

#include "heddle/Support/Float.h"
#include "heddle/Support/Formats.h"

#include <cstddef>
#include <cstring>
#include <span>

namespace heddle {

/// The scale d of numbers whose largest magnitude has these bits: a seventh of it, rounded to f16.
/// NaN, and so is all that is made of the group, where a number is not finite or f16 cannot hold d.
inline uint16_t nibbleScale(uint32_t largestBits) {
  constexpr uint16_t notANumber = 0x7e00, infinity = 0x7c00;
  if (largestBits >= 0x7f800000u)
    return notANumber;
  uint16_t scale = halfFromFloat(std::bit_cast<float>(largestBits) / 7);
  return scale == infinity ? notANumber : scale;
}

/// rint(x / d) within -8 and 7, ties to even, and 8 more. 0 / 0 never comes here.
inline uint32_t nibbleOf(float x, float d) {
  float code = std::clamp(x / d, -8.0f, 7.0f) + 0x1.8p23f; // no room for a fraction
  return (std::bit_cast<uint32_t>(code) + 8) & 15;
}

/// Columns of a row that share a scale, and of a block.
inline constexpr int64_t nibbleGroup = formatOf(DType::I4).group,
                         nibbleBlock = formatOf(DType::I4).blockColumns;

/// A block of a panel of 16 rows, as it lies in memory.
struct NibbleBlock {
  uint32_t lines[8][16];
  uint16_t scales[2][16];

  /// One group of a row; numbers that are missing are zeros.
  void write(int64_t row, int64_t group, std::span<const float> numbers) {
    float all[nibbleGroup] = {};
    std::copy(numbers.begin(), numbers.end(), all);
    uint16_t scale = nibbleScale(largestMagnitude(all, nibbleGroup, 0));
    float divisor = floatFromHalf(scale);
    uint32_t codes[nibbleGroup];
    for (int64_t k = 0; k < nibbleGroup; ++k)
      codes[k] = divisor > 0 ? nibbleOf(all[k], divisor) : 8;
    for (int64_t line = 0; line < 4; ++line) {
      uint32_t word = 0;
      for (int64_t k = 0; k < 8; ++k)
        word |= codes[line * 8 + k] << 4 * k;
      lines[group * 4 + line][row] = word;
    }
    scales[group][row] = scale;
  }
};
static_assert(sizeof(NibbleBlock) == panelBytes(DType::I4, nibbleBlock));

/// Writes `count` columns of 16 rows, by whole blocks.
inline void writeNibbles(const float *const *rows, int64_t count, std::byte *to) {
  for (int64_t first = 0; first < count; first += nibbleBlock, to += sizeof(NibbleBlock)) {
    NibbleBlock block;
    for (int64_t row = 0; row < 16; ++row)
      for (int64_t group = 0; group < 2; ++group) {
        int64_t start = std::min(first + group * nibbleGroup, count);
        int64_t numbers = std::min(nibbleGroup, count - start);
        block.write(row, group, {rows[row] + start, static_cast<size_t>(numbers)});
      }
    std::memcpy(to, &block, sizeof block);
  }
}

} // namespace heddle
