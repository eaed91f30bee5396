//===- ProbeKernels.h - Kernels that reach peak rates -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel per type of operands, with a variant for each way in which compiled kernels multiply.
// The device chooses between variants as it does for compiled kernels. Needs are derived from the
// SPIR-V words, as in the compiler.
#pragma once

#include "heddle/Support/Program.h"

namespace heddle {

/// SPIR-V of a variant and its amount of work.
struct ProbeCode {
  VulkanVariant variant;
  std::vector<uint32_t> words;
  int64_t groupFlops = 0; ///< operations of a workgroup; a multiply-add counts as two
  std::string way;        ///< description for reports: "packed products"
};

/// A kernel with its variants.
struct ProbeKernel {
  std::string name;
  std::vector<ProbeCode> codes; ///< in the order of vulkanLevels()
  Kernel kernel() const;
};

/// Size in vec4s of half the buffer. Multiplying kernels write to the first half, from which the
/// copy kernel copies to the second.
inline constexpr uint32_t probedHalf = 64 * 32768;
inline constexpr int64_t copyGroups = 32768;

ProbeKernel copyKernel();
/// Returns a kernel that multiplies operands of `type`. f32 uses multiply-adds; so do other types
/// on devices that support none of their variants.
Expected<ProbeKernel> multiplyKernel(DType type);

} // namespace heddle
