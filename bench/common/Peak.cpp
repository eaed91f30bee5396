//===- Peak.cpp - The rate that the processor could reach -----------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Twelve chains hide the latency of a multiply-add (4 cycles, 2 a cycle) with
// room to spare. The instruction is written out, so that no compiler option
// decides what is measured.
//
//===----------------------------------------------------------------------===//
#include "Peak.h"

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace heddle::bench {

#if !defined(__x86_64__)
#error "the peak is measured on x86-64 only"
#endif

namespace {

constexpr int kChains = 12;
constexpr int64_t kSteps = 2'000'000;

template <typename Vector>
[[gnu::always_inline]] inline void runChains() {
  Vector sums[kChains], factor = Vector{} + 0.9999f, term = Vector{} + 1e-4f;
  for (Vector &sum : sums)
    sum = Vector{};
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i)
      asm volatile("vfmadd213ps %2, %1, %0" : "+v"(sums[i]) : "v"(factor), "v"(term));
  }
}

using Vector16 = float __attribute__((vector_size(64)));
using Vector8 = float __attribute__((vector_size(32)));
[[gnu::target("avx512f"), gnu::noinline]] void run16() { runChains<Vector16>(); }
[[gnu::target("avx2,fma"), gnu::noinline]] void run8() { runChains<Vector8>(); }

struct Choice {
  void (*run)();
  int lanes;
  const char *name;
};

Choice choose() {
  if (__builtin_cpu_supports("avx512f"))
    return {run16, 16, "AVX-512, 16 lanes"};
  if (__builtin_cpu_supports("fma"))
    return {run8, 8, "AVX2, 8 lanes"};
  return {nullptr, 0, ""};
}

} // namespace

std::string peakVectors() { return choose().name; }

double measurePeak(int threads) {
  const Choice choice = choose();
  if (!choice.run)
    return 0;
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i)
    workers.emplace_back(choice.run);
  for (std::thread &worker : workers)
    worker.join();
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return 2.0 * threads * choice.lanes * kChains * kSteps / passed.count();
}

} // namespace heddle::bench
