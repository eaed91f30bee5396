//===- SessionMemoryTest.cpp - What lives between calls ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks grow without losing contents; rows change places without a lost one.
#include "SessionMemory.h"

#include <gtest/gtest.h>
#include <random>

using namespace heddle;

TEST(SessionMemory, AGrowingBlockMovesWithItsContents) {
  SessionMemory memory;
  memory.require("state:a", 256);
  memory.require("state:b", 256);
  memory.setLive("state:a", true);
  EXPECT_TRUE(memory.takeMoves().empty());
  const SessionMemory::Block &grown = memory.require("state:a", 1024);
  EXPECT_EQ(grown.offset, 512);
  EXPECT_EQ(memory.end(), 512 + 1024);
  std::vector<Move> moves = memory.takeMoves();
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].from, 0);
  EXPECT_EQ(moves[0].to, 512);
  EXPECT_EQ(moves[0].bytes, 256);
}

TEST(SessionMemory, OfAGrowingBlockOnlyWhatIsFilledMoves) {
  SessionMemory memory;
  memory.require("state:a", 512);
  memory.setLive("state:a", true);
  memory.require("state:a", 1024, Filled{.bytes = 64, .stride = 256});
  std::vector<Move> moves = memory.takeMoves();
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[1].from, 256);
  EXPECT_EQ(moves[1].to, 512 + 256);
  EXPECT_EQ(moves[1].bytes, 64);
}

TEST(SessionMemory, ForgettingTakesHolesBack) {
  SessionMemory memory;
  memory.require("state:a", 256);
  memory.require("table:t", 256);
  memory.forget("state:");
  EXPECT_TRUE(memory.find("table:t")); // no holes: tables stay
  memory.require("state:a", 512);
  memory.forget("state:");
  EXPECT_EQ(memory.end(), 0);
}

TEST(SessionMemory, RowsChangePlacesAtOnce) {
  std::mt19937 random(3);
  RowMoves moves;
  for (int round = 0; round < 500; ++round) {
    size_t oldRows = 1 + random() % 8, newRows = random() % 9;
    std::vector<int64_t> parents(newRows), rows(std::max(oldRows, newRows), -1);
    for (int64_t &parent : parents)
      parent = static_cast<int64_t>(random() % oldRows);
    for (size_t i = 0; i < oldRows; ++i)
      rows[i] = static_cast<int64_t>(i);
    int64_t spare = -1;
    for (const RowMove &move : moves.plan(parents)) {
      int64_t value = move.from < 0 ? spare : rows[static_cast<size_t>(move.from)];
      (move.to < 0 ? spare : rows[static_cast<size_t>(move.to)]) = value;
    }
    rows.resize(newRows);
    EXPECT_EQ(rows, parents);
  }
}

TEST(SessionMemory, RowsThatStayAreNotCopied) {
  EXPECT_TRUE(RowMoves().plan(std::vector<int64_t>{0, 1, 2}).empty());
  EXPECT_EQ(RowMoves().plan(std::vector<int64_t>{0, 0, 2}).size(), 1u);
}
