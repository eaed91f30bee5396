//===- SessionMemory.cpp - What lives between calls -------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks are few and found by linear search.
//
//===----------------------------------------------------------------------===//
#include "SessionMemory.h"

#include <algorithm>

namespace heddle {

static int64_t aligned(int64_t bytes) {
  return (bytes + memoryAlignment - 1) / memoryAlignment * memoryAlignment;
}

const SessionMemory::Block *SessionMemory::find(const std::string &name) const {
  auto it =
      std::find_if(blocks.begin(), blocks.end(), [&](const Block &b) { return b.name == name; });
  return it == blocks.end() ? nullptr : &*it;
}

SessionMemory::Block &SessionMemory::require(const std::string &name, int64_t bytes) {
  auto *block = const_cast<Block *>(find(name));
  if (!block)
    block = &blocks.emplace_back(Block{name});
  if (bytes > block->capacity) {
    // Half as much again: a block that grows by a little each time does not leave a trail of holes.
    int64_t capacity =
        aligned(block->capacity ? std::max(bytes, block->capacity + block->capacity / 2) : bytes);
    if (block->live && block->bytes > 0)
      moves.push_back({block->offset, used, block->bytes});
    holes |= block->capacity > 0;
    block->offset = used;
    block->capacity = capacity;
    used += capacity;
  }
  block->bytes = bytes;
  return *block;
}

void SessionMemory::setLive(const std::string &name, bool live) {
  if (const Block *block = find(name))
    const_cast<Block *>(block)->live = live;
}

void SessionMemory::forget(const std::string &prefix) {
  for (Block &block : blocks)
    if (block.name.starts_with(prefix))
      block.live = false;
  if (!holes)
    return;
  blocks.clear(); // tables are made again
  used = 0;
  holes = false;
}

std::vector<RowMove> planRowMoves(std::span<const int64_t> parents) {
  auto count = static_cast<int64_t>(parents.size());
  auto parentOf = [&](int64_t row) { return parents[static_cast<size_t>(row)]; };
  std::vector<int> readers(parents.size(), 0); // rows that still need this row's old contents
  std::vector<bool> pending(parents.size(), false);
  for (int64_t row = 0; row < count; ++row) {
    pending[static_cast<size_t>(row)] = parentOf(row) != row;
    if (parentOf(row) != row && parentOf(row) < count)
      ++readers[static_cast<size_t>(parentOf(row))];
  }

  std::vector<RowMove> moves;
  std::vector<int64_t> ready;
  auto offer = [&](int64_t row) {
    if (row < count && pending[static_cast<size_t>(row)] && readers[static_cast<size_t>(row)] == 0)
      ready.push_back(row);
  };
  for (int64_t row = 0; row < count; ++row)
    offer(row);
  while (!ready.empty()) {
    int64_t row = ready.back(), parent = parentOf(row);
    ready.pop_back();
    moves.push_back({parent, row});
    pending[static_cast<size_t>(row)] = false;
    if (parent < count) {
      --readers[static_cast<size_t>(parent)];
      offer(parent);
    }
  }
  // What is left are cycles, each broken by the spare row.
  for (int64_t start = 0; start < count; ++start) {
    if (!pending[static_cast<size_t>(start)])
      continue;
    moves.push_back({start, -1});
    int64_t row = start;
    for (; parentOf(row) != start; row = parentOf(row)) {
      moves.push_back({parentOf(row), row});
      pending[static_cast<size_t>(row)] = false;
    }
    moves.push_back({-1, row});
    pending[static_cast<size_t>(row)] = false;
  }
  return moves;
}

} // namespace heddle
