//===- SpirvFacts.h - What a SPIR-V module uses -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read from a module's words: the runtime compares them with a device's limits before
// a driver sees the module, the compiler writes down what a kernel needs.
#pragma once

#include "heddle/Support/Program.h"

#include <set>

namespace heddle {

/// Resources of a module with one entry point.
struct SpirvFacts {
  int64_t sharedBytes = 0;           ///< of all variables in Workgroup storage
  int64_t invocations = 1;           ///< of a workgroup
  std::set<uint32_t> capabilities;   ///< declared ones, by SPIR-V's numbers
  std::vector<MatrixShape> matrices; ///< products that types of cooperative matrices fit
  int64_t subgroup = 1;              ///< invocations within which numbers are exchanged, at least
};

/// Reads a module; an error if its instruction lengths do not add up.
Expected<SpirvFacts> readSpirvFacts(std::span<const uint32_t> words);

/// Fills a variant's needs, `features` and `matrices`, from its module's words, and its `subgroup`
/// with `subgroup` where the module has operations of subgroups; where any size will do, features name the
/// least that does. Error for a capability that
/// vulkanNeeds (VulkanLevels.h) does not know.
Status findNeeds(std::span<const uint32_t> words, int64_t subgroup, VulkanVariant &variant);

} // namespace heddle
