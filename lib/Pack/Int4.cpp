//===- Int4.cpp - Group-wise int4 quantization ----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Search for the int4 scale and minimum of each group. The definition fixes the order in which a
// group's squared errors are summed, so a sum is one dependency chain. 16 rows are searched
// together, one row per lane: 16 chains fill vectors of any width. Loops over lanes have a known
// length and no branches, so that they are vectorized.
// f32 sums identify the best trial in all except a few thousandths of the groups. If they are too
// close to each other, the f64 sums that the definition prescribes decide.
// This file is compiled without contraction, because products and sums are rounded separately.

#include "Int4.h"

#include "RowCodes.h"
#include "Transpose.h"
#include "heddle/Support/Float.h"
#include "heddle/Support/WideClones.h"

#include <bit>
#include <cmath>
#include <limits>

namespace heddle {

namespace {

constexpr int64_t lanes = panelRows;

/// Parts of a group's range that are tried; the first of the best is used.
constexpr double ranges[] = {1, 0.97, 0.94, 0.90, 0.86};

/// Adding this constant to a number rounds it to an integer, which is then in the low bits.
constexpr float noFraction = 0x1.8p23f;

constexpr int32_t notANumber = 0x7e00; ///< of f16

/// Elements of 16 groups, stored by element.
using Numbers = float[int4Group][lanes];

/// Smallest and largest number of each group, and whether all are finite.
struct Bounds {
  float least[lanes], greatest[lanes];
  int32_t isFinite[lanes];
};

/// Rounds to f16 once. Going through f32 would round twice, so an inexact f32 is made odd (round to
/// odd): the second rounding then sees on which side of a tie the number is. The 29 bits that f32
/// lacks carry into its last bit unless they are 0.
HEDDLE_IN_CLONE uint16_t roundedOnce(double number) {
  constexpr uint64_t lacking = (uint64_t(1) << 29) - 1;
  const auto bits = std::bit_cast<uint64_t>(number);
  const uint64_t odd = (bits | ((bits & lacking) + lacking)) & ~lacking;
  return halfFromFloat(static_cast<float>(std::bit_cast<double>(odd)));
}

/// Scale and minimum of a part of each group's range, as bits of f16.
struct Trial {
  int32_t scales[lanes], minimums[lanes];

  HEDDLE_IN_CLONE void fill(int32_t bits) {
    std::fill_n(scales, lanes, bits);
    std::fill_n(minimums, lanes, bits);
  }
  HEDDLE_IN_CLONE void take(const Trial &other, int64_t r) {
    scales[r] = other.scales[r];
    minimums[r] = other.minimums[r];
  }
  HEDDLE_IN_CLONE void make(const Bounds &bounds, double part) {
    for (int64_t r = 0; r < lanes; ++r) {
      const double low = bounds.least[r] + 0.0, high = bounds.greatest[r] + 0.0; // turns -0 into 0
      const double cut = (high - low) * ((1 - part) / 2);
      scales[r] = roundedOnce(((high - cut) - (low + cut)) / 15);
      minimums[r] = roundedOnce(low + cut);
    }
  }
  /// Whether all numbers of a group are finite and f16 can hold scale and minimum.
  HEDDLE_IN_CLONE bool isKept(const Bounds &bounds, int64_t r) const {
    constexpr int32_t infinity = 0x7c00, magnitude = 0x7fff;
    return bounds.isFinite[r] & ((scales[r] & magnitude) < infinity) &
           ((minimums[r] & magnitude) < infinity);
  }
};

/// The values that each group's codes represent: scale * code + minimum. Codes are floats.
struct Steps {
  float scale[lanes], minimum[lanes], most[lanes]; ///< most: the largest code, 0 unless scale > 0

  HEDDLE_IN_CLONE explicit Steps(const Trial &trial) {
    for (int64_t r = 0; r < lanes; ++r) {
      scale[r] = floatFromHalf(static_cast<uint16_t>(trial.scales[r]));
      minimum[r] = floatFromHalf(static_cast<uint16_t>(trial.minimums[r]));
      most[r] = scale[r] > 0 ? 15 : 0;
    }
  }
  /// Rounds a quotient to the nearest code, ties to even, and adds noFraction.
  HEDDLE_IN_CLONE float shiftedCode(float quotient, int64_t r) const {
    const float code = quotient > 0 ? quotient : 0; // 0 / 0 too
    return (code < most[r] ? code : most[r]) + noFraction;
  }
  HEDDLE_IN_CLONE float shiftedCodeOf(float number, int64_t r) const {
    return shiftedCode((number - minimum[r]) / scale[r], r);
  }
};

HEDDLE_IN_CLONE Bounds boundsOf(const Numbers &numbers, int64_t count) {
  Bounds bounds;
  int32_t largest[lanes] = {};
  std::fill_n(bounds.least, lanes, std::numeric_limits<float>::infinity());
  std::fill_n(bounds.greatest, lanes, -std::numeric_limits<float>::infinity());
  for (int64_t k = 0; k < count; ++k)
    for (int64_t r = 0; r < lanes; ++r) {
      const float number = numbers[k][r];
      bounds.least[r] = number < bounds.least[r] ? number : bounds.least[r];
      bounds.greatest[r] = number > bounds.greatest[r] ? number : bounds.greatest[r];
      largest[r] = std::max(largest[r], static_cast<int32_t>(magnitudeBits(number)));
    }
  for (int64_t r = 0; r < lanes; ++r)
    bounds.isFinite[r] = largest[r] < 0x7f800000;
  return bounds;
}

//===- Exact sums --------------------------------------------------------===//

/// Sums the squared errors of a trial's codes, in the order of the elements.
HEDDLE_IN_CLONE void sumSquares(const Numbers &numbers, int64_t count, const Steps &steps,
                                double *sums) {
  std::fill_n(sums, lanes, 0.0);
  for (int64_t k = 0; k < count; ++k)
    for (int64_t r = 0; r < lanes; ++r) {
      const float number = numbers[k][r], code = steps.shiftedCodeOf(number, r) - noFraction;
      const double off = number - (double(steps.scale[r]) * code + steps.minimum[r]);
      sums[r] += off * off;
    }
}

/// Chooses the trial with the least sum of each group, the first among equal ones; NaN if no trial
/// is valid.
HEDDLE_IN_CLONE void decide(const Numbers &numbers, int64_t count, const Bounds &bounds,
                            const Trial *trials, Trial &best) {
  double least[lanes], sums[lanes];
  std::fill_n(least, lanes, std::numeric_limits<double>::infinity());
  best.fill(notANumber);
  for (size_t t = 0; t < std::size(ranges); ++t) {
    sumSquares(numbers, count, Steps(trials[t]), sums);
    for (int64_t r = 0; r < lanes; ++r)
      if (trials[t].isKept(bounds, r) && sums[r] < least[r]) {
        least[r] = sums[r];
        best.take(trials[t], r);
      }
  }
}

//===- Estimates in f32 --------------------------------------------------===//

/// f32 estimates of a trial's sums, with bounds of their distance from the deciding f64 sums.
struct Estimate {
  float sums[lanes] = {}, margins[lanes];

  /// x * (1 / scale) differs from x / scale by at most 2^-18. It can therefore give another code
  /// only so close to the midpoint of two codes that the squared error changes by less than 2^-17
  /// scale^2. Rounding adds 2^-24 of the larger of number and result in each of the four
  /// steps to a square, and 2^-24 of the sum in each addition. The margin is more than twice the
  /// resulting bound.
  HEDDLE_IN_CLONE Estimate(const Numbers &numbers, int64_t count, const Steps &steps) {
    float factor[lanes];
    for (int64_t r = 0; r < lanes; ++r)
      factor[r] = steps.scale[r] > 0 ? 1 / steps.scale[r] : 0;
    for (int64_t k = 0; k < count; ++k)
      for (int64_t r = 0; r < lanes; ++r) {
        const float number = numbers[k][r], minimum = steps.minimum[r];
        const float code = steps.shiftedCode((number - minimum) * factor[r], r) - noFraction;
        const float off = number - (steps.scale[r] * code + minimum);
        sums[r] += off * off;
      }
    for (int64_t r = 0; r < lanes; ++r) {
      const float scale = steps.scale[r], largest = std::fabs(steps.minimum[r]) + 15 * scale;
      margins[r] = 0x1p-16f * sums[r] + 0x1p-11f * (scale * scale) +
                   0x1p-22f * (largest * largest) + 0x1p-100f; // the last: denormal squares
    }
  }
};

/// Chooses the only trial of each group whose sum can be the least. False if a group has several.
HEDDLE_IN_CLONE bool estimate(const Numbers &numbers, int64_t count, const Bounds &bounds,
                              const Trial *trials, Trial &best) {
  constexpr size_t tried = std::size(ranges);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float lower[tried][lanes], least[lanes]; // the least sum is at most `least`
  std::fill_n(least, lanes, std::numeric_limits<float>::max());
  for (size_t t = 0; t < tried; ++t) {
    const Estimate sums(numbers, count, Steps(trials[t]));
    for (int64_t r = 0; r < lanes; ++r) {
      const float none = trials[t].isKept(bounds, r) ? 0 : infinity;
      const float upper = sums.sums[r] + sums.margins[r] + none;
      least[r] = upper < least[r] ? upper : least[r];
      lower[t][r] = sums.sums[r] - sums.margins[r] + none;
    }
  }
  int32_t found[lanes] = {}, most = 0;
  best.fill(notANumber);
  for (size_t t = 0; t < tried; ++t)
    for (int64_t r = 0; r < lanes; ++r) {
      const bool mayBe = lower[t][r] <= least[r];
      found[r] += mayBe;
      best.scales[r] = mayBe ? trials[t].scales[r] : best.scales[r];
      best.minimums[r] = mayBe ? trials[t].minimums[r] : best.minimums[r];
    }
  for (int32_t number : found)
    most = std::max(most, number);
  return most <= 1;
}

HEDDLE_IN_CLONE Trial bestOf(const Numbers &numbers, int64_t count) {
  const Bounds bounds = boundsOf(numbers, count);
  Trial trials[std::size(ranges)], best;
  for (size_t t = 0; t < std::size(ranges); ++t)
    trials[t].make(bounds, ranges[t]);
  if (!estimate(numbers, count, bounds, trials, best))
    decide(numbers, count, bounds, trials, best);
  return best;
}

HEDDLE_IN_CLONE void writeCodes(const Numbers &numbers, int64_t count, const Trial &trial,
                                Int4Block &block) {
  const Steps steps(trial);
  for (auto &line : block.lines)
    std::fill_n(line, lanes, 0u);
  for (int64_t k = 0; k < count; ++k)
    for (int64_t r = 0; r < lanes; ++r) {
      const auto bits = std::bit_cast<uint32_t>(steps.shiftedCodeOf(numbers[k][r], r));
      block.lines[k / 8][r] |= (bits & 15) << (k % 4 * 8 + k / 4 % 2 * 4);
    }
  for (int64_t r = 0; r < lanes; ++r) {
    block.scales[r] = static_cast<uint16_t>(trial.scales[r]);
    block.minimums[r] = static_cast<uint16_t>(trial.minimums[r]);
  }
}

} // namespace

uint16_t halfFromDouble(double number) { return roundedOnce(number); }

HEDDLE_WIDE_CLONES
void findInt4(const float *const *rows, int64_t count, Int4Block &block) {
  Numbers numbers;
  transposePanel(rows, count, numbers[0]);
  writeCodes(numbers, count, bestOf(numbers, count), block);
}

} // namespace heddle
