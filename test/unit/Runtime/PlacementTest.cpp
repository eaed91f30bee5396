//===- PlacementTest.cpp - Buffers in one arena -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that random lifetimes never overlap in memory, and that memory is
// shared.
#include "Placement.h"

#include <gtest/gtest.h>
#include <random>

using namespace heddle;

TEST(Placement, BuffersAliveTogetherAreApart) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> buffers(1 + random() % 30);
    for (Lifetime &buffer : buffers) {
      buffer.bytes = random() % 5000;
      buffer.first = static_cast<int>(random() % 20);
      buffer.last = buffer.first + static_cast<int>(random() % 6);
    }
    Placement placement = placeBuffers(buffers, true);
    for (size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ(placement.offsets[a] % 256, 0);
      EXPECT_LE(placement.offsets[a] + buffers[a].bytes, placement.bytes);
      for (size_t b = 0; b < a; ++b) {
        bool together = buffers[a].first <= buffers[b].last && buffers[b].first <= buffers[a].last;
        bool apart = placement.offsets[a] + buffers[a].bytes <= placement.offsets[b] ||
                     placement.offsets[b] + buffers[b].bytes <= placement.offsets[a];
        EXPECT_TRUE(!together || apart || buffers[a].bytes == 0 || buffers[b].bytes == 0);
      }
    }
  }
}

TEST(Placement, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 10; ++i)
    chain.push_back({1024, i, i + 1});
  EXPECT_EQ(placeBuffers(chain, true).bytes, 2048);
  EXPECT_EQ(placeBuffers(chain, false).bytes, 10240);
}

TEST(Placement, TheTightestGapIsTaken) {
  // Before the last buffer, the second and the fourth leave gaps of 3072 and 1024 bytes.
  std::vector<Lifetime> buffers = {{4096, 0, 9}, {3072, 0, 1}, {2048, 0, 9},
                                   {1024, 0, 1}, {512, 0, 9},  {256, 5, 6}};
  Placement placement = placeBuffers(buffers, true);
  EXPECT_EQ(placement.offsets[5], placement.offsets[3]);
}
