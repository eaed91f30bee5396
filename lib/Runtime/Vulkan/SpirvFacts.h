//===- SpirvFacts.h - Resource use of a SPIR-V module -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory and workgroup size, to be compared with the device's limits before
// a driver sees the module.
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <span>

namespace heddle::vulkan {

/// Resources of a module with one entry point.
struct SpirvFacts {
  int64_t sharedBytes = 0; ///< of all variables in Workgroup storage
  int64_t invocations = 1; ///< of a workgroup
};

/// Reads a module; an error if its instruction lengths do not add up.
Expected<SpirvFacts> readSpirvFacts(std::span<const uint32_t> words);

} // namespace heddle::vulkan
