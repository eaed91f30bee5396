//===- ProbeKernels.h - Loops that reach a device's rates -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel for each type that compiled kernels multiply, with a variant for each way
// that those have: a device takes of both the same. Needs are read from the words, as
// the compiler does.
#pragma once

#include "heddle/Support/Program.h"

namespace heddle {

/// A variant's code and what it does.
struct ProbeCode {
  VulkanVariant variant;
  std::vector<uint32_t> words;
  int64_t groupFlops = 0; ///< operations of a workgroup, a multiply-add being two
  std::string way;        ///< of multiplying, for reports: "packed products"
};

struct ProbeKernel {
  std::string name;
  std::vector<ProbeCode> codes; ///< in the order of vulkanLevels()
  Kernel kernel() const;
};

/// vec4s of the memory: kernels that multiply write to its first half, the copy takes them to the second one.
inline constexpr uint32_t probedHalf = 64 * 32768;
inline constexpr int64_t copyGroups = 32768;

ProbeKernel copyKernel();
/// Multiplies numbers of the type: f32 by multiply-adds, which serve the others where no variant of theirs can.
Expected<ProbeKernel> multiplyKernel(DType type);

} // namespace heddle
