//===- SessionMemory.cpp - Memory that outlives a call ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of session memory, and planning of row copies. Blocks are few, so a linear search finds
// them.
#include "SessionMemory.h"

#include <algorithm>

namespace heddle {

const SessionMemory::Block *SessionMemory::find(const std::string &name) const {
  auto it = std::ranges::find(blocks, name, &Block::name);
  return it == blocks.end() ? nullptr : &*it;
}

SessionMemory::Block &SessionMemory::require(const std::string &name, int64_t bytes,
                                             Filled filled) {
  auto *block = const_cast<Block *>(find(name));
  if (!block)
    block = &blocks.emplace_back(Block{name});
  if (bytes > block->capacity) {
    // Grow by half: a cache that gains a row each call then moves, and leaves a hole, only rarely.
    int64_t capacity =
        aligned(block->capacity ? std::max(bytes, block->capacity + block->capacity / 2) : bytes);
    if (filled.stride == 0)
      filled = {block->bytes, block->bytes};
    for (int64_t at = 0; block->live && at < block->bytes; at += filled.stride)
      moves.push_back({block->offset + at, used + at, filled.bytes});
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

void SessionMemory::forget(std::string_view prefix) {
  for (Block &block : blocks)
    if (block.name.starts_with(prefix))
      block.live = false;
  if (!holes)
    return;
  blocks.clear(); // tables too: the next call fills them again
  used = reserved;
  holes = false;
}

void RowMoves::offer(int64_t row) {
  auto at = static_cast<size_t>(row);
  if (at < parents.size() && pending[at] && readers[at] == 0)
    ready.push_back(row);
}

/// Counts one copy from `parent` as done.
void RowMoves::follow(int64_t parent) {
  auto at = static_cast<size_t>(parent);
  if (at >= parents.size())
    return;
  --readers[at];
  offer(parent);
}

/// Rotates a cycle by saving its first row in the spare row.
void RowMoves::breakCycle(int64_t start) {
  moves.push_back({start, -1});
  int64_t row = start;
  for (; parentOf(row) != start; row = parentOf(row)) {
    moves.push_back({parentOf(row), row});
    pending[row] = false;
  }
  moves.push_back({-1, row});
  pending[row] = false;
}

std::span<const RowMove> RowMoves::plan(std::span<const int64_t> wanted) {
  parents = wanted;
  auto count = static_cast<int64_t>(parents.size());
  moves.clear();
  ready.clear();
  readers.assign(parents.size(), 0);
  pending.assign(parents.size(), false);
  for (int64_t row = 0; row < count; ++row) {
    pending[row] = parentOf(row) != row && parentOf(row) >= 0;
    if (pending[row] && parentOf(row) < count)
      ++readers[parentOf(row)];
  }
  for (int64_t row = 0; row < count; ++row)
    offer(row);
  while (!ready.empty()) {
    int64_t row = ready.back();
    ready.pop_back();
    moves.push_back({parentOf(row), row});
    pending[row] = false;
    follow(parentOf(row));
  }
  for (int64_t start = 0; start < count; ++start) // only cycles are left
    if (pending[start])
      breakCycle(start);
  return moves;
}

int64_t RowOrigins::originOf(int64_t row) const {
  return static_cast<size_t>(row) < origins.size() ? origins[row] : row;
}

void RowOrigins::renew(std::span<const int64_t> rows) {
  for (int64_t row : rows)
    if (static_cast<size_t>(row) < origins.size())
      origins[row] = --renewed;
}

void RowOrigins::permute(std::span<const int64_t> parents) {
  next.clear();
  for (int64_t parent : parents)
    next.push_back(parent < 0 ? --renewed : originOf(parent));
  std::swap(origins, next);
}

std::span<const int64_t> RowOrigins::needed(std::span<const int64_t> parents) {
  next.assign(parents.begin(), parents.end());
  for (int64_t row = 0; row < std::ssize(next) && row < std::ssize(origins); ++row)
    if (next[row] >= 0 && originOf(next[row]) == origins[row])
      next[row] = row;
  return next;
}

} // namespace heddle
