//===- Parallel.cpp - Parallel loops ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread takes the indices of its own piece one by one and then steals from the
// others, since tiles of causal attention differ in work. Pieces are contiguous and
// equal in every call: a thread prefetches the next tile's weights, and the next call
// finds them in the same cache.

#include "heddle/Support/Parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <omp.h>
#include <span>
#include <vector>

namespace heddle {

int processorCount() { return std::max(1, omp_get_num_procs()); }

namespace {

/// Remaining indices of a thread's piece, on its own cache line against false sharing.
struct alignas(64) Piece {
  int64_t next, end;
};

} // namespace

/// Runs the indices of the thread's own piece, then those left in the others'.
static void runPieces(std::span<Piece> pieces, int self, LoopBody body) {
  for (size_t t = 0; t < pieces.size(); ++t) {
    Piece &piece = pieces[(static_cast<size_t>(self) + t) % pieces.size()];
    std::atomic_ref next(piece.next);
    while (next.load(std::memory_order_relaxed) < piece.end) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i < piece.end)
        body(i, self);
    }
  }
}

/// Serial inside of another parallel region: nested loops would oversubscribe the processors.
void parallelFor(int64_t n, int threads, LoopBody body, ThreadScope scope) {
  if (threads <= 0)
    threads = processorCount();
  threads = static_cast<int>(std::min<int64_t>({threads, n, mostThreads}));
  if (threads <= 1 || omp_in_parallel())
    return scope([&] {
      for (int64_t i = 0; i < n; ++i)
        body(i, 0);
    });
  std::array<Piece, mostThreads> storage;
  const std::span pieces = std::span(storage).first(static_cast<size_t>(threads));
  for (int t = 0; t < threads; ++t)
    pieces[t] = {pieceEnd(n, threads, t - 1), pieceEnd(n, threads, t)};
#pragma omp parallel num_threads(threads)
  scope([&] { runPieces(pieces, omp_get_thread_num(), body); });
}

void parallelFor(int64_t n, int threads, LoopBody body) {
  parallelFor(n, threads, body, [](FunctionRef<void()> run) { run(); });
}

/// Threads run for a while before they meet at a barrier, because a thread that has just been woken
/// shares a processor until the scheduler moves it. Time counts from the first start to the last
/// end, so that threads that run one after the other do not look parallel.
double secondsTogether(int threads, const std::function<void(int)> &work) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds warmUp{8};
  std::vector<Clock::time_point> begins(static_cast<size_t>(threads)), ends(begins);
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    const Clock::time_point first = Clock::now();
    while (threads > 1 && Clock::now() - first < warmUp)
      work(thread);
#pragma omp barrier
    begins[thread] = Clock::now();
    work(thread);
    ends[thread] = Clock::now();
  }
  std::chrono::duration<double> passed =
      *std::ranges::max_element(ends) - *std::ranges::min_element(begins);
  return passed.count();
}

} // namespace heddle
