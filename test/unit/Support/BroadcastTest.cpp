//===- BroadcastTest.cpp - Broadcast inputs ----------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the ranks that the language allows, and the errors for others.

#include "heddle/Support/Broadcast.h"

#include "heddle/Support/Program.h"

#include <gtest/gtest.h>

using namespace heddle;

/// The sizes as text, or the error, for a tensor `x` that is broadcast to [2, 3, 5, 7].
static std::string broadcast(std::vector<int64_t> given,
                             const std::vector<int64_t> &full = {2, 3, 5, 7}) {
  std::vector<int64_t> sizes = {9, 9, 9, 9, 9}; // sizes of an earlier call
  Status status = broadcastSizes("x", given, full, sizes);
  return status ? shapeText(sizes) : status.error().message;
}

TEST(Spread, Ranks) {
  EXPECT_EQ(broadcast({5, 7}), "[1, 1, 5, 7]");
  EXPECT_EQ(broadcast({2, 5, 7}), "[2, 1, 5, 7]");
  EXPECT_EQ(broadcast({6, 5, 7}), "[2, 3, 5, 7]");
  EXPECT_EQ(broadcast({1, 5, 7}), "[1, 1, 5, 7]");
  EXPECT_EQ(broadcast({1, 3, 1, 7}), "[1, 3, 1, 7]");
  EXPECT_EQ(broadcast({}, {4}), "[1]");
  EXPECT_EQ(broadcast({4}, {4}), "[4]");
  EXPECT_EQ(broadcast({2, 3, 5, 9}, {2, 3, 5, -1}), "[2, 3, 5, 9]");
}

TEST(Spread, Messages) {
  EXPECT_EQ(broadcast({7}),
            "x: expected a rank of 2 to 4, sizes of 1 or [2, 3, 5, 7], found shape [7]");
  EXPECT_EQ(broadcast({1, 2, 3, 5, 7}), "x: expected a rank of 2 to 4, sizes of 1 or [2, 3, 5, 7], "
                                        "found shape [1, 2, 3, 5, 7]");
  EXPECT_EQ(broadcast({5, 8}), "x: dimension 1: expected 1 or 7, found 8");
  EXPECT_EQ(broadcast({3, 5, 7}), "x: dimension 0: expected 1, 2 or 2 * 3, found 3");
  EXPECT_EQ(broadcast({2, 2, 5, 7}), "x: dimension 1: expected 1 or 3, found 2");
  EXPECT_EQ(broadcast({3}, {4}), "x: dimension 0: expected 1 or 4, found 3");
  EXPECT_EQ(broadcast({0}, {4}), "x: dimension 0: expected 1 or 4, found 0");
  EXPECT_EQ(broadcast({4, 4}, {4}),
            "x: expected a rank of 0 to 1, sizes of 1 or [4], found shape [4, 4]");
}

/// `source` with sizes `from`, broadcast to sizes `to`.
static std::vector<int32_t> copied(std::vector<int64_t> from, std::vector<int64_t> to,
                                   std::vector<int32_t> source) {
  size_t count = 1;
  for (int64_t size : to)
    count *= static_cast<size_t>(size);
  std::vector<int32_t> target(count, -1);
  broadcastCopy(from, to, sizeof(int32_t), reinterpret_cast<const std::byte *>(source.data()),
                reinterpret_cast<std::byte *>(target.data()));
  return target;
}

TEST(Spread, Copies) {
  using Numbers = std::vector<int32_t>;
  EXPECT_EQ(copied({1, 3}, {2, 3}, {4, 5, 6}), (Numbers{4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(copied({2, 1}, {2, 3}, {4, 5}), (Numbers{4, 4, 4, 5, 5, 5}));
  EXPECT_EQ(copied({2, 1, 2}, {2, 2, 2}, {1, 2, 3, 4}), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(copied({}, {}, {7}), Numbers{7});
  EXPECT_EQ(copied({1, 1}, {0, 3}, {7}), Numbers{});
}
