//===- SessionMemoryTest.cpp - Memory between calls --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that blocks grow without losing contents, and that rows are permuted
// without losing one.
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
  EXPECT_TRUE(memory.find("table:t")); // removes no block in the middle: tables stay
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

// Contents equal the origins, so a row that is not copied must already have them.
TEST(SessionMemory, RowsOfOneOriginNeedNoCopies) {
  std::mt19937 random(5);
  RowOrigins origins;
  RowMoves moves;
  std::vector<int64_t> held{0, 1, 2};
  int64_t contents = 3;
  size_t copies = 0, changes = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> parents(1 + random() % 8), wanted;
    for (int64_t &parent : parents) {
      parent = static_cast<int64_t>(random() % (held.size() + 1)) - 1;
      wanted.push_back(parent < 0 ? contents++ : held[static_cast<size_t>(parent)]);
      changes += parent >= 0 && parent != &parent - parents.data();
    }
    const auto needed = origins.needed(parents);
    std::vector<int64_t> next = held;
    next.resize(std::max(held.size(), parents.size()), -1);
    int64_t spare = -1;
    for (const RowMove &move : moves.plan(needed)) {
      ++copies;
      int64_t value = move.from < 0 ? spare : next[static_cast<size_t>(move.from)];
      (move.to < 0 ? spare : next[static_cast<size_t>(move.to)]) = value;
    }
    next.resize(parents.size());
    for (size_t row = 0; row < parents.size(); ++row)
      if (parents[row] < 0)
        next[row] = wanted[row]; // a start writes the row
    origins.permute(parents);
    EXPECT_EQ(next, wanted);
    held = next;
    if (round % 7 == 0) {
      const int64_t row = static_cast<int64_t>(random() % held.size());
      origins.renew(std::vector<int64_t>{row});
      held[static_cast<size_t>(row)] = contents++;
    }
    if (round % 50 == 0) {
      origins.clear();
      for (int64_t &content : held)
        content = contents++;
    }
  }
  EXPECT_LT(copies, changes); // some rows already had their contents
}
