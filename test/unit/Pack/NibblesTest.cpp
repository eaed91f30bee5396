//===- NibblesTest.cpp - Scales and codes of a group ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definition in plain words of C++ over many groups, and its edges: ties, zeros,
// scales that f16 rounds to a denormal or cannot hold, numbers that are not finite.

#include "../../../lib/Pack/Nibbles.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace heddle;

namespace {

/// A group of one row, in the second half of a block.
struct Packed {
  explicit Packed(const std::vector<float> &numbers) { block.write(3, 1, numbers); }
  int code(size_t i) const {
    return static_cast<int>(block.lines[4 + i / 8][3] >> i % 8 * 4 & 15) - 8;
  }
  uint16_t scale() const { return block.scales[1][3]; }
  NibbleBlock block;
};

TEST(Nibbles, AreTheDefinition) {
  uint32_t state = 1;
  auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int round = 0; round < 20000; ++round) {
    std::vector<float> numbers(1 + next() % 32);
    // Of one size in a group, from next to nothing to more than f16 can hold.
    float size = std::ldexp(1.0f, static_cast<int>(next() % 56) - 36), largest = 0;
    for (float &number : numbers) {
      // Every fourth group has numbers that are multiples of halves of a scale: many ties.
      number = round % 4 ? size * (static_cast<float>(next()) * 0x1p-23f - 1)
                         : size * (static_cast<float>(next() % 29) / 2 - 7);
      largest = std::max(largest, std::fabs(number));
    }
    uint16_t scale = halfFromFloat(largest / 7.0f);
    float d = floatFromHalf(scale);
    Packed group(numbers);
    if (std::isinf(d)) {
      ASSERT_TRUE(std::isnan(floatFromHalf(group.scale())));
      continue;
    }
    ASSERT_EQ(group.scale(), scale);
    for (size_t i = 0; i < 32; ++i) {
      float number = i < numbers.size() ? numbers[i] : 0;
      float code = d == 0 ? 0 : std::clamp(std::nearbyint(number / d), -8.0f, 7.0f);
      ASSERT_EQ(group.code(i), static_cast<int>(code)) << number << " of " << d;
    }
  }
}

TEST(Nibbles, RoundTiesToEvenAndKeepSigns) {
  Packed group({7, -7, 0.5f, 1.5f, -0.5f, -2.5f, 2.49f, 0, -6.5f});
  EXPECT_EQ(floatFromHalf(group.scale()), 1.0f);
  const int expected[] = {7, -7, 0, 2, 0, -2, 2, 0, -6};
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(group.code(i), expected[i]) << i;
}

TEST(Nibbles, ZerosHaveNoScale) {
  Packed group({0, -0.0f, 1e-8f});
  EXPECT_EQ(group.scale(), 0);
  for (size_t i = 0; i < 32; ++i)
    EXPECT_EQ(group.code(i), 0);
}

/// A scale that was rounded down by a third leaves numbers beyond 7 scales: they are held.
TEST(Nibbles, AreHeldWhereTheScaleIsADenormal) {
  Packed group({0x1.7p-24f * 7, -0x1.7p-24f * 7});
  EXPECT_EQ(floatFromHalf(group.scale()), 0x1p-24f);
  EXPECT_EQ(group.code(0), 7);
  EXPECT_EQ(group.code(1), -8);
}

TEST(Nibbles, WhatF16CannotHoldIsNotANumber) {
  for (const std::vector<float> &numbers :
       {std::vector<float>{1, 460000.0f}, {INFINITY, 1}, {1, NAN}, {NAN, 1}, {-INFINITY}})
    EXPECT_TRUE(std::isnan(floatFromHalf(Packed(numbers).scale()))) << numbers.back();
  EXPECT_EQ(floatFromHalf(Packed({65504.0f * 7}).scale()), 65504.0f);
}

} // namespace
