//===- ReadProbe.h - How fast memory is read -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The denominator of shares where a kernel only waits for its weights: reading a
// buffer from end to end. A measurement is short, so that one can stand in every
// round beside what it is compared with; a figure is the median over the rounds.
#pragma once

#include "heddle/Support/MappedBytes.h"

#include <cstdint>

namespace heddle {

/// A buffer that is read again and again, a part of it by each thread.
class ReadProbe {
public:
  /// `bytes` in all, written once; large buffers ask for huge pages.
  static Expected<ReadProbe> create(int64_t bytes, int threads);
  /// Bytes a second of all threads together, over a few milliseconds or one pass; several threads
  /// are started and waited for in each pass over the buffer, as in a launch. The faster of
  /// plain loads and loads with a prefetch ahead: processors differ in what helps them.
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
