//===- CachedRows.h - Cached rows of each sequence --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Number of cached rows of each sequence of a batch. The sequences may differ, and only the session
// knows the numbers.
#pragma once

#include "heddle/Support/Error.h"

#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// Number of rows that each sequence has in the caches. A call that appends may give each sequence
/// its own count; its changes take effect only if it succeeds (commit).
class CachedRows {
public:
  /// Begins a call. If it starts from empty caches, no sequence has rows.
  void begin(bool emptyCaches);
  /// Rows of `sequences` sequences before the call. If the caches hold any, their number of
  /// sequences is used instead.
  std::span<const int32_t> before(int64_t sequences);
  /// Rows after the call. Sequence b appends `counts[b]`, or `each` without counts. Returns the
  /// maximum.
  int64_t append(std::span<const int32_t> counts, int64_t each);
  std::span<const int32_t> after() const { return next; }
  /// Maximum number of rows that a sequence has had since it was empty; none if nothing was
  /// appended yet.
  std::optional<int64_t> most() const;
  /// Keeps the changes of the current call.
  void commit();
  /// Truncates sequence r to its first `rows[r]` rows, or to 0 if the next row would attend to rows
  /// that the caches have dropped (Function::keptRows, spareRows). Returns the number that each
  /// sequence keeps.
  Expected<std::vector<int64_t>> keep(std::span<const int64_t> rows, int64_t keptRows,
                                      int64_t spareRows);
  /// Sequence r continues parents[r], or becomes empty if it is -1.
  void permute(std::span<const int64_t> parents);
  /// Makes these sequences empty.
  void empty(std::span<const int64_t> sequences);

private:
  void reach();

  std::vector<int32_t> kept, first, next;
  std::vector<int32_t> reached; ///< the most rows that each sequence has had since it was empty
  bool emptied = false, appended = false;
};

} // namespace heddle
