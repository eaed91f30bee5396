//===- CpuRates.cpp - Peak arithmetic rates of this processor ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measurement of rates. Independent accumulator chains hide the latency of a multiply-add (4 to 6
// cycles, 2 per cycle): at least twelve, and more if there are registers for them. Loops are inline
// assembly, so that compiler options cannot change the measurement.

#include "heddle/Support/CpuRates.h"

#include "heddle/Support/CacheFolder.h"
#include "heddle/Support/CpuFeatures.h"
#include "heddle/Support/Parallel.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace heddle {

namespace {

//===- Multiply-adds -----------------------------------------------------===//

/// An instruction that multiplies and adds, and the loop that times it.
struct Unit {
  Arithmetic arithmetic;
  const char *instruction, *feature;
  int lanes;    ///< accumulators in a vector
  int products; ///< products that a lane adds at once
  int chains;   ///< instructions in a step, each with its own accumulator
  void (*run)(int64_t steps);
};

#if defined(__x86_64__)

// Registers are named, so that no accumulator is spilled to memory. Operands are zeros, which are
// slow on no unit. All free registers are accumulators: two units of vdpbf16ps have a latency of
// six cycles each and sometimes stall with fourteen accumulators. The assembler's .irp repeats a
// line for each register.
#define HEDDLE_EACH(REGISTERS, LINE) ".irp reg, " REGISTERS "\n" LINE "\n.endr\n"
#define HEDDLE_LOW "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13"
#define HEDDLE_HIGH "16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29"
#define HEDDLE_RATE(NAME, TARGET, VECTOR, SUMS, CLEAR, INSTRUCTION, ...)                           \
  [[gnu::target(TARGET), gnu::noinline]] void NAME(int64_t steps) {                                \
    asm volatile(                                                                                  \
        HEDDLE_EACH(SUMS ", 14, 15", CLEAR                                                         \
                    " %%" VECTOR "\\reg, %%" VECTOR "\\reg, %%" VECTOR                             \
                    "\\reg") "mov %0, %%rcx\n1:\n" HEDDLE_EACH(SUMS, INSTRUCTION                   \
                                                               " %%" VECTOR "14, %%" VECTOR        \
                                                               "15, %%" VECTOR                     \
                                                               "\\reg") "dec %%rcx\njnz 1b\n"      \
        :                                                                                          \
        : "r"(steps)                                                                               \
        : "rcx", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",     \
          "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",                                     \
          "xmm15" __VA_OPT__(, ) __VA_ARGS__);                                                     \
  }
#define HEDDLE_RATE_WIDE(NAME, INSTRUCTION)                                                        \
  HEDDLE_RATE(NAME, "avx512f", "zmm", HEDDLE_LOW ", " HEDDLE_HIGH, "vpxord", INSTRUCTION, "xmm16", \
              "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",     \
              "xmm26", "xmm27", "xmm28", "xmm29")
HEDDLE_RATE_WIDE(runF32Wide, "vfmadd231ps")
HEDDLE_RATE_WIDE(runBf16, "vdpbf16ps")
HEDDLE_RATE_WIDE(runInt8Wide, "vpdpbusd")
HEDDLE_RATE_WIDE(runF16, "vfmadd231ph")
HEDDLE_RATE(runF32, "avx2,fma", "ymm", HEDDLE_LOW, "vpxor", "vfmadd231ps")
HEDDLE_RATE(runInt8, "avx2", "ymm", HEDDLE_LOW, "vpxor", "%{vex%} vpdpbusd")
#undef HEDDLE_RATE
#undef HEDDLE_RATE_WIDE
#undef HEDDLE_EACH
#undef HEDDLE_LOW
#undef HEDDLE_HIGH

/// Units, widest vectors first: unitOf returns the first one that the processor has.
constexpr Unit kUnits[] = {
    {Arithmetic::F32, "vfmadd231ps", "avx512f", 16, 1, 28, runF32Wide},
    {Arithmetic::F32, "vfmadd231ps", "fma", 8, 1, 14, runF32},
    {Arithmetic::BF16, "vdpbf16ps", "avx512bf16", 16, 2, 28, runBf16},
    {Arithmetic::Int8, "vpdpbusd", "avx512vnni", 16, 4, 28, runInt8Wide},
    {Arithmetic::Int8, "vpdpbusd", "avxvnni", 8, 4, 14, runInt8},
    {Arithmetic::F16, "vfmadd231ph", "avx512fp16", 32, 1, 28, runF16},
};

#elif defined(__aarch64__)

// The assembler's .irp repeats a line for each register.
#define HEDDLE_RATE(NAME, LANES)                                                                   \
  [[gnu::noinline]] void NAME(int64_t steps) {                                                     \
    asm volatile(".arch_extension fp16\n movi v16.4s, #0\n mov x9, %0\n1:\n"                       \
                 ".irp reg, 0, 1, 2, 3, 4, 5, 6, 7, 17, 18, 19, 20\n"                              \
                 "fmla v\\reg\\()." LANES ", v16." LANES ", v16." LANES "\n.endr\n"                \
                 "subs x9, x9, #1\n b.ne 1b\n"                                                     \
                 :                                                                                 \
                 : "r"(steps)                                                                      \
                 : "x9", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17",       \
                   "v18", "v19", "v20");                                                           \
  }
HEDDLE_RATE(runNeon, "4s")
HEDDLE_RATE(runNeonHalves, "8h")
#undef HEDDLE_RATE

constexpr Unit kUnits[] = {{Arithmetic::F32, "fmla", "neon", 4, 1, 12, runNeon},
                           {Arithmetic::F16, "fmla", "fullfp16", 8, 1, 12, runNeonHalves}};

#else

constexpr Unit kUnits[] = {{Arithmetic::F32, "", "none", 0, 0, 0, nullptr}};

#endif

const Unit *unitOf(Arithmetic arithmetic) {
  for (const Unit &unit : kUnits) {
    const std::string needed[] = {unit.feature};
    if (unit.arithmetic == arithmetic && missingCpuFeatures(needed).empty())
      return &unit;
  }
  return nullptr;
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

double measureRate(Arithmetic arithmetic, int threads, int64_t steps) {
  const Unit *unit = unitOf(arithmetic);
  if (!unit)
    return 0;
  double seconds = secondsTogether(threads, [&](int) { unit->run(steps); });
  return 2.0 * threads * unit->lanes * unit->products * unit->chains * static_cast<double>(steps) /
         std::max(seconds, 1e-9);
}

//===- Cached rates ------------------------------------------------------===//

/// Uses the best of several short rounds. Instructions alternate, so that all run at the same clock
/// rate. One round warms up first, because vectors of 512 bits may change the clock.
CpuRates measureCpuRates() {
  constexpr int64_t steps = 8000;
  CpuRates rates;
  measureRate(Arithmetic::F32, 1, steps);
  for (int round = 0; round < 8; ++round)
    for (auto [arithmetic, best] : {std::pair(Arithmetic::F32, &rates.multiplyAdd),
                                    std::pair(Arithmetic::BF16, &rates.bf16Dot2),
                                    std::pair(Arithmetic::Int8, &rates.int8Dot4),
                                    std::pair(Arithmetic::F16, &rates.f16Accumulate)})
      *best = std::max(*best, measureRate(arithmetic, 1, steps) * 1e-9);
  return rates;
}

/// Key of this kind of processor in the cache, since machines may share a home folder.
static std::string machineKey() {
#if defined(__x86_64__)
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
#else
  return "other";
#endif
}

std::string toText(const CpuRates &rates) {
  char text[128];
  std::snprintf(text, sizeof text,
                "multiply-add %.1f\nbf16-dot2 %.1f\nint8-dot4 %.1f\nf16-accumulate %.1f\n",
                rates.multiplyAdd, rates.bf16Dot2, rates.int8Dot4, rates.f16Accumulate);
  return text;
}

bool parseRates(const std::string &text, CpuRates &rates) {
  std::istringstream lines(text);
  std::string name;
  CpuRates read;
  for (auto [expected, value] :
       {std::pair("multiply-add", &read.multiplyAdd), std::pair("bf16-dot2", &read.bf16Dot2),
        std::pair("int8-dot4", &read.int8Dot4), std::pair("f16-accumulate", &read.f16Accumulate)})
    if (!(lines >> name >> *value) || name != expected || !(*value >= 0 && *value < 1e6))
      return false;
  if (lines >> name)
    return false;
  rates = read;
  return true;
}

static CpuRates findRates() {
  CpuRates rates;
  std::string directory = cacheDirectory();
  if (directory.empty())
    return measureCpuRates();
  std::string path = directory + "/" + std::string(cachedRates.prefix) + machineKey() + ".txt";
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (parseRates(text, rates))
    return rates;
  rates = measureCpuRates();
  keepInCache(path, toText(rates));
  return rates;
}

const CpuRates &cpuRates() {
  static const CpuRates rates = findRates();
  return rates;
}

} // namespace heddle
