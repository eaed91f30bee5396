//===- CpuTarget.cpp - Instruction sets as data ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table of instruction sets. Register tiles leave room for one row of the right
// side and one broadcast: 24 + 4 + 1 of 32 registers, 12 + 2 + 1 of 16.

#include "heddle/Target/CpuTarget.h"

#include "heddle/Support/CpuFeatures.h"
#include "heddle/Support/CpuRates.h"
#include "heddle/Support/Try.h"

#include "llvm/TargetParser/Host.h"

#include <algorithm>

using namespace heddle;

namespace {
/// An instruction set extension for narrow products, with the names of Linux and LLVM.
struct Products {
  Arithmetic arithmetic;
  bool CpuTarget::*flag;
  std::string_view feature, attribute;
};
} // namespace
static constexpr Products avx512Bf16{Arithmetic::BF16, &CpuTarget::bf16Dot2, "avx512_bf16",
                                     "+avx512bf16"},
    avx512Vnni{Arithmetic::Int8, &CpuTarget::int8Dot4, "avx512_vnni", "+avx512vnni"},
    avxVnni{Arithmetic::Int8, &CpuTarget::int8Dot4, "avx_vnni", "+avxvnni"},
    amxInt8{Arithmetic::Int8, &CpuTarget::int8Matrices, "amx_int8", "+amx-int8"},
    amxBf16{Arithmetic::BF16, &CpuTarget::bf16Matrices, "amx_bf16", "+amx-bf16"},
    avx512Fp16{Arithmetic::F16, &CpuTarget::f16Accumulate, "avx512_fp16", "+avx512fp16"},
    neonFp16{Arithmetic::F16, &CpuTarget::f16Accumulate, "asimdhp", "+fullfp16"};

static constexpr Products extensions[] = {avx512Bf16, avx512Vnni, avxVnni, amxInt8,
                                          amxBf16,    avx512Fp16, neonFp16};

/// A target that also has these instructions, under another name.
static CpuTarget with(CpuTarget target, std::string name, Products products) {
  target.name = std::move(name);
  target.*products.flag = true;
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
    CpuTarget bf16 = with(avx512, "x86-64-v4-bf16", avx512Bf16),
              vnni = with(avx512, "x86-64-v4-vnni", avx512Vnni);
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
                                  with(bf16, "x86-64-v4-amx-bf16", amxBf16),
                                  bf16,
                                  vnni,
                                  with(vnni, "x86-64-v4-amx", amxInt8),
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

static bool runsHere(const CpuTarget &target) {
  return missingCpuFeatures(target.required).empty();
}

/// The last instruction set of the table that this machine runs. Sets with bf16 dot products count
/// only if these are faster than f32 on this machine (cpuRates). A matrix unit of bf16 is never
/// used, because its sums have another order.
static Expected<CpuTarget> nativeTarget() {
  for (auto it = table().rbegin(); it != table().rend(); ++it) {
    if (!runsHere(*it) || it->bf16Matrices || (it->bf16Dot2 && !cpuRates().dot2Pays()))
      continue;
    CpuTarget target = *it;
    target.name = "native";
    // Add these extensions independently: f16 is used only if f16 sums are requested, and byte
    // matrices only for integers.
    for (const Products &products : {avx512Fp16, amxInt8})
      if (CpuTarget more = with(target, "native", products);
          !(target.*products.flag) && runsHere(more))
        target = std::move(more);
    // Tuning adds no features: the code relies only on features that are checked at load.
    target.tune = llvm::sys::getHostCPUName().str();
    return target;
  }
  return inputError("native: expected a machine with the features of x86-64-v2 or aarch64, found " +
                    llvm::sys::getHostCPUName().str());
}

/// `native` with the matrix unit of bf16, and with the conversions that come with dot products.
static Expected<CpuTarget> nativeMatrixTarget() {
  auto target = HEDDLE_TRY(nativeTarget());
  if (!target.bf16Dot2)
    target = with(std::move(target), "", avx512Bf16);
  target = with(std::move(target), std::string(nativeBf16Matrices), amxBf16);
  if (!runsHere(target))
    return inputError(target.name + ": expected a machine with the features avx512_bf16 and " +
                      "amx_bf16, found " + llvm::sys::getHostCPUName().str());
  return target;
}

Expected<CpuTarget> heddle::findCpuTarget(std::string_view name) {
  if (name == "native")
    return nativeTarget();
  if (name == nativeBf16Matrices)
    return nativeMatrixTarget();
  for (const CpuTarget &target : table())
    if (target.name == name)
      return target;
  std::string known = "native";
  for (const std::string &other : cpuTargetNames())
    known = other + ", " + known;
  return usageError("expected one of " + known + " as instruction set, found " + quotedText(name));
}

bool CpuTarget::multiplies(Arithmetic arithmetic) const {
  return std::any_of(std::begin(extensions), std::end(extensions), [&](const Products &products) {
    return products.arithmetic == arithmetic && this->*products.flag;
  });
}

/// Removes instructions from the target, and the features that they require.
static void drop(CpuTarget &target, const Products &products) {
  target.*products.flag = false;
  std::erase(target.required, products.feature);
  if (size_t at = target.features.find(products.attribute); at != std::string::npos)
    target.features.erase(at > 0 ? at - 1 : at, products.attribute.size() + 1); // with its comma
}

CpuTarget heddle::without(CpuTarget target, Arithmetic arithmetic) {
  for (const Products &products : extensions)
    if (products.arithmetic == arithmetic)
      drop(target, products);
  return target;
}

CpuTarget heddle::withoutMatrices(CpuTarget target) {
  drop(target, amxInt8);
  return target;
}
