//===- SessionMemory.h - What lives between calls ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The front of planned memory holds blocks that outlive a call: states by name,
// and generated tables. Scratch memory of the current call lies behind them.
// A block that must grow moves behind the last one; the device copies contents.
#pragma once

#include "heddle/Runtime/Device.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// A copy inside planned memory.
struct Move {
  int64_t from, to, bytes;
};

class SessionMemory {
public:
  struct Block {
    std::string name;
    int64_t offset = 0, capacity = 0;
    int64_t bytes = 0; ///< in use
    bool live = false; ///< the contents matter
  };

  const Block *find(const std::string &name) const;
  /// The block of that name with at least `bytes`; its contents stay if it is live. The reference
  /// holds until the next call.
  Block &require(const std::string &name, int64_t bytes);
  /// Blocks by number, which holds until `forget`.
  size_t numberOf(const Block &block) const { return static_cast<size_t>(&block - blocks.data()); }
  Block &operator[](size_t number) { return blocks[number]; }
  /// From now on the contents matter, or no longer do.
  void setLive(const std::string &name, bool live);
  /// No block whose name begins so is live any more; holes that moving left are taken back.
  void forget(std::string_view prefix);
  /// End of the blocks.
  int64_t end() const { return used; }
  /// Copies that `require` made necessary since the last call of this.
  std::vector<Move> takeMoves() { return std::exchange(moves, {}); }

private:
  std::vector<Block> blocks;
  std::vector<Move> moves;
  int64_t used = 0;
  bool holes = false;
};

/// A copy of a row; -1 is a spare row.
struct RowMove {
  int64_t from, to;
};

/// Copies that make row r what row parents[r] was, for all r at once, in an order that loses
/// nothing.
class RowMoves {
public:
  /// Valid until the next call; its memory is used again.
  std::span<const RowMove> plan(std::span<const int64_t> parents);

private:
  int64_t parentOf(int64_t row) const { return parents[row]; }
  void offer(int64_t row);
  void follow(int64_t parent);
  void breakCycle(int64_t start);

  std::span<const int64_t> parents;
  std::vector<RowMove> moves;
  std::vector<int> readers;   ///< rows that still need this row's old contents
  std::vector<char> pending;  ///< rows that wait for theirs
  std::vector<int64_t> ready; ///< of these, the ones whose old contents nobody needs
};

} // namespace heddle
