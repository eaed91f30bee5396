//===- PhiloxTest.cpp - Counter-based random words ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Support/Philox.h"

#include "gtest/gtest.h"

using namespace heddle;

namespace {

/// Known answers of Random123's test of philox4x32_10.
TEST(Philox, HasKnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  constexpr uint32_t ones = ~0U;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

} // namespace
