//===- SessionMemory.h - Memory that outlives a call ------------*- C++ -*-===//
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

/// The part of a block that holds something: of every `stride` bytes the first `bytes`; with a stride
/// of 0, all.
struct Filled {
  int64_t bytes = 0, stride = 0;
};

/// Offsets of a session's blocks; the contents are in planned memory of the device.
class SessionMemory {
public:
  struct Block {
    std::string name;
    int64_t offset = 0, capacity = 0;
    int64_t bytes = 0; ///< in use
    bool live = false; ///< holds contents that must survive a move
  };

  const Block *find(const std::string &name) const;
  /// The block of that name with at least `bytes`, made or grown if needed; a live block keeps its
  /// contents, of which only what is `filled`, by default all, need be copied. The reference is valid
  /// until the next `require`.
  Block &require(const std::string &name, int64_t bytes, Filled filled = {});
  /// Number of a block, which unlike a reference stays valid until `forget`.
  size_t numberOf(const Block &block) const { return static_cast<size_t>(&block - blocks.data()); }
  Block &operator[](size_t number) { return blocks[number]; }
  void setLive(const std::string &name, bool live);
  /// Drops the contents of all blocks with this prefix. If moves have left holes, drops every block
  /// to reclaim them.
  void forget(std::string_view prefix);
  /// Offset behind the last block.
  int64_t end() const { return used; }
  /// Copies that growing blocks need, since the last takeMoves.
  std::vector<Move> takeMoves() { return std::exchange(moves, {}); }

private:
  std::vector<Block> blocks;
  std::vector<Move> moves;
  int64_t used = 0;
  bool holes = false;
};

/// A copy between rows; -1 is the spare row.
struct RowMove {
  int64_t from, to;
};

/// Sequence of copies for a parallel assignment: every row r gets the old contents of row
/// parents[r]. As in register allocation, chains go leaf first and a cycle needs a spare row.
class RowMoves {
public:
  /// The result is valid until the next call. A parent beyond the last row is only read;
  /// at -1 the row keeps whatever it holds.
  std::span<const RowMove> plan(std::span<const int64_t> parents);

private:
  int64_t parentOf(int64_t row) const { return parents[row]; }
  void offer(int64_t row);
  void follow(int64_t parent);
  void breakCycle(int64_t start);

  std::span<const int64_t> parents;
  std::vector<RowMove> moves;
  std::vector<int> readers;   ///< by row: copies that still read its old contents
  std::vector<char> pending;  ///< by row: whether it still waits for its copy
  std::vector<int64_t> ready; ///< pending rows without readers, so free to be overwritten
};

/// Which rows hold the same of the states that only starts write to: hypotheses of one text are rows
/// of equal keys and values of that text, which need no copies among each other.
class RowOrigins {
public:
  /// All rows begin anew, each for itself.
  void clear() { origins.clear(); }
  /// These rows begin anew.
  void renew(std::span<const int64_t> rows);
  /// Row r continues parents[r]; at -1 it begins anew.
  void permute(std::span<const int64_t> parents);
  /// The parents that rows need: itself for a row that holds what its parent does. The result is valid
  /// until the next call.
  std::span<const int64_t> needed(std::span<const int64_t> parents);

private:
  int64_t originOf(int64_t row) const;

  /// By row. Without any, each row is its own; else rows beyond them hold nothing: caches have more
  /// rows only by a start or a reorder.
  std::vector<int64_t> origins;
  std::vector<int64_t> next; ///< scratch
  int64_t renewed = 0;       ///< rows that began anew; their origins are negative
};

} // namespace heddle
