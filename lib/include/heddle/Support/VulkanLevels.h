//===- VulkanLevels.h - Requirements of Vulkan levels -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Levels of Vulkan devices as data. The compiler uses them (Target/GpuTarget.h adds how their
// kernels are written), and the runtime finds the level of a device. docs/gpu.md describes them.
// Level 3, VK_NV_cooperative_matrix2, has no row, because MLIR has none of its operations.
#pragma once

#include "heddle/Support/Program.h"

namespace heddle {

/// A requirement beyond Vulkan 1.1, named by Vulkan's feature or property. Subgroup operations are
/// called `subgroup…` after VK_SUBGROUP_FEATURE_…_BIT, in compute shaders. A module that declares
/// SPIR-V's `capability` needs the feature.
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

/// Minimum number of invocations in every device's subgroups. A kernel that needs more requires
/// "subgroupSize16", for example, which subgroups of at least 16 invocations satisfy.
inline constexpr int64_t leastSubgroup = 4;
inline std::string subgroupSizeNeed(int64_t invocations) {
  return "subgroupSize" + std::to_string(invocations);
}

/// One way to run a level: what its kernels may rely on. A device has the level if it offers all of
/// it, including one of the matrix shapes if there are any. A kernel needs only what it uses.
struct VulkanLevel {
  int level = 0;
  std::string form = {};   ///< distinguishes the ways to run a level: "dot", "16x16x16"
  int64_t sharedBytes = 0; ///< of a workgroup
  int64_t invocations = 0; ///< of a workgroup
  int64_t subgroup = 0;    ///< size on which kernels with subgroup operations rely; 0: any
  std::vector<std::string> features = {}; ///< names of vulkanNeeds
  std::vector<MatrixShape> matrices = {};

  /// "0", "1-dot": used in names of members and options of passes.
  std::string name() const { return std::to_string(level) + (form.empty() ? "" : "-" + form); }
};

/// All levels, lowest first. Of several ways to run a level, a device uses the last one that it
/// supports.
const std::vector<VulkanLevel> &vulkanLevels();

inline bool operator==(const MatrixShape &a, const MatrixShape &b) {
  return a.fields() == b.fields();
}
/// Text of a shape, "f16 16x16x16": type of the operands, rows, columns, and products per sum.
std::string matrixText(const MatrixShape &shape);

} // namespace heddle
