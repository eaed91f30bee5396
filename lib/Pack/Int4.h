//===- Int4.h - Group-wise int4 quantization --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Int4 weights: groups of 32 numbers as codes from 0 to 15 with an f16 scale and minimum, as
// `transformer.quantize` defines them, and the blocks of panels that store them.
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/Formats.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

namespace heddle {

/// Columns of a row that share a scale and a minimum; equal to the columns of a block.
inline constexpr int64_t int4Group = formatOf(DType::I4).group;
static_assert(int4Group == formatOf(DType::I4).blockColumns);

/// Memory layout of a block of a panel of 16 rows. A word holds eight columns of a row: the first
/// four in the low halves of its bytes, the others in the high halves.
struct Int4Block {
  uint32_t lines[int4Group / 8][16];
  uint16_t scales[16], minimums[16];

  void write(int64_t row, const GroupCodes &group) {
    for (int64_t line = 0; line < int4Group / 8; ++line) {
      uint32_t word = 0;
      for (int64_t k = 0; k < 8; ++k)
        word |= uint32_t(group.codes[line * 8 + k] & 15) << (k % 4 * 8 + k / 4 * 4);
      lines[line][row] = word;
    }
    scales[row] = group.scale;
    minimums[row] = group.minimum;
  }
};
static_assert(sizeof(Int4Block) == panelBytes(DType::I4, int4Group));

/// Rounds to f16 once, as for scales and minimums.
uint16_t halfFromDouble(double number);

/// Quantizes the groups of `count` columns, 1 to 32, of 16 rows; codes of missing columns are 0. If
/// a number is not finite or f16 cannot represent any of the tried ranges, the scale and minimum of
/// the group are NaN, and so are all values that it represents.
void findInt4(const float *const *rows, int64_t count, Int4Block &block);

/// Writes `count` columns of 16 rows in whole blocks. kept(row, column) returns the known codes of
/// the numbers that begin there, which are not rounded again, or null.
template <typename Kept>
void writeInt4(const float *const *rows, int64_t count, std::byte *to, Kept kept) {
  for (int64_t first = 0; first < count; first += int4Group, to += sizeof(Int4Block)) {
    std::optional<GroupCodes> known[16];
    const float *numbers[16];
    for (int64_t row = 0; row < 16; ++row) {
      known[row] = kept(row, first);
      numbers[row] = rows[row] + first;
    }
    Int4Block block;
    if (!std::ranges::all_of(known, [](const auto &codes) { return codes.has_value(); }))
      findInt4(numbers, std::min(int4Group, count - first), block);
    for (int64_t row = 0; row < 16; ++row)
      if (known[row])
        block.write(row, *known[row]);
    std::memcpy(to, &block, sizeof block);
  }
}

} // namespace heddle
