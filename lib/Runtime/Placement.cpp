//===- Placement.cpp - Memory planning of buffers ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placement by greedy best fit: the largest buffers first, each into the tightest gap between
// buffers that are alive at the same time, or after all of them. The result depends on sizes and
// lifetimes only, so equal shapes give equal offsets.
#include "Placement.h"

#include "heddle/Runtime/Device.h"

#include <algorithm>
#include <numeric>

namespace heddle {

namespace {
struct Interval {
  int64_t begin, end;
};
} // namespace

/// Start of the tightest gap of at least `bytes` between the intervals `taken`, which are sorted by
/// begin; their end if there is no gap.
static int64_t tightestGap(std::span<const Interval> taken, int64_t bytes) {
  int64_t best = -1, bestSize = 0, reached = 0;
  for (const Interval &interval : taken) {
    int64_t gap = interval.begin - reached;
    if (gap >= bytes && (best < 0 || gap < bestSize)) {
      best = reached;
      bestSize = gap;
    }
    reached = std::max(reached, interval.end);
  }
  return best < 0 ? reached : best;
}

/// Quadratic in the number of buffers; a function has at most a few hundred.
Placement placeBuffers(std::span<const Lifetime> buffers, bool share) {
  std::vector<size_t> order(buffers.size()), placed;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });

  Placement result;
  result.offsets.resize(buffers.size());
  std::vector<Interval> taken;
  for (size_t index : order) {
    const Lifetime &buffer = buffers[index];
    taken.clear();
    for (size_t other : placed)
      if (!share || (buffers[other].first <= buffer.last && buffer.first <= buffers[other].last))
        taken.push_back(
            {result.offsets[other], result.offsets[other] + aligned(buffers[other].bytes)});
    std::ranges::sort(taken,
                      [](const Interval &a, const Interval &b) { return a.begin < b.begin; });
    result.offsets[index] = tightestGap(taken, aligned(buffer.bytes));
    result.bytes = std::max(result.bytes, result.offsets[index] + aligned(buffer.bytes));
    placed.push_back(index);
  }
  return result;
}

} // namespace heddle
