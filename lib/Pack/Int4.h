//===- Int4.h - Codes of 4 bits in groups -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of 32 numbers as codes from 0 to 15, a scale and a minimum of f16, which
// `transformer.quantize` defines. What includes this is compiled without contraction,
// like RowCodes.h.
#pragma once

#include "RowCodes.h"

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/Float.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

namespace heddle {

/// Columns of a row that share scale and minimum, which are those of a block.
inline constexpr int64_t int4Group = formatOf(DType::I4).group;
static_assert(int4Group == formatOf(DType::I4).blockColumns);

/// Parts of a group's range that are tried, the first of the best is kept.
inline constexpr double int4Ranges[] = {1, 0.97, 0.94, 0.90, 0.86};

/// A number rounded to f16 once: between f32, a result that is not exact is made odd, so that the
/// second rounding sees on which side of a tie the number lay.
inline uint16_t halfFromDouble(double number) {
  auto near = static_cast<float>(number);
  auto bits = std::bit_cast<uint32_t>(near);
  if (near != number && bits % 2 == 0)
    bits = std::fabs(near) < std::fabs(number) ? bits + 1 : bits - 1;
  return halfFromFloat(std::bit_cast<float>(bits));
}

/// Scale, minimum and codes of a part of a group's range. Codes are floats, so that loops over them
/// are vectorised; those of numbers that are missing have no meaning.
struct Int4Trial {
  uint16_t scale = 0, minimum = 0;
  float codes[int4Group] = {};

  void make(const float *numbers, double low, double high) {
    constexpr float noFraction = 0x1.8p23f; // a sum with it has no room for one
    scale = halfFromDouble((high - low) / 15);
    minimum = halfFromDouble(low);
    const float step = floatFromHalf(scale), first = floatFromHalf(minimum);
    if (step > 0)
      for (int64_t k = 0; k < int4Group; ++k) {
        float code = (numbers[k] - first) / step;
        code = code < 0 ? 0 : code;
        codes[k] = (code < 15 ? code : 15) + noFraction - noFraction;
      }
  }
  /// Whether f16 can hold scale and minimum.
  bool isKept() const {
    constexpr uint16_t infinity = 0x7c00, magnitude = 0x7fff;
    return (scale & magnitude) < infinity && (minimum & magnitude) < infinity;
  }
  void squareErrors(const float *numbers, double *squares) const {
    const double step = floatFromHalf(scale), first = floatFromHalf(minimum);
    for (int64_t k = 0; k < int4Group; ++k) {
      double off = numbers[k] - (step * codes[k] + first);
      squares[k] = off * off;
    }
  }
};

/// The trial with the least sum of squared errors, the first of several; null where f16 can hold none.
/// The sums are chains, which go side by side.
inline const Int4Trial *bestOf(std::span<const Int4Trial> trials, const float *numbers,
                               size_t count) {
  double squares[std::size(int4Ranges)][int4Group], sums[std::size(int4Ranges)] = {};
  for (size_t i = 0; i < trials.size(); ++i)
    trials[i].squareErrors(numbers, squares[i]);
  for (size_t k = 0; k < count; ++k)
    for (size_t i = 0; i < std::size(int4Ranges); ++i)
      sums[i] += squares[i][k];
  const Int4Trial *best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < trials.size(); ++i)
    if (trials[i].isKept() && sums[i] < least) {
      best = &trials[i];
      least = sums[i];
    }
  return best;
}

/// The group of some numbers, at least one; the codes of those that are missing are 0. NaN, and so
/// is all that is made of the group, where a number is not finite or f16 cannot hold any of its
/// ranges.
inline Int4Codes int4CodesOf(std::span<const float> numbers) {
  constexpr uint16_t notANumber = 0x7e00;
  float all[int4Group] = {}, least = numbers.front(), greatest = least;
  std::ranges::copy(numbers, all);
  for (float number : numbers) {
    least = number < least ? number : least;
    greatest = number > greatest ? number : greatest;
  }
  Int4Codes group{notANumber, notANumber, {}};
  if (largestMagnitude(all, int4Group, 0) >= 0x7f800000u)
    return group;
  Int4Trial trials[std::size(int4Ranges)];
  const double low = least + 0.0, high = greatest + 0.0; // -0 is 0
  for (size_t i = 0; i < std::size(int4Ranges); ++i) {
    double cut = (high - low) * ((1 - int4Ranges[i]) / 2);
    trials[i].make(all, low + cut, high - cut);
  }
  if (const Int4Trial *best = bestOf(trials, all, numbers.size())) {
    group.scale = best->scale;
    group.minimum = best->minimum;
    std::copy_n(best->codes, numbers.size(), group.codes.begin());
  }
  return group;
}

/// A block of a panel of 16 rows, as it lies in memory. A word is eight columns of a row, the first
/// four in the low halves of its bytes, the others in the high ones.
struct Int4Block {
  uint32_t lines[int4Group / 8][16];
  uint16_t scales[16], minimums[16];

  void write(int64_t row, const Int4Codes &group) {
    for (int64_t line = 0; line < int4Group / 8; ++line) {
      uint32_t word = 0;
      for (int64_t k = 0; k < 8; ++k)
        word |= uint32_t(group.codes[line * 8 + k]) << (k % 4 * 8 + k / 4 * 4);
      lines[line][row] = word;
    }
    scales[row] = group.scale;
    minimums[row] = group.minimum;
  }
};
static_assert(sizeof(Int4Block) == panelBytes(DType::I4, int4Group));

/// Writes `count` columns of 16 rows, by whole blocks. kept(row, column) are codes that the numbers
/// from there on are known to be, or null.
template <typename Kept>
void writeInt4(const float *const *rows, int64_t count, std::byte *to, Kept kept) {
  for (int64_t first = 0; first < count; first += int4Group, to += sizeof(Int4Block)) {
    Int4Block block;
    auto numbers = static_cast<size_t>(std::min(int4Group, count - first));
    for (int64_t row = 0; row < 16; ++row) {
      std::optional<Int4Codes> known = kept(row, first);
      block.write(row, known ? *known : int4CodesOf({rows[row] + first, numbers}));
    }
    std::memcpy(to, &block, sizeof block);
  }
}

} // namespace heddle
