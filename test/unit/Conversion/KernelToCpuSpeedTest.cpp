//===- KernelToCpuSpeedTest.cpp - Share of the multiply-add peak ----------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Disabled by default (--gtest_also_run_disabled_tests): a figure is the median
// over rounds of the ratio to the peak of the same round.
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::test;

/// Time of this thread: other processes of the machine do not count.
static double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

static double seconds(const std::function<void()> &body) {
  double begin = now();
  body();
  return now() - begin;
}

/// GFLOP/s of independent multiply-adds in registers, written out: a compiler may keep the sums
/// elsewhere.
static double peak() {
  const int rounds = 300000;
  double time = seconds([&] {
    for (int r = 0; r < rounds; ++r)
      asm volatile("vfmadd231ps %%zmm14, %%zmm15, %%zmm0\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm1\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm2\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm3\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm4\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm5\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm6\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm7\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm8\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm9\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm10\n"
                   "vfmadd231ps %%zmm14, %%zmm15, %%zmm11\n" ::
                       : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                         "xmm9", "xmm10", "xmm11");
  });
  return 2.0 * 16 * 12 * rounds / time * 1e-9;
}

static void report(const char *what, double flops, const std::function<void()> &body) {
  std::vector<double> shares;
  body();
  for (int round = 0; round < 21; ++round) {
    double best = 1e9, limit = peak();
    for (int i = 0; i < 5; ++i)
      best = std::min(best, seconds(body));
    shares.push_back(flops / best * 1e-9 / limit);
  }
  std::sort(shares.begin(), shares.end());
  std::printf("%s: %.3f of the peak (best %.3f)\n", what, shares[shares.size() / 2], shares.back());
}

TEST(KernelToCpuSpeed, DISABLED_Linear) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "no AVX-512";
  auto kernel = CompiledKernel::create(readBody("linear.mlir"), "native");
  ASSERT_TRUE(static_cast<bool>(kernel)) << kernel.error().message;
  Floats x(512 * 768), w(3072 * 768), b(3072), r(512 * 3072), y(512 * 3072);
  fill(x, 1), fill(w, 2), fill(b, 3), fill(r, 4);
  for (int64_t m : {1, 16, 37, 128, 512})
    report(("linear " + std::to_string(m) + "x3072x768").c_str(), 2.0 * m * 3072 * 768,
           [&] { kernel->run({x.data(), w.data(), b.data(), r.data(), y.data()}, {m}); });
}

TEST(KernelToCpuSpeed, DISABLED_LinearOfPairs) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "no AVX-512";
  for (const char *isa : {"x86-64-v3", "x86-64-v4", "native"}) {
    auto kernel =
        CompiledKernel::create(readBody("linear.mlir", {{"[d0, 768], f32", "[d0, 768], bf16"},
                                                        {"[3072, 768], f32", "[3072, 768], bf16"}}),
                               isa);
    ASSERT_TRUE(static_cast<bool>(kernel)) << kernel.error().message;
    Floats x(512 * 768 / 2), w(3072 * 768 / 2), b(3072), r(512 * 3072), y(512 * 3072);
    fill(b, 3), fill(r, 4);
    for (int64_t m : {1, 16, 64, 128, 512})
      report(("bf16 linear " + std::to_string(m) + "x3072x768 " + isa).c_str(),
             2.0 * m * 3072 * 768,
             [&] { kernel->run({x.data(), w.data(), b.data(), r.data(), y.data()}, {m}); });
  }
}

TEST(KernelToCpuSpeed, DISABLED_AttentionOfPairs) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "no AVX-512";
  for (const char *isa : {"x86-64-v4", "native"}) {
    auto kernel = CompiledKernel::create(
        readBody("attention.mlir",
                 {{"d2, 64], f32", "d2, 64], bf16"},
                  {"d4, 64], f32", "d4, 64], bf16"},
                  {"%pv = kernel.contract %p,",
                   "%pr = arith.truncf %p : tensor<96x512xf32> to tensor<96x512xbf16>\n"
                   "    %pv = kernel.contract %pr,"},
                  {"{guarded} : tensor<96x512xf32>", "{guarded} : tensor<96x512xbf16>"}}),
        isa);
    ASSERT_TRUE(static_cast<bool>(kernel)) << kernel.error().message;
    for (int64_t t : {128, 512, 777, 2048}) {
      int64_t padded = (t + 15) / 16 * 16;
      Floats q(12 * padded * 32), k(12 * padded * 32), v(12 * padded * 32), lengths(1),
          out(t * 768);
      int32_t length = t;
      std::memcpy(&lengths[0], &length, 4);
      report(("bf16 attention 12x64 T=" + std::to_string(t) + " " + isa).c_str(),
             4.0 * t * t * 64 * 12, [&] {
               kernel->run({q.data(), k.data(), v.data(), lengths.data(), out.data()},
                           {1, t, padded, t, padded});
             });
    }
  }
}

TEST(KernelToCpuSpeed, DISABLED_Attention) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "no AVX-512";
  for (const char *order : {"rows_inside", "rows_outside"}) {
    auto kernel =
        CompiledKernel::create(readBody("attention.mlir", {{"rows_inside", order}}), "native");
    ASSERT_TRUE(static_cast<bool>(kernel)) << kernel.error().message;
    for (int64_t t : {128, 512, 777, 2048}) {
      int64_t padded = (t + 15) / 16 * 16;
      Floats q(12 * padded * 64), k(12 * padded * 64), v(12 * padded * 64), lengths(1),
          out(t * 768);
      fill(q, 1), fill(k, 2), fill(v, 3);
      int32_t length = t;
      std::memcpy(&lengths[0], &length, 4);
      report(("attention 12x64 T=" + std::to_string(t) + " " + order).c_str(),
             4.0 * t * t * 64 * 12, [&] {
               kernel->run({q.data(), k.data(), v.data(), lengths.data(), out.data()},
                           {1, t, padded, t, padded});
             });
    }
  }
}
