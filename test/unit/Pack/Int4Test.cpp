//===- Int4Test.cpp - Scales, minimums and codes of a group ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares many groups with a direct implementation of the definition. Edge
// cases are ties, short groups, zeros, scales that f16 rounds to a denormal or
// cannot represent, numbers that are not finite, and sums of errors that are
// nearly equal.

#include "Int4Groups.h"
#include "Sequence.h"

#include "heddle/Support/Float.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <vector>

using namespace heddle;
using namespace heddle::test;

namespace {

/// A number rounded to f16 by its step size; infinite from 65520 on.
double toHalf(double number) {
  int exponent = -14;
  while (std::fabs(number) >= std::ldexp(2.0, exponent))
    ++exponent;
  double step = std::ldexp(1.0, exponent - 10), rounded = std::rint(number / step) * step;
  return std::fabs(rounded) > 65504 ? INFINITY : rounded;
}

struct Group {
  double part = 0, scale = NAN, minimum = NAN;
  std::vector<int> codes;
};

/// Direct implementation of the definition.
Group defined(const std::vector<float> &numbers) {
  Group best;
  double least = INFINITY;
  float low = numbers.front(), high = low;
  for (float number : numbers) {
    if (!std::isfinite(number))
      return best;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  for (double part : {1.0, 0.97, 0.94, 0.90, 0.86}) {
    Group group{part};
    double cut = (double(high) - double(low)) * ((1 - part) / 2), error = 0;
    group.minimum = toHalf(low + cut);
    group.scale = toHalf(((high - cut) - (low + cut)) / 15);
    if (std::isinf(group.scale) || std::isinf(group.minimum))
      continue;
    for (float number : numbers) {
      float steps = (number - float(group.minimum)) / float(group.scale), code = std::rint(steps);
      group.codes.push_back(group.scale == 0 ? 0 : int(std::min(std::max(code, 0.0f), 15.0f)));
      double off = number - (group.scale * group.codes.back() + group.minimum);
      error += off * off;
    }
    if (error < least) {
      best = group;
      least = error;
    }
  }
  return best;
}

void expectDefined(const std::vector<float> &numbers, const GroupCodes &found) {
  Group expected = defined(numbers);
  float scale = floatFromHalf(found.scale), minimum = floatFromHalf(found.minimum);
  if (std::isnan(expected.scale)) {
    ASSERT_TRUE(std::isnan(scale) && std::isnan(minimum)) << numbers.front();
    expected.codes.clear();
  } else {
    ASSERT_EQ(scale, expected.scale) << numbers.front();
    ASSERT_EQ(minimum, expected.minimum) << numbers.front();
  }
  for (size_t k = 0; k < found.codes.size(); ++k)
    ASSERT_EQ(found.codes[k], k < expected.codes.size() ? expected.codes[k] : 0)
        << "of " << numbers.size() << ", number " << k;
}

void expectDefined(const std::vector<float> &numbers) {
  expectDefined(numbers, int4CodesOf(numbers));
}

/// Checks groups of equal length, each as a row of one block.
void expectDefined(const std::vector<std::vector<float>> &groups) {
  const float *rows[16];
  std::ranges::transform(groups, rows, [](const auto &numbers) { return numbers.data(); });
  Int4Block block;
  findInt4(rows, static_cast<int64_t>(groups[0].size()), block);
  for (int64_t row = 0; row < 16; ++row)
    expectDefined(groups[static_cast<size_t>(row)], groupOf(block, row));
}

/// Numbers of similar size, from tiny to larger than f16 can represent, centred at zero or not.
std::vector<float> someNumbers(Sequence &next, size_t count) {
  std::vector<float> numbers(count);
  const uint32_t kind = next() % 8;
  const float size = std::ldexp(1.0f, static_cast<int>(next() % 60) - 36),
              middle = kind == 3   ? 20 * size * next.unit()
                       : kind == 7 ? 3000 * size
                                   : 0;
  for (float &number : numbers)
    switch (kind) {
    case 0: // many ties: halves of a scale
      number = size * (static_cast<float>(next() % 31) / 2);
      break;
    case 1: // few large numbers
      number = size * next.unit() * next.unit() * next.unit() * next.unit();
      break;
    case 2: // few nonzero numbers: any trial may have no errors or equal errors
      number = next() % 16 ? 0 : size * next.unit();
      break;
    default:
      number = size * next.unit() + middle;
    }
  if (next() % 64 == 0)
    numbers[next() % count] = next() % 2 ? NAN : INFINITY;
  return numbers;
}

TEST(Int4, AreTheDefinition) {
  Sequence next{1};
  std::map<double, int> chosen;
  for (int round = 0; round < 2500; ++round) {
    const size_t count = round % 2 ? 32 : 1 + next() % 32;
    std::vector<std::vector<float>> groups(16);
    for (std::vector<float> &numbers : groups) {
      numbers = someNumbers(next, count);
      ++chosen[defined(numbers).part];
    }
    expectDefined(groups);
    if (HasFatalFailure())
      return;
  }
  for (double part : {0.0, 1.0, 0.97, 0.94, 0.90, 0.86}) // 0: no part
    EXPECT_GT(chosen[part], 100) << part;
}

/// Moves a number between the ends of its group. When the best part changes, the sums of errors are
/// nearly equal, but those of the 15 other groups are not.
TEST(Int4, SumsNextToEachOther) {
  Sequence next{1};
  int seen = 0;
  for (int round = 0; round < 16000; ++round) {
    std::vector<std::vector<float>> groups;
    for (int row = 0; row < 16; ++row)
      groups.push_back(someNumbers(next, 32));
    std::vector<float> &numbers = groups[static_cast<size_t>(round % 16)];
    std::ranges::sort(numbers);
    float &number = numbers[1 + next() % 28], low = number, high = numbers[30];
    auto partAt = [&](float at) {
      number = at;
      return defined(numbers).part;
    };
    const double first = partAt(low);
    if (!(high > low) || partAt(high) == first)
      continue;
    for (float middle; (middle = low + (high - low) / 2) > low && middle < high;)
      (partAt(middle) == first ? low : high) = middle;
    ++seen;
    for (float at : {std::nextafter(low, -INFINITY), low, high, std::nextafter(high, INFINITY)}) {
      number = at;
      expectDefined(groups);
      if (HasFatalFailure())
        return;
    }
  }
  EXPECT_GT(seen, 1000);
}

/// A number next to the midpoint of two f16 numbers rounds to the nearer one, although f32 values
/// lie between.
TEST(Int4, ScalesAreRoundedOnce) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    double low = floatFromHalf(static_cast<uint16_t>(bits)),
           high = floatFromHalf(static_cast<uint16_t>(bits + 1)), middle = (low + high) / 2;
    ASSERT_EQ(halfFromDouble(middle), bits + bits % 2);
    ASSERT_EQ(halfFromDouble(std::nextafter(middle, 0)), bits);
    ASSERT_EQ(halfFromDouble(std::nextafter(middle, 1e9)), bits + 1);
    ASSERT_EQ(halfFromDouble(-std::nextafter(middle, 1e9)), (bits + 1) | 0x8000);
    ASSERT_EQ(halfFromDouble(low), bits);
  }
  EXPECT_EQ(halfFromDouble(std::nextafter(65520, 0)), 0x7bff);
  EXPECT_EQ(halfFromDouble(65520), 0x7c00);
  EXPECT_EQ(halfFromDouble(-1e300), 0xfc00);
}

/// Computed by hand: a scale of 1 above a minimum of -8, as in GGUF's Q4_0.
TEST(Int4, OfCodesAreTheseCodes) {
  GroupCodes group = int4CodesOf(std::vector<float>{-8, 7, -7, 0, 6, 3});
  EXPECT_EQ(floatFromHalf(group.scale), 1.0f);
  EXPECT_EQ(floatFromHalf(group.minimum), -8.0f);
  const int expected[] = {0, 15, 1, 8, 14, 11, 0};
  for (size_t k = 0; k < std::size(expected); ++k)
    EXPECT_EQ(group.codes[k], expected[k]) << k;
}

/// Two numbers midway between two codes, among numbers that are exactly codes: q rounds to even.
TEST(Int4, RoundTiesToEven) {
  for (auto [first, second, low, high] :
       {std::array<float, 4>{1.5f, 2.5f, 2, 2}, {4.5f, 11.5f, 4, 12}}) {
    std::vector<float> numbers = {first, second};
    while (numbers.size() < 32)
      numbers.push_back(static_cast<float>(numbers.size() % 16));
    expectDefined(numbers);
    GroupCodes group = int4CodesOf(numbers);
    ASSERT_EQ(floatFromHalf(group.scale), 1.0f);
    EXPECT_EQ(group.codes[0], low);
    EXPECT_EQ(group.codes[1], high);
  }
}

/// Codes with any scale and minimum are reproduced if both ends occur.
TEST(Int4, OfTheirNumbersAreTheSame) {
  Sequence next{1};
  for (int round = 0; round < 2000; ++round) {
    float scale = floatFromHalf(static_cast<uint16_t>(0x1000 + next() % 0x2000)),
          minimum = floatFromHalf(halfFromFloat(-scale * static_cast<float>(next() % 16)));
    std::vector<float> numbers = {minimum, scale * 15 + minimum};
    while (numbers.size() < 32)
      numbers.push_back(scale * static_cast<float>(next() % 16) + minimum);
    GroupCodes group = int4CodesOf(numbers);
    ASSERT_EQ(floatFromHalf(group.scale), scale);
    ASSERT_EQ(floatFromHalf(group.minimum), minimum);
    for (size_t k = 0; k < 32; ++k)
      ASSERT_EQ(scale * group.codes[k] + minimum, numbers[k]);
  }
}

TEST(Int4, OneNumberIsItsMinimum) {
  for (float number : {0.0f, -0.0f, 0.1f, -7.0f, 65504.0f, 1e-8f}) {
    GroupCodes group = int4CodesOf(std::vector<float>{number, number, number});
    EXPECT_EQ(group.scale, 0);
    EXPECT_EQ(group.minimum, number == 0 ? 0 : halfFromFloat(number));
    EXPECT_EQ(group.codes, (std::array<int8_t, 32>{}));
  }
}

/// If the scale is rounded down by a third, numbers exceed 15 scales and are clamped.
TEST(Int4, AreHeldWhereTheScaleIsADenormal) {
  GroupCodes group = int4CodesOf(std::vector<float>{0, 0x1.4p-24f * 15});
  EXPECT_EQ(floatFromHalf(group.scale), 0x1p-24f);
  EXPECT_EQ(group.codes[1], 15);
  expectDefined({0, 0x1.4p-24f * 15, 0x1p-24f, 0x1.8p-24f, 0x1.8p-25f});
}

TEST(Int4, WhatF16CannotHoldIsNotANumber) {
  for (const std::vector<float> &numbers : {std::vector<float>{1, 1.2e6f},
                                            {-80000, 0},
                                            {INFINITY, 1},
                                            {1, NAN},
                                            {NAN, 1},
                                            {-INFINITY},
                                            {-3e38f, 3e38f}}) {
    GroupCodes group = int4CodesOf(numbers);
    EXPECT_TRUE(std::isnan(floatFromHalf(group.scale))) << numbers.back();
    EXPECT_TRUE(std::isnan(floatFromHalf(group.minimum))) << numbers.back();
    EXPECT_EQ(group.codes, (std::array<int8_t, 32>{}));
  }
  // A smaller part of the range is representable.
  EXPECT_FALSE(std::isnan(floatFromHalf(int4CodesOf(std::vector<float>{-66000, 0, 100}).minimum)));
  expectDefined({-66000, 0, 100});
  EXPECT_EQ(floatFromHalf(int4CodesOf(std::vector<float>{0, 65504.0f * 15}).scale), 65504.0f);
}

/// Tests lines, halves of bytes, and the line of scales and minimums.
TEST(Int4, LieInBlocks) {
  float numbers[16][40];
  const float *rows[16];
  for (int row = 0; row < 16; ++row) {
    rows[row] = numbers[row];
    for (int k = 0; k < 40; ++k)
      numbers[row][k] = static_cast<float>((k * 5 + row) % 16 * (row + 1) - 3 * row);
  }
  Int4Block blocks[2];
  // One group has known codes from the checkpoint.
  GroupCodes known{0x3c00, 0xc800, {}};
  for (int k = 0; k < 32; ++k)
    known.codes[k] = static_cast<int8_t>((3 * k + 1) % 16);
  auto kept = [&](int64_t row, int64_t column) {
    return row == 5 && column == 0 ? std::optional(known) : std::nullopt;
  };
  writeInt4(rows, 40, reinterpret_cast<std::byte *>(blocks), kept);
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 64; ++k) {
      const Int4Block &block = blocks[k / 32];
      uint32_t word = block.lines[k % 32 / 8][row],
               code = word >> (k % 4 * 8 + (k % 8 >= 4 ? 4 : 0)) & 15;
      if (k >= 40) {
        ASSERT_EQ(code, 0u);
        continue;
      }
      GroupCodes group = int4CodesOf({rows[row] + k / 32 * 32, k < 32 ? size_t(32) : size_t(8)});
      if (auto other = kept(row, k / 32 * 32))
        group = *other;
      ASSERT_EQ(code, group.codes[k % 32]);
      ASSERT_EQ(block.scales[row], group.scale);
      ASSERT_EQ(block.minimums[row], group.minimum);
    }
}

} // namespace
