//===- ReadProbe.h - Memory read bandwidth ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the peak for kernels that are bound by reading weights, by streaming a buffer. A
// measurement is short, so each round of a benchmark repeats it; reports use the median.
#pragma once

#include "heddle/Support/MappedBytes.h"

#include <cstdint>

namespace heddle {

/// A buffer that is read repeatedly, with a part for each thread.
class ReadProbe {
public:
  /// Allocates about `bytes` bytes, preferably in huge pages, and writes them once.
  static Expected<ReadProbe> create(int64_t bytes, int threads);
  /// Bytes per second of all threads together, over a few milliseconds or one pass. With several
  /// threads, each pass starts and joins them, as a launch does. Returns the faster of loads with
  /// and without software prefetch, because processors differ.
  double measure() const;

private:
  ReadProbe(MappedBytes memory, int64_t bytes, int threads)
      : memory(std::move(memory)), bytes(bytes), threads(threads) {}
  double measure(bool prefetch) const;

  MappedBytes memory;
  int64_t bytes;
  int threads;
};

} // namespace heddle
