//===- ReadProbe.h - Memory read bandwidth ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peak for kernels that are bound by reading their weights: streaming a buffer. A
// measurement is short, so that each round of a benchmark has its own; the figure is
// the median over the rounds.
#pragma once

#include "heddle/Support/MappedBytes.h"

#include <cstdint>

namespace heddle {

/// A buffer that threads read again and again, each its own part.
class ReadProbe {
public:
  /// Allocates about `bytes` bytes and writes them once; the buffer asks for huge pages.
  static Expected<ReadProbe> create(int64_t bytes, int threads);
  /// Bytes a second of all threads together, over some milliseconds or one pass. Several threads
  /// are started and joined in each pass over the buffer, as in a launch. Takes the faster of loads
  /// with and without software prefetch, since processors differ in that.
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
