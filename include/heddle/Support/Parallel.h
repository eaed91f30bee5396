//===- Parallel.h - One parallel loop --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place that knows OpenMP. Results never depend on which thread runs
// which index.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace heddle {

template <typename Signature>
class FunctionRef;

/// A borrowed callable (std::function_ref comes with C++26): it must outlive the call that takes it.
template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
  FunctionRef(Callable &&callable)
      : object(const_cast<void *>(static_cast<const void *>(std::addressof(callable)))),
        call([](void *object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Callable> *>(object))(arguments...);
        }) {}
  Result operator()(Arguments... arguments) const { return call(object, arguments...); }

private:
  void *object;
  Result (*call)(void *, Arguments...);
};

/// Called as body(index, thread), thread in [0, threads).
using LoopBody = FunctionRef<void(int64_t, int)>;
/// What a thread has around its indices: called as scope(run), it calls run() once.
using ThreadScope = FunctionRef<void(FunctionRef<void()>)>;

/// Processors that this process may use.
int processorCount();

/// More threads than these are not used.
constexpr int64_t mostThreads = 256;

/// Where the piece of a thread ends that has its share of n indices.
constexpr int64_t pieceEnd(int64_t n, int threads, int thread) {
  return n * (thread + 1) / threads;
}
/// The thread that index `i` of n belongs to.
constexpr int pieceOf(int64_t n, int threads, int64_t i) {
  return static_cast<int>((threads * (i + 1) - 1) / n);
}

/// Runs body(i, thread) for each i in [0, n) on at most `threads` threads (0: all processors). Each
/// has a piece of neighbouring indices, in ascending order, and helps with the others' when it is
/// done. Serial, in ascending order, where threads or n is 1. The body must not throw.
void parallelFor(int64_t n, int threads, LoopBody body);
void parallelFor(int64_t n, int threads, LoopBody body, ThreadScope scope);

/// Seconds that `threads` threads need for work(thread) each, all started together.
double secondsTogether(int threads, const std::function<void(int)> &work);

} // namespace heddle
