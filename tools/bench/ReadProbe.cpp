//===- ReadProbe.cpp - Memory read bandwidth ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads are inline assembly, so the compiler cannot remove them.
#include "ReadProbe.h"

#include "heddle/Support/Parallel.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace heddle {

namespace {

constexpr int64_t kBlock = 512;        ///< bytes of a step
constexpr int64_t kAhead = 8 * kBlock; ///< prefetch distance
constexpr int64_t kLeast = 64 << 20; ///< least number of bytes that a thread reads in a measurement

#if defined(__x86_64__)
#define HEDDLE_LOADS(VECTOR, AT0, AT1, AT2, AT3, AT4, AT5, AT6, AT7)                               \
  "vmovups " AT0 "(%0), %%" VECTOR "0\n vmovups " AT1 "(%0), %%" VECTOR "1\n"                      \
  "vmovups " AT2 "(%0), %%" VECTOR "2\n vmovups " AT3 "(%0), %%" VECTOR "3\n"                      \
  "vmovups " AT4 "(%0), %%" VECTOR "4\n vmovups " AT5 "(%0), %%" VECTOR "5\n"                      \
  "vmovups " AT6 "(%0), %%" VECTOR "6\n vmovups " AT7 "(%0), %%" VECTOR "7\n"

[[gnu::target("avx512f")]] void readBlock16(const std::byte *from) {
  asm volatile(HEDDLE_LOADS("zmm", "0", "64", "128", "192", "256", "320", "384", "448")
               :
               : "r"(from)
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory");
}
[[gnu::target("avx2")]] void readBlock8(const std::byte *from) {
  for (const std::byte *half : {from, from + kBlock / 2})
    asm volatile(HEDDLE_LOADS("ymm", "0", "32", "64", "96", "128", "160", "192", "224")
                 :
                 : "r"(half)
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory");
}
#undef HEDDLE_LOADS
#else
void readBlock(const std::byte *from) {
  uint64_t sum = 0, word;
  for (int64_t at = 0; at < kBlock; at += 8) {
    std::memcpy(&word, from + at, 8);
    sum += word;
  }
  asm volatile("" : : "r"(sum));
}
#endif

template <typename Read>
[[gnu::always_inline]] inline void readAll(const std::byte *from, int64_t bytes, int64_t passes,
                                           bool prefetch, Read read) {
  for (int64_t pass = 0; pass < passes; ++pass)
    for (int64_t at = 0; at < bytes; at += kBlock) {
      if (prefetch)
        for (int64_t line = 0; line < kBlock; line += 64)
          __builtin_prefetch(from + at + kAhead + line);
      read(from + at);
    }
}

#if defined(__x86_64__)
[[gnu::target("avx512f"), gnu::noinline]] void readAll16(const std::byte *from, int64_t bytes,
                                                         int64_t passes, bool prefetch) {
  readAll(from, bytes, passes, prefetch, readBlock16);
}
[[gnu::target("avx2"), gnu::noinline]] void readAll8(const std::byte *from, int64_t bytes,
                                                     int64_t passes, bool prefetch) {
  readAll(from, bytes, passes, prefetch, readBlock8);
}
#endif

void readBuffer(const std::byte *from, int64_t bytes, int64_t passes, bool prefetch) {
#if defined(__x86_64__)
  (__builtin_cpu_supports("avx512f") ? readAll16 : readAll8)(from, bytes, passes, prefetch);
#else
  readAll(from, bytes, passes, prefetch, readBlock);
#endif
}

} // namespace

Expected<ReadProbe> ReadProbe::create(int64_t bytes, int threads) {
  // Each thread gets a whole number of blocks; the memory after them is for the last prefetches.
  bytes = std::max<int64_t>(1, bytes / (kBlock * threads)) * kBlock * threads;
  auto memory = HEDDLE_TRY(MappedBytes::allocate(bytes + kAhead + kBlock));
  std::memset(memory.writable().data(), 1, memory.writable().size());
  return ReadProbe(std::move(memory), bytes, threads);
}

double ReadProbe::measure(bool prefetch) const {
  int64_t part = bytes / threads, passes = std::max<int64_t>(1, kLeast / part);
  auto read = [&](int64_t piece, int64_t times) {
    readBuffer(memory.bytes().data() + piece * part, part, times, prefetch);
  };
  if (threads == 1)
    return static_cast<double>(bytes * passes) / secondsTogether(1, [&](int) { read(0, passes); });
  // Each pass starts its threads and waits for them, as a launch does.
  auto passesTogether = [&] {
    for (int64_t pass = 0; pass < passes; ++pass)
      parallelFor(threads, threads, [&](int64_t piece, int) { read(piece, 1); });
  };
  passesTogether(); // warm-up: threads may share a processor after waking up
  auto start = std::chrono::steady_clock::now();
  passesTogether();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return static_cast<double>(bytes * passes) / seconds.count();
}

double ReadProbe::measure() const { return std::max(measure(false), measure(true)); }

} // namespace heddle
