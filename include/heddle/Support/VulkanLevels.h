//===- VulkanLevels.h - What levels of Vulkan devices need ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Levels of Vulkan devices as data, for the compiler (Target/GpuTarget.h adds how
// their kernels are written) and for the runtime, which finds the level of a device.
// docs/gpu.md describes them. Level 3, VK_NV_cooperative_matrix2, has no row: MLIR
// has none of its operations.
#pragma once

#include "heddle/Support/Program.h"

namespace heddle {

/// Something beyond Vulkan 1.1 that a kernel may need, by Vulkan's name of the feature or property;
/// operations of subgroups are called `subgroup…` after VK_SUBGROUP_FEATURE_…_BIT, in compute
/// shaders. A module that declares `capability` of SPIR-V needs it.
struct VulkanNeed {
  std::string_view name;
  uint32_t capability;
};
inline constexpr VulkanNeed vulkanNeeds[] = {
    {"shaderFloat64", 10},
    {"shaderInt64", 11},
    {"shaderInt16", 22},
    {"shaderFloat16", 9},
    {"shaderInt8", 39},
    {"subgroupBasic", 61},
    {"subgroupVote", 62},
    {"subgroupArithmetic", 63},
    {"subgroupBallot", 64},
    {"subgroupShuffle", 65},
    {"subgroupShuffleRelative", 66},
    {"subgroupClustered", 67},
    {"vulkanMemoryModel", 5345},
    {"integerDotProduct4x8BitPackedSignedAccelerated", 6018},
    {"shaderIntegerDotProduct", 6019},
    {"cooperativeMatrix", 6022},
    {"shaderBFloat16Type", 5116},
    {"shaderBFloat16CooperativeMatrix", 5118},
};

/// Every device's subgroups have as many invocations; more are a need of this name: "subgroupSize16", met
/// by subgroups of any size from that on.
inline constexpr int64_t leastSubgroup = 4;
inline std::string subgroupSizeNeed(int64_t invocations) {
  return "subgroupSize" + std::to_string(invocations);
}

/// A way to run a level: what its kernels may rely on. A device that offers all of it, and one of
/// the matrix shapes where there are any, has the level; a kernel needs only what it uses.
struct VulkanLevel {
  int level = 0;
  std::string form = {};                  ///< tells the ways of a level apart: "dot", "16x16x16"
  int64_t sharedBytes = 0;                ///< of a workgroup
  int64_t invocations = 0;                ///< of a workgroup
  int64_t subgroup = 0;                   ///< size that kernels with subgroups rely on; 0: any
  std::vector<std::string> features = {}; ///< names of vulkanNeeds
  std::vector<MatrixShape> matrices = {};

  /// "0", "1-dot": in names of members and options of passes.
  std::string name() const { return std::to_string(level) + (form.empty() ? "" : "-" + form); }
};

/// All levels, the lowest first; of the ways of one level a device takes the last that it can.
const std::vector<VulkanLevel> &vulkanLevels();

inline bool operator==(const MatrixShape &a, const MatrixShape &b) {
  return a.fields() == b.fields();
}
/// "f16 16x16x16": the type of the operands, rows, columns, and products of a sum.
std::string matrixText(const MatrixShape &shape);

} // namespace heddle
