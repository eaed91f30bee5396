//===- CpuTarget.cpp - Instruction sets as data ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table of instruction sets. Register tiles leave room for one row of the right
// side and one broadcast: 24 + 4 + 1 of 32 registers, 12 + 2 + 1 of 16.

#include "heddle/Target/CpuTarget.h"

#include "heddle/Support/CpuRates.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

using namespace heddle;

namespace {
/// An instruction set extension for narrow products, by Linux' and LLVM's names.
struct Products {
  Arithmetic arithmetic;
  std::string_view feature, attribute;
};
} // namespace
static constexpr Products avx512Bf16{Arithmetic::BF16, "avx512_bf16", "+avx512bf16"},
    avx512Vnni{Arithmetic::Int8, "avx512_vnni", "+avx512vnni"},
    avxVnni{Arithmetic::Int8, "avx_vnni", "+avxvnni"},
    avx512Fp16{Arithmetic::F16, "avx512_fp16", "+avx512fp16"},
    neonFp16{Arithmetic::F16, "asimdhp", "+fullfp16"};

static constexpr Products extensions[] = {avx512Bf16, avx512Vnni, avxVnni, avx512Fp16, neonFp16};

/// The flag that instructions for these products set; null for f32, which is no extension.
static bool CpuTarget::*flagOf(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::BF16   ? &CpuTarget::bf16Dot2
         : arithmetic == Arithmetic::Int8 ? &CpuTarget::int8Dot4
         : arithmetic == Arithmetic::F16  ? &CpuTarget::f16Accumulate
                                          : nullptr;
}

/// A target that has these instructions too, under another name.
static CpuTarget with(CpuTarget target, std::string name, Products products) {
  target.name = std::move(name);
  target.*flagOf(products.arithmetic) = true;
  target.features += (target.features.empty() ? "" : ",") + std::string(products.attribute);
  target.required.push_back(std::string(products.feature));
  return target;
}

static const std::vector<CpuTarget> &table() {
  static const std::vector<CpuTarget> targets = [] {
    const std::string triple = "x86_64-unknown-linux-gnu";
    const std::vector<std::string> v2 = {"sse4_1", "sse4_2", "ssse3", "popcnt"};
    std::vector<std::string> v3 = v2, v4;
    v3.insert(v3.end(), {"avx", "avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"});
    v4 = v3;
    v4.insert(v4.end(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
    CpuTarget sse{.name = "x86-64-v2",
                  .triple = triple,
                  .cpu = "x86-64-v2",
                  .fragments = {{2, 16}, {1, 16}},
                  .pairFragments = {{1, 16}},
                  .fewRows = 1,
                  .required = v2};
    CpuTarget avx2{.name = "x86-64-v3",
                   .triple = triple,
                   .cpu = "x86-64-v3",
                   .lanes = 8,
                   .fusedMultiplyAdd = true,
                   .fragments = {{6, 16}, {4, 16}, {2, 32}},
                   .pairFragments = {{4, 16}},
                   .required = v3};
    CpuTarget avx512{.name = "x86-64-v4",
                     .triple = triple,
                     .cpu = "x86-64-v4",
                     .features = "-prefer-256-bit",
                     .lanes = 16,
                     .fusedMultiplyAdd = true,
                     .widensBf16 = true,
                     .fragments = {{6, 64}, {8, 48}, {8, 32}, {8, 16}},
                     .weightFragments = {{8, 48}, {8, 32}, {8, 16}},
                     .pairFragments = {{4, 64}, {6, 48}, {8, 32}, {8, 16}},
                     .groupFragments = {{12, 16}, {8, 16}},
                     .required = v4};
    CpuTarget bf16 = with(avx512, "x86-64-v4-bf16", avx512Bf16);
    CpuTarget neon{.name = "aarch64",
                   .triple = "aarch64-unknown-linux-gnu",
                   .cpu = "generic",
                   .features = "+neon",
                   .fusedMultiplyAdd = true,
                   .fragments = {{6, 16}, {4, 16}},
                   .pairFragments = {{4, 16}},
                   .required = {"asimd"}};
    return std::vector<CpuTarget>{sse,
                                  avx2,
                                  with(avx2, "x86-64-v3-vnni", avxVnni),
                                  avx512,
                                  with(avx512, "x86-64-v4-fp16", avx512Fp16),
                                  bf16,
                                  with(avx512, "x86-64-v4-vnni", avx512Vnni),
                                  with(bf16, "x86-64-v4-vnni-bf16", avx512Vnni),
                                  neon,
                                  with(neon, "aarch64-fp16", neonFp16)};
  }();
  return targets;
}

std::vector<std::string> heddle::cpuTargetNames() {
  std::vector<std::string> names;
  for (const CpuTarget &target : table())
    names.push_back(target.name);
  return names;
}

/// LLVM's name of a feature that Linux spells differently.
static std::string_view llvmName(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {{"sse4_1", "sse4.1"},
                                                                      {"sse4_2", "sse4.2"},
                                                                      {"bmi1", "bmi"},
                                                                      {"abm", "lzcnt"},
                                                                      {"asimd", "neon"}};
  for (auto [linux, llvm] : others)
    if (name == linux)
      return llvm;
  for (const Products &products : extensions)
    if (name == products.feature)
      return products.attribute.substr(1);
  return name;
}

/// Whether this machine has all features that the target requires.
static bool runsHere(const CpuTarget &target) {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return std::all_of(target.required.begin(), target.required.end(),
                     [&](const std::string &name) { return features.lookup(llvmName(name)); });
}

/// The last set of the table that this machine runs. bf16 dot products count only if they are
/// faster here than f32 (cpuRates).
static Expected<CpuTarget> nativeTarget() {
  for (auto it = table().rbegin(); it != table().rend(); ++it) {
    if (!runsHere(*it) || (it->bf16Dot2 && !cpuRates().dot2Pays()))
      continue;
    CpuTarget target = *it;
    target.name = "native";
    // Independent of the other extensions, and used only where sums of f16 are asked for.
    if (CpuTarget more = with(target, "native", avx512Fp16);
        !target.f16Accumulate && runsHere(more))
      target = std::move(more);
    // Tuning does not add features: the code relies only on those that are checked at load.
    target.tune = llvm::sys::getHostCPUName().str();
    return target;
  }
  return inputError("native: expected a machine with the features of x86-64-v2 or aarch64, found " +
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

bool CpuTarget::multiplies(Arithmetic arithmetic) const {
  bool CpuTarget::*flag = flagOf(arithmetic);
  return flag && this->*flag;
}

CpuTarget heddle::without(CpuTarget target, Arithmetic arithmetic) {
  assert(flagOf(arithmetic) && "expected products of an extension");
  target.*flagOf(arithmetic) = false;
  for (const Products &products : extensions) {
    if (products.arithmetic != arithmetic)
      continue;
    std::erase(target.required, products.feature);
    if (size_t at = target.features.find(products.attribute); at != std::string::npos)
      target.features.erase(at > 0 ? at - 1 : at, products.attribute.size() + 1); // with its comma
  }
  return target;
}
