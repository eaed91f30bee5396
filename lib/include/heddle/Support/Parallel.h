//===- Parallel.h - Parallel loops -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel loops. Only Parallel.cpp uses OpenMP. Results must not depend on which thread runs which
// index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace heddle {

template <typename Signature>
class FunctionRef;

/// A borrowed callable, like llvm::function_ref or C++26's std::function_ref. The callable must
/// outlive the call that takes it.
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
/// Wraps all indices of a thread, to set a mode of the thread: scope(run) calls run() once.
using ThreadScope = FunctionRef<void(FunctionRef<void()>)>;

/// Processors available to this process, by its affinity mask.
int processorCount();

/// Number of threads, at most `wanted`, that the system can start in addition to the existing ones.
/// `stack`: bytes of each thread's stack, 0 for the default. For libraries that end the process if
/// they get no threads.
int startableThreads(int wanted, size_t stack = 0);

/// Upper limit of threads in a loop.
constexpr int64_t mostThreads = 256;

/// End of a thread's piece if n indices are divided evenly.
constexpr int64_t pieceEnd(int64_t n, int threads, int thread) {
  return n * (thread + 1) / threads;
}
/// The thread to which index `i` of n belongs.
constexpr int pieceOf(int64_t n, int threads, int64_t i) {
  return static_cast<int>((threads * (i + 1) - 1) / n);
}

/// Runs body(i, thread) for each i in [0, n) on at most `threads` threads (0: all processors). Each
/// thread runs its own piece of consecutive indices (pieceOf) in ascending order, then steals from
/// the others. Runs serially and in ascending order if threads or n is 1, or if the system cannot
/// start a thread. The body must not throw.
void parallelFor(int64_t n, int threads, LoopBody body);
/// Calls `scope` in each thread around all its indices.
void parallelFor(int64_t n, int threads, LoopBody body, ThreadScope scope);

/// Seconds from the first start to the last end of work(thread) on `threads` threads, which start
/// together.
double secondsTogether(int threads, const std::function<void(int)> &work);

} // namespace heddle
