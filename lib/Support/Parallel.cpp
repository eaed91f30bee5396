//===- Parallel.cpp - One parallel loop ------------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices are handed out one by one: kernels of causal models differ in work
// from tile to tile, and a tile is long beside the counter.
//
//===----------------------------------------------------------------------===//

#include "heddle/Support/Parallel.h"

#include <algorithm>
#include <omp.h>

namespace heddle {

int processorCount() { return std::max(1, omp_get_num_procs()); }

void parallelFor(int64_t n, int threads, LoopBody body) {
  if (threads <= 0)
    threads = processorCount();
  threads = static_cast<int>(std::min<int64_t>(threads, n));
  if (threads <= 1 || omp_in_parallel()) {
    for (int64_t i = 0; i < n; ++i)
      body(i, 0);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t i = 0; i < n; ++i)
    body(i, omp_get_thread_num());
}

} // namespace heddle
