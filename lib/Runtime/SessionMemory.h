//===- SessionMemory.h - Memory that outlives a call ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout of a session's planned memory. Its front holds blocks that outlive a call: states by name,
// and generated tables. Scratch memory of the current call follows them. A block that must grow
// moves after the last block; the device copies its contents.
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

/// The part of a block that holds contents: the first `bytes` of every `stride` bytes; with a
/// stride of 0, all of it.
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

  /// Reserves the first `bytes` of planned memory, which belong to no block.
  void reserve(int64_t bytes) { used = reserved = bytes; }
  const Block *find(const std::string &name) const;
  /// The block with this name and at least `bytes`, made or grown if needed. A live block keeps its
  /// contents; only its `filled` part (default: all) need be copied. The reference is valid until
  /// the next `require`.
  Block &require(const std::string &name, int64_t bytes, Filled filled = {});
  /// Number of a block, which unlike a reference stays valid until `forget`.
  size_t numberOf(const Block &block) const { return static_cast<size_t>(&block - blocks.data()); }
  Block &operator[](size_t number) { return blocks[number]; }
  void setLive(const std::string &name, bool live);
  /// Drops the contents of all blocks with this prefix. If moves have left holes, drops every block
  /// to reclaim them.
  void forget(std::string_view prefix);
  /// Offset of the end of the last block.
  int64_t end() const { return used; }
  /// Copies that growing blocks have needed since the last takeMoves.
  std::vector<Move> takeMoves() { return std::exchange(moves, {}); }

private:
  std::vector<Block> blocks;
  std::vector<Move> moves;
  int64_t used = 0, reserved = 0;
  bool holes = false;
};

/// A copy between rows; -1 is the spare row.
struct RowMove {
  int64_t from, to;
};

/// Sequence of copies for a parallel assignment: every row r gets the old contents of row
/// parents[r]. As in register allocation, chains are copied leaf first and a cycle needs a spare
/// row.
class RowMoves {
public:
  /// The result is valid until the next call. A parent beyond the last row is only read; a row with
  /// parent -1 keeps its contents.
  std::span<const RowMove> plan(std::span<const int64_t> parents);

private:
  int64_t parentOf(int64_t row) const { return parents[row]; }
  void offer(int64_t row);
  void follow(int64_t parent);
  void breakCycle(int64_t start);

  std::span<const int64_t> parents;
  std::vector<RowMove> moves;
  std::vector<int> readers;   ///< by row: pending copies that read its old contents
  std::vector<char> pending;  ///< by row: whether it still waits for its copy
  std::vector<int64_t> ready; ///< pending rows without readers, which may be overwritten
};

/// Tracks which rows hold equal contents of the states that only starts write to. Hypotheses of one
/// text have equal keys and values of that text, so no copies among them are needed.
class RowOrigins {
public:
  /// Gives each row its own origin.
  void clear() { origins.clear(); }
  /// Gives these rows new origins.
  void renew(std::span<const int64_t> rows);
  /// Row r continues parents[r]; at -1 it gets a new origin.
  void permute(std::span<const int64_t> parents);
  /// The parents from which rows need copies: the row itself if it already holds its parent's
  /// contents. The result is valid until the next call.
  std::span<const int64_t> needed(std::span<const int64_t> parents);

private:
  int64_t originOf(int64_t row) const;

  /// Origin by row. If empty, each row is its own origin; otherwise rows past the end hold nothing,
  /// since only a start or a reorder adds rows to the caches.
  std::vector<int64_t> origins;
  std::vector<int64_t> next; ///< scratch
  int64_t renewed = 0;       ///< rows that got new origins, which are negative
};

} // namespace heddle
