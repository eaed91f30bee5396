//===- SpirvFacts.h - Resources of SPIR-V modules ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about a SPIR-V module, read from its words. The runtime compares them with a device's
// limits before a driver reads the module; the compiler records what a kernel needs.
#pragma once

#include "heddle/Support/Program.h"

#include <set>

namespace heddle {

/// Resources of a module with one entry point.
struct SpirvFacts {
  int64_t sharedBytes = 0;           ///< size of all variables in Workgroup storage
  int64_t invocations = 1;           ///< invocations of a workgroup
  std::set<uint32_t> capabilities;   ///< declared capabilities, by SPIR-V's numbers
  std::vector<MatrixShape> matrices; ///< matrix products that the module's cooperative matrix types
                                     ///< allow
  int64_t subgroup = 1;              ///< minimum subgroup size, from the distance over which
                                     ///< invocations exchange numbers
};

/// Reads a module. Error if its instruction lengths are inconsistent.
Expected<SpirvFacts> readSpirvFacts(std::span<const uint32_t> words);

/// Fills a variant's `features` and `matrices` from its module's words. Sets its `subgroup` to
/// `subgroup` if the module has subgroup operations; if any size is allowed, `features` names the
/// least sufficient size. Error for a capability that vulkanNeeds (VulkanLevels.h) does not list.
Status findNeeds(std::span<const uint32_t> words, int64_t subgroup, VulkanVariant &variant);

} // namespace heddle
