//===- CpuFeatures.cpp - CPU feature detection ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file detects CPU features by LLVM's names. CPUID reports the processor's features, and XCR0
// the register state that the operating system saves and restores. A feature counts only if both
// report it.
#include "heddle/Support/CpuFeatures.h"

#include <algorithm>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace heddle {

namespace {

#if defined(__x86_64__)

/// Register state that the operating system must have enabled.
enum class State : uint8_t { None, Avx, Avx512, Amx };
enum Register : uint8_t { EAX, EBX, ECX, EDX };

struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register where;
  int bit;
  State state;
};

constexpr uint32_t ext = 0x80000001; // leaf of AMD's extended features
constexpr Feature features[] = {
    {"cx8", 1, 0, EDX, 8, State::None},
    {"cmov", 1, 0, EDX, 15, State::None},
    {"mmx", 1, 0, EDX, 23, State::None},
    {"fxsr", 1, 0, EDX, 24, State::None},
    {"sse", 1, 0, EDX, 25, State::None},
    {"sse2", 1, 0, EDX, 26, State::None},
    {"sse3", 1, 0, ECX, 0, State::None},
    {"pclmul", 1, 0, ECX, 1, State::None},
    {"ssse3", 1, 0, ECX, 9, State::None},
    {"fma", 1, 0, ECX, 12, State::Avx},
    {"cx16", 1, 0, ECX, 13, State::None},
    {"sse4.1", 1, 0, ECX, 19, State::None},
    {"sse4.2", 1, 0, ECX, 20, State::None},
    {"crc32", 1, 0, ECX, 20, State::None},
    {"movbe", 1, 0, ECX, 22, State::None},
    {"popcnt", 1, 0, ECX, 23, State::None},
    {"aes", 1, 0, ECX, 25, State::None},
    {"xsave", 1, 0, ECX, 26, State::Avx},
    {"avx", 1, 0, ECX, 28, State::Avx},
    {"f16c", 1, 0, ECX, 29, State::Avx},
    {"rdrnd", 1, 0, ECX, 30, State::None},
    {"fsgsbase", 7, 0, EBX, 0, State::None},
    {"bmi", 7, 0, EBX, 3, State::None},
    {"avx2", 7, 0, EBX, 5, State::Avx},
    {"bmi2", 7, 0, EBX, 8, State::None},
    {"avx512f", 7, 0, EBX, 16, State::Avx512},
    {"evex512", 7, 0, EBX, 16, State::Avx512},
    {"avx512dq", 7, 0, EBX, 17, State::Avx512},
    {"rdseed", 7, 0, EBX, 18, State::None},
    {"adx", 7, 0, EBX, 19, State::None},
    {"avx512ifma", 7, 0, EBX, 21, State::Avx512},
    {"clflushopt", 7, 0, EBX, 23, State::None},
    {"clwb", 7, 0, EBX, 24, State::None},
    {"avx512cd", 7, 0, EBX, 28, State::Avx512},
    {"sha", 7, 0, EBX, 29, State::None},
    {"avx512bw", 7, 0, EBX, 30, State::Avx512},
    {"avx512vl", 7, 0, EBX, 31, State::Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, State::Avx512},
    {"avx512vbmi2", 7, 0, ECX, 6, State::Avx512},
    {"gfni", 7, 0, ECX, 8, State::None},
    {"vaes", 7, 0, ECX, 9, State::Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, State::Avx},
    {"avx512vnni", 7, 0, ECX, 11, State::Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, State::Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, State::Avx512},
    {"movdiri", 7, 0, ECX, 27, State::None},
    {"movdir64b", 7, 0, ECX, 28, State::None},
    {"avx512vp2intersect", 7, 0, EDX, 8, State::Avx512},
    {"amx-bf16", 7, 0, EDX, 22, State::Amx},
    {"avx512fp16", 7, 0, EDX, 23, State::Avx512},
    {"amx-tile", 7, 0, EDX, 24, State::Amx},
    {"amx-int8", 7, 0, EDX, 25, State::Amx},
    {"avxvnni", 7, 1, EAX, 4, State::Avx},
    {"avx512bf16", 7, 1, EAX, 5, State::Avx512},
    {"avxifma", 7, 1, EAX, 23, State::Avx},
    {"sahf", ext, 0, ECX, 0, State::None},
    {"lzcnt", ext, 0, ECX, 5, State::None},
    {"sse4a", ext, 0, ECX, 6, State::None},
    {"prfchw", ext, 0, ECX, 8, State::None},
    {"64bit", ext, 0, EDX, 29, State::None},
};

uint64_t enabledStates() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) // OSXSAVE
    return 0;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return static_cast<uint64_t>(d) << 32 | a;
}

bool isEnabled(State state, uint64_t xcr0) {
  uint64_t needed = state == State::None     ? 0
                    : state == State::Avx    ? 0x6
                    : state == State::Avx512 ? 0xe6
                                             : 0x60000;
  return (xcr0 & needed) == needed;
}

std::vector<std::string> findFeatures() {
  std::vector<std::string> found;
  uint64_t xcr0 = enabledStates();
  for (const Feature &feature : features) {
    uint32_t registers[4] = {};
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &registers[0], &registers[1],
                          &registers[2], &registers[3]) &&
        (registers[feature.where] >> feature.bit & 1) && isEnabled(feature.state, xcr0))
      found.push_back(feature.name);
  }
  return found;
}

#elif defined(__aarch64__)

std::vector<std::string> findFeatures() {
  struct Feature {
    const char *name;
    int bit; ///< bit of AT_HWCAP
  };
  constexpr Feature features[] = {{"fp-armv8", 0}, {"neon", 1},     {"aes", 3},
                                  {"sha2", 6},     {"crc", 7},      {"lse", 8},
                                  {"fullfp16", 9}, {"dotprod", 20}, {"sve", 22}};
  std::vector<std::string> found;
  unsigned long capabilities = getauxval(AT_HWCAP);
  for (const Feature &feature : features)
    if (capabilities >> feature.bit & 1)
      found.push_back(feature.name);
  return found;
}

#else
std::vector<std::string> findFeatures() { return {}; }
#endif

/// Requests permission for the matrix registers from Linux. A process may not use them without it.
/// Afterwards all threads of the process have the permission, and their signal stacks need 8 KiB
/// more.
bool mayUseMatrices() {
#if defined(__x86_64__)
  constexpr long requestPermission = 0x1023, matrixData = 18; // ARCH_REQ_XCOMP_PERM, XTILEDATA
  static const bool isPermitted = syscall(SYS_arch_prctl, requestPermission, matrixData) == 0;
  return isPermitted;
#else
  return false;
#endif
}

} // namespace

const std::vector<std::string> &cpuFeatures() {
  // Computed once: a virtual machine exits to its host at every CPUID instruction, and all of them
  // together take milliseconds.
  static const std::vector<std::string> sorted = [] {
    std::vector<std::string> found = findFeatures();
    std::sort(found.begin(), found.end());
    return found;
  }();
  return sorted;
}

/// Returns LLVM's name of a feature. Artifacts use Linux's names, which differ for some features.
static std::string_view llvmName(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {{"sse4_1", "sse4.1"},
                                                                      {"sse4_2", "sse4.2"},
                                                                      {"bmi1", "bmi"},
                                                                      {"abm", "lzcnt"},
                                                                      {"lahf_lm", "sahf"},
                                                                      {"pclmulqdq", "pclmul"},
                                                                      {"pni", "sse3"},
                                                                      {"avx512_bf16", "avx512bf16"},
                                                                      {"avx512_vnni", "avx512vnni"},
                                                                      {"avx_vnni", "avxvnni"},
                                                                      {"avx512_fp16", "avx512fp16"},
                                                                      {"amx_int8", "amx-int8"},
                                                                      {"amx_bf16", "amx-bf16"},
                                                                      {"asimd", "neon"},
                                                                      {"asimdhp", "fullfp16"}};
  for (const auto &[linux, llvm] : others)
    if (name == linux)
      return llvm;
  return name;
}

std::vector<std::string> missingCpuFeatures(std::span<const std::string> required) {
  const std::vector<std::string> &found = cpuFeatures();
  std::vector<std::string> missing;
  for (const std::string &name : required) {
    const std::string_view known = llvmName(name);
    // Permission is requested only if code needs it.
    if (!std::binary_search(found.begin(), found.end(), known) ||
        (known.starts_with("amx") && !mayUseMatrices()))
      missing.push_back(name);
  }
  return missing;
}

std::string cpuLevel() {
#if defined(__x86_64__)
  struct Level {
    const char *name;
    std::vector<std::string> needed; ///< in addition to the previous level
  };
  const Level levels[] = {
      {"x86-64-v2", {"cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"}},
      {"x86-64-v3", {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
      {"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}};
  std::string reached = "x86-64";
  for (const Level &level : levels) {
    if (!missingCpuFeatures(level.needed).empty())
      break;
    reached = level.name;
  }
  return reached;
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

} // namespace heddle
