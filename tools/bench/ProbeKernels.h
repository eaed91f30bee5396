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

/// Vec4s in the part of the buffer to which multiplying kernels write.
inline constexpr uint32_t probedHalf = 64 * 32768;
/// Vec4s that each invocation of the copying and the reading kernel loads.
inline constexpr uint32_t copyLoads = 4, readLoads = 16;

/// A kernel that copies the first `half` vec4s of the buffer to the next ones.
ProbeKernel copyKernel(uint32_t half = probedHalf);
/// A kernel that reads the first `half` vec4s and writes the sums of readLoads of them each.
ProbeKernel readKernel(uint32_t half = probedHalf);
/// Workgroups of a kernel that loads `half` vec4s.
int64_t groupsOf(uint32_t half, uint32_t loads);
/// Returns a kernel that multiplies operands of `type`. f32 uses multiply-adds; so do other types
/// on devices that support none of their variants.
Expected<ProbeKernel> multiplyKernel(DType type);

} // namespace heddle
