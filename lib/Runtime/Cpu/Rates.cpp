//===- Rates.cpp - What the processor could reach -----------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Twelve chains hide the latency of a multiply-add (4 to 6 cycles, 2 a cycle).
// The instructions are written out, so that no compiler option decides what is
// measured. Threads meet at a barrier; the time is from the first start to the
// last end, so that threads that take turns on one core are not counted twice.
//
//===----------------------------------------------------------------------===//
#include "heddle/Runtime/Cpu/Rates.h"

#include "heddle/Runtime/Cpu/CpuCode.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace heddle {

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds that `threads` threads need for `work(thread)` each, all started together.
template <typename Work>
double secondsOf(int threads, Work work) {
  std::barrier<> start(threads);
  std::vector<Clock::time_point> begins(static_cast<size_t>(threads)), ends(begins);
  auto body = [&](int thread) {
    start.arrive_and_wait();
    begins[static_cast<size_t>(thread)] = Clock::now();
    work(thread);
    ends[static_cast<size_t>(thread)] = Clock::now();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread)
    others.emplace_back(body, thread);
  body(0);
  for (std::thread &other : others)
    other.join();
  std::chrono::duration<double> passed =
      *std::ranges::max_element(ends) - *std::ranges::min_element(begins);
  return passed.count();
}

//===----------------------------------------------------------------------===//
// Multiply-adds
//===----------------------------------------------------------------------===//

constexpr int64_t kSteps = 2'000'000;

/// One way to multiply and add.
struct Unit {
  Arithmetic arithmetic;
  const char *instruction, *feature;
  int lanes;     ///< of the sums
  int products;  ///< a lane takes at once
  void (*run)(); ///< kSteps steps of kChains instructions
};

#if defined(__x86_64__)

constexpr int kChains = 12;

// Registers are named, so that no compiler option moves a sum through memory. The operands are
// zeros: a sum stays 0, which no unit is slow at.
#define HEDDLE_ZERO(N) "vxorps %%xmm" #N ", %%xmm" #N ", %%xmm" #N "\n"
#define HEDDLE_STEP(INSTRUCTION, VECTOR, N)                                                        \
  INSTRUCTION " %%" VECTOR "12, %%" VECTOR "13, %%" VECTOR #N "\n"
#define HEDDLE_EACH(DO, ...)                                                                       \
  DO(__VA_ARGS__ 0)                                                                                \
  DO(__VA_ARGS__ 1) DO(__VA_ARGS__ 2) DO(__VA_ARGS__ 3) DO(__VA_ARGS__ 4) DO(__VA_ARGS__ 5)        \
      DO(__VA_ARGS__ 6) DO(__VA_ARGS__ 7) DO(__VA_ARGS__ 8) DO(__VA_ARGS__ 9) DO(__VA_ARGS__ 10)   \
          DO(__VA_ARGS__ 11)
#define HEDDLE_RATE(NAME, TARGET, VECTOR, INSTRUCTION)                                             \
  [[gnu::target(TARGET), gnu::noinline]] void NAME() {                                             \
    asm volatile(HEDDLE_EACH(HEDDLE_ZERO, ) HEDDLE_ZERO(12)                                        \
                     HEDDLE_ZERO(13) "mov %0, %%rcx\n1:\n" HEDDLE_EACH(                            \
                         HEDDLE_STEP, INSTRUCTION, VECTOR, ) "dec %%rcx\njnz 1b\n"                 \
                 :                                                                                 \
                 : "r"(kSteps)                                                                     \
                 : "rcx", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",    \
                   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13");                            \
  }
HEDDLE_RATE(runF32Wide, "avx512f", "zmm", "vfmadd231ps")
HEDDLE_RATE(runF32, "avx2,fma", "ymm", "vfmadd231ps")
HEDDLE_RATE(runBf16, "avx512f", "zmm", "vdpbf16ps")
HEDDLE_RATE(runInt8Wide, "avx512f", "zmm", "vpdpbusd")
HEDDLE_RATE(runInt8, "avx2", "ymm", "%{vex%} vpdpbusd")
HEDDLE_RATE(runF16, "avx512f", "zmm", "vfmadd231ph")
#undef HEDDLE_RATE
#undef HEDDLE_EACH
#undef HEDDLE_STEP
#undef HEDDLE_ZERO

/// The widest first: the first that the processor has is taken.
constexpr Unit kUnits[] = {
    {Arithmetic::F32, "vfmadd231ps", "avx512f", 16, 1, runF32Wide},
    {Arithmetic::F32, "vfmadd231ps", "fma", 8, 1, runF32},
    {Arithmetic::BF16, "vdpbf16ps", "avx512bf16", 16, 2, runBf16},
    {Arithmetic::Int8, "vpdpbusd", "avx512vnni", 16, 4, runInt8Wide},
    {Arithmetic::Int8, "vpdpbusd", "avxvnni", 8, 4, runInt8},
    {Arithmetic::F16, "vfmadd231ph", "avx512fp16", 32, 1, runF16},
};

#elif defined(__aarch64__)

constexpr int kChains = 12;

[[gnu::noinline]] void runNeon() {
  asm volatile("movi v16.4s, #0\n mov x9, %0\n1:\n"
               "fmla v0.4s, v16.4s, v16.4s\n fmla v1.4s, v16.4s, v16.4s\n"
               "fmla v2.4s, v16.4s, v16.4s\n fmla v3.4s, v16.4s, v16.4s\n"
               "fmla v4.4s, v16.4s, v16.4s\n fmla v5.4s, v16.4s, v16.4s\n"
               "fmla v6.4s, v16.4s, v16.4s\n fmla v7.4s, v16.4s, v16.4s\n"
               "fmla v17.4s, v16.4s, v16.4s\n fmla v18.4s, v16.4s, v16.4s\n"
               "fmla v19.4s, v16.4s, v16.4s\n fmla v20.4s, v16.4s, v16.4s\n"
               "subs x9, x9, #1\n b.ne 1b\n"
               :
               : "r"(kSteps)
               : "x9", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18",
                 "v19", "v20");
}
constexpr Unit kUnits[] = {{Arithmetic::F32, "fmla", "neon", 4, 1, runNeon}};

#else

constexpr int kChains = 0;
constexpr Unit kUnits[] = {{Arithmetic::F32, "", "none", 0, 0, nullptr}};

#endif

const Unit *unitOf(Arithmetic arithmetic) {
  for (const Unit &unit : kUnits) {
    const std::string needed[] = {unit.feature};
    if (unit.arithmetic == arithmetic && missingCpuFeatures(needed).empty())
      return &unit;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

constexpr int64_t kBlock = 512;        ///< bytes that one step reads
constexpr int64_t kAhead = 8 * kBlock; ///< of a prefetch
constexpr int64_t kLeast = 64 << 20;   ///< bytes that a thread reads for one figure

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

const char *toString(Arithmetic arithmetic) {
  constexpr const char *names[] = {"f32", "bf16", "int8", "f16"};
  return names[static_cast<size_t>(arithmetic)];
}

std::string rateInstruction(Arithmetic arithmetic) {
  const Unit *unit = unitOf(arithmetic);
  return unit ? std::string(unit->instruction) + ", " + std::to_string(unit->lanes) + " lanes" : "";
}

double measureRate(Arithmetic arithmetic, int threads) {
  const Unit *unit = unitOf(arithmetic);
  if (!unit)
    return 0;
  double seconds = secondsOf(threads, [&](int) { unit->run(); });
  return 2.0 * threads * unit->lanes * unit->products * kChains * kSteps / seconds;
}

Expected<ReadProbe> ReadProbe::create(int64_t bytes, int threads) {
  // A whole number of blocks for each thread, and what the last prefetches reach.
  bytes = std::max<int64_t>(1, bytes / (kBlock * threads)) * kBlock * threads;
  auto memory = MappedBytes::allocate(bytes + kAhead + kBlock);
  if (!memory)
    return memory.takeError();
  std::memset(memory->writable().data(), 1, memory->writable().size());
  return ReadProbe(std::move(*memory), bytes, threads);
}

double ReadProbe::measure(bool prefetch) const {
  int64_t part = bytes / threads, passes = std::max<int64_t>(1, kLeast / part);
  double seconds = secondsOf(threads, [&](int thread) {
    readBuffer(memory.bytes().data() + thread * part, part, passes, prefetch);
  });
  return static_cast<double>(bytes * passes) / seconds;
}

double ReadProbe::measure() const { return std::max(measure(false), measure(true)); }

} // namespace heddle
