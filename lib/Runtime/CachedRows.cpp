//===- CachedRows.cpp - Cached rows of each sequence ----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CachedRows.h"

#include <algorithm>
#include <limits>

namespace heddle {

void CachedRows::begin(bool emptyCaches) {
  emptied = emptyCaches;
  appended = false;
}

std::span<const int32_t> CachedRows::before(int64_t sequences) {
  if (emptied || kept.empty())
    first.assign(static_cast<size_t>(sequences), 0);
  else
    first = kept;
  return first;
}

int64_t CachedRows::append(std::span<const int32_t> counts, int64_t each) {
  next = first;
  appended = true;
  int64_t most = 0;
  for (size_t row = 0; row < next.size(); ++row) {
    int64_t added = counts.empty() ? each : row < counts.size() ? counts[row] : 0;
    int64_t sum = std::clamp<int64_t>(next[row] + added, 0, std::numeric_limits<int32_t>::max());
    next[row] = static_cast<int32_t>(sum);
    most = std::max(most, sum);
  }
  return most;
}

/// Updates `reached` by the current number of rows of each sequence.
void CachedRows::reach() {
  reached.resize(kept.size());
  for (size_t row = 0; row < kept.size(); ++row)
    reached[row] = kept[row] == 0 ? 0 : std::max(reached[row], kept[row]);
}

std::optional<int64_t> CachedRows::most() const {
  if (reached.empty())
    return std::nullopt;
  return std::max<int64_t>(0, *std::ranges::max_element(reached));
}

void CachedRows::commit() {
  if (emptied)
    reached.clear();
  if (appended)
    std::swap(kept, next);
  else if (emptied)
    kept.clear();
  reach();
}

Expected<std::vector<int64_t>> CachedRows::keep(std::span<const int64_t> rows, int64_t keptRows,
                                                int64_t spareRows) {
  if (rows.size() != kept.size())
    return inputError("rows: expected those of " + std::to_string(kept.size()) +
                      " sequences, which the caches hold, found " + std::to_string(rows.size()));
  for (size_t row = 0; row < rows.size(); ++row)
    if (rows[row] < 0 || rows[row] > kept[row])
      return inputError("rows: expected values in [0, " + std::to_string(kept[row]) + "], found " +
                        std::to_string(rows[row]) + " at [" + std::to_string(row) + "]");
  std::vector<int64_t> all(rows.begin(), rows.end());
  for (size_t row = 0; row < all.size(); ++row) {
    const bool holds = keptRows == 0 || reached[row] <= keptRows;
    if (!holds && all[row] < reached[row] - spareRows)
      all[row] = 0;
    kept[row] = static_cast<int32_t>(all[row]);
  }
  reach();
  return all;
}

void CachedRows::permute(std::span<const int64_t> parents) {
  auto permuted = [&](std::vector<int32_t> &rows) {
    next.clear();
    for (int64_t parent : parents)
      next.push_back(static_cast<size_t>(parent) < rows.size() ? rows[parent] : 0);
    std::swap(rows, next);
  };
  permuted(kept);
  permuted(reached);
}

void CachedRows::empty(std::span<const int64_t> sequences) {
  for (int64_t sequence : sequences)
    for (std::vector<int32_t> *rows : {&kept, &reached})
      if (static_cast<size_t>(sequence) < rows->size())
        (*rows)[sequence] = 0;
}

} // namespace heddle
