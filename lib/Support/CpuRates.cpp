//===- CpuRates.cpp - How fast this processor multiplies --------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Twelve chains that do not depend on each other, in loops of some ten
// microseconds; the best of some rounds in which the instructions take turns, so
// that all see the same clock.
//
//===----------------------------------------------------------------------===//

#include "heddle/Support/CpuRates.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace heddle {

std::string cacheDirectory() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/')
    return std::string(cache) + "/heddle";
  const char *home = std::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + "/.cache/heddle" : "";
}

#if defined(__x86_64__)

namespace {

constexpr int chains = 12, steps = 8000;

// One loop an instruction, its sums in registers 0 to 11, its factors zero.
#define HEDDLE_RATE_STEP(OP, SUM) OP " %%zmm12, %%zmm12, %%zmm" SUM "\n"
#define HEDDLE_RATE_LOOP(NAME, FEATURES, OP)                                                       \
  __attribute__((target(FEATURES), noinline)) void NAME() {                                        \
    asm volatile("vzeroall" ::: "xmm12");                                                          \
    for (int step = 0; step < steps; ++step)                                                       \
      asm volatile(HEDDLE_RATE_STEP(OP, "0") HEDDLE_RATE_STEP(OP, "1") HEDDLE_RATE_STEP(OP, "2")   \
                       HEDDLE_RATE_STEP(OP, "3") HEDDLE_RATE_STEP(OP, "4")                         \
                           HEDDLE_RATE_STEP(OP, "5") HEDDLE_RATE_STEP(OP, "6")                     \
                               HEDDLE_RATE_STEP(OP, "7") HEDDLE_RATE_STEP(OP, "8")                 \
                                   HEDDLE_RATE_STEP(OP, "9") HEDDLE_RATE_STEP(OP, "10")            \
                                       HEDDLE_RATE_STEP(OP, "11")::                                \
                                           : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",       \
                                             "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11");    \
    asm volatile("vzeroupper" ::: "xmm0");                                                         \
  }
HEDDLE_RATE_LOOP(multiplyAdds, "avx512f", "vfmadd231ps")
HEDDLE_RATE_LOOP(bf16Pairs, "avx512f,avx512bf16", "vdpbf16ps")
HEDDLE_RATE_LOOP(int8Quads, "avx512f,avx512vnni", "vpdpbusd")
#undef HEDDLE_RATE_LOOP
#undef HEDDLE_RATE_STEP

/// 10^9 operations a second of a loop whose instruction does `operations`.
double rateOf(void (*loop)(), double operations) {
  auto start = std::chrono::steady_clock::now();
  loop();
  std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return operations * chains * steps / std::max(time.count(), 1.0);
}

/// Tells machines apart that share a home; decides nothing.
std::string machineKey() {
  uint32_t leaf[4][4] = {};
  for (uint32_t i = 0; i < 3; ++i)
    __get_cpuid(0x80000002 + i, &leaf[i][0], &leaf[i][1], &leaf[i][2], &leaf[i][3]);
  __get_cpuid(1, &leaf[3][0], &leaf[3][1], &leaf[3][2], &leaf[3][3]);
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 13; ++i) // the brand, then family, model and stepping
    hash = (hash ^ leaf[i / 4][i % 4]) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

} // namespace

CpuRates measureCpuRates() {
  CpuRates rates;
  if (!__builtin_cpu_supports("avx512f"))
    return rates;
  bool pairs = __builtin_cpu_supports("avx512bf16"), quads = __builtin_cpu_supports("avx512vnni");
  multiplyAdds(); // the clock may change for vectors of 512 bits
  for (int round = 0; round < 8; ++round) {
    rates.multiplyAdd = std::max(rates.multiplyAdd, rateOf(multiplyAdds, 2 * 16));
    if (pairs)
      rates.bf16Pairs = std::max(rates.bf16Pairs, rateOf(bf16Pairs, 2 * 32));
    if (quads)
      rates.int8Quads = std::max(rates.int8Quads, rateOf(int8Quads, 2 * 64));
  }
  return rates;
}

#else

static std::string machineKey() { return "other"; }
CpuRates measureCpuRates() { return {}; }

#endif

std::string toText(const CpuRates &rates) {
  char text[128];
  std::snprintf(text, sizeof text, "multiply-add %.1f\nbf16-pairs %.1f\nint8-quads %.1f\n",
                rates.multiplyAdd, rates.bf16Pairs, rates.int8Quads);
  return text;
}

bool parseRates(const std::string &text, CpuRates &rates) {
  std::istringstream lines(text);
  std::string name;
  CpuRates read;
  for (auto [expected, value] :
       {std::pair("multiply-add", &read.multiplyAdd), std::pair("bf16-pairs", &read.bf16Pairs),
        std::pair("int8-quads", &read.int8Quads)})
    if (!(lines >> name >> *value) || name != expected || !(*value >= 0 && *value < 1e6))
      return false;
  if (lines >> name)
    return false;
  rates = read;
  return true;
}

/// Beside and renamed: another process may read or write the same file. A place that cannot be
/// written costs the next process a millisecond.
static void keep(const std::string &path, const std::string &text) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::string beside = path + "." + std::to_string(getpid());
  std::ofstream file(beside, std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0)
    std::remove(beside.c_str());
}

static CpuRates findRates() {
  CpuRates rates;
  std::string directory = cacheDirectory();
  if (directory.empty())
    return measureCpuRates();
  std::string path = directory + "/cpu-rates-" + machineKey() + ".txt";
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (parseRates(text, rates))
    return rates;
  rates = measureCpuRates();
  keep(path, toText(rates));
  return rates;
}

const CpuRates &cpuRates() {
  static const CpuRates rates = findRates();
  return rates;
}

} // namespace heddle
