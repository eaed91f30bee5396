//===- CpuTarget.cpp - Instruction sets as data ---------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of described instruction sets. Register tiles leave room for one
// row of the right side and one broadcast: 24 + 4 + 1 of 32 registers, 12 + 2 + 1
// of 16.
//
//===----------------------------------------------------------------------===//

#include "heddle/Target/CpuTarget.h"

#include "heddle/Support/CpuRates.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

using namespace heddle;

/// Pairs of bf16 products, by Linux' name and as LLVM is told.
static constexpr const char *pairFeature = "avx512_bf16", *pairAttribute = ",+avx512bf16";

static const std::vector<CpuTarget> &table() {
  static const std::vector<CpuTarget> targets = [] {
    const std::string triple = "x86_64-unknown-linux-gnu";
    const std::vector<std::string> v2 = {"sse4_1", "sse4_2", "ssse3", "popcnt"};
    std::vector<std::string> v3 = v2, v4;
    v3.insert(v3.end(), {"avx", "avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"});
    v4 = v3;
    v4.insert(v4.end(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
    std::vector<std::string> pairs = v4;
    pairs.push_back(pairFeature);
    CpuTarget sse{"x86-64-v2", triple, "x86-64-v2", "", "", 4, false, false, {}, {}, 1, v2};
    sse.fragments = {{2, 16}, {1, 16}};
    sse.pairFragments = {{1, 16}};
    CpuTarget avx2{"x86-64-v3", triple, "x86-64-v3", "", "", 8, true, false, {}, {}, 2, v3};
    avx2.fragments = {{6, 16}, {4, 16}, {2, 32}};
    avx2.pairFragments = {{4, 16}};
    CpuTarget avx512{"x86-64-v4", triple, "x86-64-v4", "-prefer-256-bit", "", 16, true, false, {},
                     {},          2,      v4};
    avx512.fragments = {{6, 64}, {8, 48}, {8, 32}, {8, 16}};
    avx512.pairFragments = {{4, 64}, {6, 48}, {8, 32}, {8, 16}};
    CpuTarget bf16 = avx512;
    bf16.name = "x86-64-v4-bf16";
    bf16.features += pairAttribute;
    bf16.pairProducts = true;
    bf16.pairFragments = bf16.fragments;
    bf16.required = pairs;
    CpuTarget neon{
        "aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", "", 4, true, false, {}, {}, 2,
        {"asimd"}};
    neon.fragments = {{6, 16}, {4, 16}};
    neon.pairFragments = {{4, 16}};
    return std::vector<CpuTarget>{sse, avx2, avx512, bf16, neon};
  }();
  return targets;
}

std::vector<std::string> heddle::cpuTargetNames() {
  std::vector<std::string> names;
  for (const CpuTarget &target : table())
    names.push_back(target.name);
  return names;
}

/// Whether this machine has what the target needs, asked by LLVM's names.
static bool runsHere(const CpuTarget &target) {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return std::all_of(target.required.begin(), target.required.end(), [&](const std::string &name) {
    std::string llvmName = name == "sse4_1"        ? "sse4.1"
                           : name == "sse4_2"      ? "sse4.2"
                           : name == "bmi1"        ? "bmi"
                           : name == "abm"         ? "lzcnt"
                           : name == "avx512_bf16" ? "avx512bf16"
                           : name == "asimd"       ? "neon"
                                                   : name;
    return features.lookup(llvmName);
  });
}

static Expected<CpuTarget> nativeTarget() {
  for (auto it = table().rbegin(); it != table().rend(); ++it) {
    if (!runsHere(*it) || (it->pairProducts && !cpuRates().pairsPay()))
      continue;
    CpuTarget target = *it;
    target.name = "native";
    // Tuned for this machine; only the described features are relied on, so that the checks at load
    // stay true.
    target.tune = llvm::sys::getHostCPUName().str();
    return target;
  }
  return inputError("native: expected a machine with at least x86-64-v2, found " +
                    llvm::sys::getHostCPUName().str());
}

Expected<CpuTarget> heddle::findCpuTarget(std::string_view name) {
  if (name == "native")
    return nativeTarget();
  for (const CpuTarget &target : table())
    if (target.name == name)
      return target;
  std::string known = "native";
  for (const std::string &other : cpuTargetNames())
    known = other + ", " + known;
  return usageError("expected one of " + known + " as instruction set, found " + quotedText(name));
}

CpuTarget heddle::withoutPairs(CpuTarget target) {
  target.pairProducts = false;
  std::erase(target.required, pairFeature);
  if (size_t at = target.features.find(pairAttribute); at != std::string::npos)
    target.features.erase(at, std::string_view(pairAttribute).size());
  return target;
}
