//===- CachedRows.h - Rows that sequences have in the caches -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences of a batch have numbers of rows of their own, which only the session knows.
#pragma once

#include "heddle/Support/Error.h"

#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// Rows that each sequence has in the caches. A function that appends gives each its own number; a
/// call's changes count only once it succeeds (commit).
class CachedRows {
public:
  /// Begins a call: all sequences are without rows if it starts from empty caches.
  void begin(bool emptyCaches);
  /// Rows of `sequences` sequences before the call; the caches' own number of them if they hold any.
  std::span<const int32_t> before(int64_t sequences);
  /// Rows after the call. Sequence b appends `counts[b]`, or `each` without counts; returns the most.
  int64_t append(std::span<const int32_t> counts, int64_t each);
  std::span<const int32_t> after() const { return next; }
  /// The most rows that a sequence has written since it was empty; none where nothing was appended yet.
  std::optional<int64_t> most() const;
  /// Keeps the changes of the current call.
  void commit();
  /// Keeps the first `rows[b]` of each sequence, and none of one whose next row would see rows that
  /// the caches have no more (Function::keptRows, spareRows): how many each keeps.
  Expected<std::vector<int64_t>> keep(std::span<const int64_t> rows, int64_t keptRows,
                                      int64_t spareRows);
  /// Sequence r continues parents[r]; at -1 it is without rows.
  void permute(std::span<const int64_t> parents);
  /// These sequences are without rows.
  void empty(std::span<const int64_t> sequences);

private:
  void reach();

  std::vector<int32_t> kept, first, next;
  std::vector<int32_t> reached; ///< the most rows that each sequence had since it was empty
  bool emptied = false, appended = false;
};

} // namespace heddle
