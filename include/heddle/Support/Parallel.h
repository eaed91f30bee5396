//===- Parallel.h - One parallel loop --------------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that knows OpenMP. Results never depend on which thread runs
// which index.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace heddle {

/// A borrowed loop body: called as body(index, thread), thread in [0, threads).
class LoopBody {
public:
  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, LoopBody>)
  LoopBody(Callable &&callable)
      : object(const_cast<void *>(static_cast<const void *>(std::addressof(callable)))),
        call([](void *object, int64_t index, int thread) {
          (*static_cast<std::remove_reference_t<Callable> *>(object))(index, thread);
        }) {}
  void operator()(int64_t index, int thread) const { call(object, index, thread); }

private:
  void *object;
  void (*call)(void *, int64_t, int);
};

/// Processors that this process may use.
int processorCount();

/// More threads than these are not used.
constexpr int64_t mostThreads = 256;

/// Runs body(i, thread) for each i in [0, n) on at most `threads` threads (0: all processors). Each
/// has a piece of neighbouring indices, in ascending order, and helps with the others' when it is
/// done. Serial, in ascending order, where threads or n is 1. The body must not throw.
void parallelFor(int64_t n, int threads, LoopBody body);

/// Seconds that `threads` threads need for work(thread) each, all started together.
double secondsTogether(int threads, const std::function<void(int)> &work);

} // namespace heddle
