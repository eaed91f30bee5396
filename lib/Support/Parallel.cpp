//===- Parallel.cpp - Parallel loops ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel loops on OpenMP. Each thread takes the indices of its own piece one by one and then
// steals from the others, since tiles of causal attention differ in work. Pieces are contiguous and
// equal in every call: a thread prefetches the next tile's weights, and the next call finds them in
// the same cache.

#include "heddle/Support/Parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
// Functions of libomp; libgomp has neither.
void kmp_set_warnings_off() __attribute__((weak));
size_t kmp_get_stacksize_s() __attribute__((weak));
}

namespace heddle {

namespace {

/// Starts LLVM's OpenMP runtime safely. The runtime writes a file named by the process id to
/// /dev/shm, or to /tmp if this fails, and reads an existing file with the name. It crashes if a
/// killed process with the same id left an incomplete file, or if the file system is full.
/// Therefore each unusable name is cleared, or occupied by a link that cannot be opened until the
/// runtime has continued without it.
/// The file is removed after the runtime has started, so that no killed process leaves one. A
/// host's own runtime that already runs keeps its file. Warnings are off, since users of a model
/// cannot act on them.
class OpenMpStart {
public:
  OpenMpStart() {
    if (!kmp_set_warnings_off)
      return;
    kmp_set_warnings_off();
    std::vector<std::string> own;
    for (const char *folder : {"/dev/shm", "/tmp"}) {
      std::string path = std::string(folder) + "/__KMP_REGISTERED_LIB_" + std::to_string(getpid()) +
                         "_" + std::to_string(getuid());
      if (prepare(path))
        own.push_back(std::move(path));
    }
    omp_get_max_threads();
    for (const std::string &path : own)
      unlink(path.c_str());
  }

private:
  /// Whether a file has the content that the runtime writes: an address, a number and a name.
  static bool isFinished(int file) {
    std::array<char, 64> text = {};
    const ssize_t size = pread(file, text.data(), text.size() - 1, 0);
    char *end = text.data();
    return size > 0 && std::strtoull(text.data(), &end, 16) != 0 && *end == '-';
  }

  /// Prepares a name; false if the file of a running runtime exists there.
  static bool prepare(const std::string &path) {
    constexpr mode_t own = 0600;
    constexpr off_t registration = 1024; // bytes
    if (const int old = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        old >= 0) {
      const bool isUsed = isFinished(old);
      close(old);
      if (isUsed)
        return false;
      unlink(path.c_str());
    }
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, own);
    if (file < 0)
      return true;
    const bool hasRoom = posix_fallocate(file, 0, registration) == 0;
    close(file);
    unlink(path.c_str());
    if (!hasRoom)
      (void)!symlink("/dev/null/none", path.c_str());
    return true;
  }
};

/// Must precede any other call of OpenMP.
void startOpenMp() { static const OpenMpStart start; }

} // namespace

int startableThreads(int wanted, size_t stack) {
  std::vector<pthread_t> threads;
  threads.reserve(static_cast<size_t>(wanted));
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return 0;
  const bool hasStack = stack == 0 || pthread_attr_setstacksize(&attributes, stack) == 0;
  std::mutex gate; // each thread waits until all have started
  auto pass = [](void *gate) -> void * {
    std::lock_guard lock(*static_cast<std::mutex *>(gate));
    return nullptr;
  };
  {
    std::lock_guard closed(gate);
    pthread_t thread;
    while (hasStack && std::ssize(threads) < wanted &&
           pthread_create(&thread, &attributes, pass, &gate) == 0)
      threads.push_back(thread);
  }
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return static_cast<int>(threads.size());
}

/// Number of threads, at most `threads`, in a team of this thread. OpenMP's runtimes end the
/// process if the system cannot start a thread, so this is tried first: once for each larger team,
/// and after a shortage once per second.
static int teamOf(int threads) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds pause(1);
  constexpr size_t spare = size_t(4) << 20; // what the runtime allocates with a thread
  thread_local int asked = 1, granted = 1;
  thread_local Clock::time_point tried;
  if (threads > asked || (threads > granted && Clock::now() - tried >= pause)) {
    asked = std::max(asked, threads);
    tried = Clock::now();
    granted = std::max(
        granted,
        1 + startableThreads(threads - 1, kmp_get_stacksize_s ? kmp_get_stacksize_s() + spare : 0));
  }
  return std::min(threads, granted);
}

int processorCount() {
  startOpenMp();
  return std::max(1, omp_get_num_procs());
}

namespace {

/// Remaining indices of a thread's piece, on its own cache line to avoid false sharing.
struct alignas(64) Piece {
  int64_t next, end;
};

} // namespace

/// Runs the indices of the thread's own piece, then the remaining ones of other pieces.
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

/// A separate function: compilers query the thread's number at the beginning of a function.
__attribute__((noinline)) static void runTogether(std::span<Piece> pieces, LoopBody body,
                                                  ThreadScope scope) {
#pragma omp parallel num_threads(static_cast<int>(pieces.size()))
  scope([&] { runPieces(pieces, omp_get_thread_num(), body); });
}

/// Runs serially inside another parallel region: nested loops would oversubscribe the processors.
void parallelFor(int64_t n, int threads, LoopBody body, ThreadScope scope) {
  if (threads <= 0)
    threads = processorCount();
  startOpenMp();
  threads = static_cast<int>(std::min<int64_t>({threads, n, mostThreads}));
  if (threads > 1 && !omp_in_parallel())
    threads = teamOf(threads);
  if (threads <= 1 || omp_in_parallel())
    return scope([&] {
      for (int64_t i = 0; i < n; ++i)
        body(i, 0);
    });
  std::array<Piece, mostThreads> storage;
  const std::span pieces = std::span(storage).first(static_cast<size_t>(threads));
  for (int t = 0; t < threads; ++t)
    pieces[t] = {pieceEnd(n, threads, t - 1), pieceEnd(n, threads, t)};
  runTogether(pieces, body, scope);
}

void parallelFor(int64_t n, int threads, LoopBody body) {
  parallelFor(n, threads, body, [](FunctionRef<void()> run) { run(); });
}

/// Threads run for a while before they meet at a barrier, because a thread that has just been woken
/// shares a processor until the scheduler moves it. Time is measured from the first start to the
/// last end, so that threads that run one after the other do not appear parallel. A team that is
/// too small repeats its work for the missing threads.
__attribute__((noinline)) static double timeTogether(int threads,
                                                     const std::function<void(int)> &work) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds warmUp{8};
  std::vector<Clock::time_point> begins(static_cast<size_t>(threads)), ends(begins);
  size_t team = 1;
#pragma omp parallel num_threads(teamOf(threads))
  {
#pragma omp single
    team = static_cast<size_t>(omp_get_num_threads());
    const int thread = omp_get_thread_num();
    const Clock::time_point first = Clock::now();
    while (threads > 1 && Clock::now() - first < warmUp)
      work(thread);
#pragma omp barrier
    begins[thread] = Clock::now();
    work(thread);
    ends[thread] = Clock::now();
  }
  begins.resize(team);
  ends.resize(team);
  std::chrono::duration<double> passed =
      *std::ranges::max_element(ends) - *std::ranges::min_element(begins);
  return passed.count() * threads / static_cast<double>(team);
}

double secondsTogether(int threads, const std::function<void(int)> &work) {
  startOpenMp();
  return timeTogether(threads, work);
}

} // namespace heddle
