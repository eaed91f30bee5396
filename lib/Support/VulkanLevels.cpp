//===- VulkanLevels.cpp - Requirements of Vulkan levels -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of levels. Rows depend on what devices offer, never on a vendor's name.

#include "heddle/Support/VulkanLevels.h"

namespace heddle {

static std::vector<std::string> with(std::vector<std::string> features,
                                     std::initializer_list<const char *> more) {
  features.insert(features.end(), more.begin(), more.end());
  return features;
}

/// Products of 16-bit floats into f32 and of codes into i32, each with its own depth.
static std::vector<MatrixShape> shapes(int64_t m, int64_t n, int64_t floats, int64_t codes) {
  return {{m, n, floats, DType::F16, DType::F32},
          {m, n, floats, DType::BF16, DType::F32},
          {m, n, codes, DType::I8, DType::I32}};
}

const std::vector<VulkanLevel> &vulkanLevels() {
  constexpr int64_t kib = 1024;
  static const std::vector<std::string> subgroups = {"subgroupBasic", "subgroupVote",
                                                     "subgroupArithmetic", "subgroupBallot",
                                                     "subgroupShuffle"},
                                        matrices = with(subgroups,
                                                        {"vulkanMemoryModel", "cooperativeMatrix"});
  static const std::vector<VulkanLevel> levels = {
      // Level 0: every device of Vulkan 1.1.
      {.level = 0, .sharedBytes = 16 * kib, .invocations = 128},
      // Level 1: tiles of a workgroup, subgroup operations, and packed dot products if the device
      // has an instruction for them. Emulated ones are slower than f32.
      {.level = 1, .sharedBytes = 32 * kib, .invocations = 256, .features = subgroups},
      {.level = 1,
       .form = "dot",
       .sharedBytes = 32 * kib,
       .invocations = 256,
       .features = with(subgroups, {"shaderIntegerDotProduct",
                                    "integerDotProduct4x8BitPackedSignedAccelerated"})},
      // Level 2: cooperative matrices, by shape.
      {.level = 2,
       .form = "8x8x8",
       .sharedBytes = 32 * kib,
       .invocations = 256,
       .subgroup = 8,
       .features = matrices,
       .matrices = shapes(8, 8, 8, 8)},
      {.level = 2,
       .form = "8x16x16",
       .sharedBytes = 32 * kib,
       .invocations = 256,
       .subgroup = 16,
       .features = matrices,
       .matrices = shapes(8, 16, 16, 32)},
      {.level = 2,
       .form = "16x16x32",
       .sharedBytes = 48 * kib,
       .invocations = 256,
       .subgroup = 32,
       .features = matrices,
       .matrices = {{16, 16, 32, DType::I8, DType::I32}}},
      {.level = 2,
       .form = "16x16x16",
       .sharedBytes = 48 * kib,
       .invocations = 256,
       .subgroup = 32,
       .features = matrices,
       .matrices = shapes(16, 16, 16, 16)},
  };
  return levels;
}

std::string matrixText(const MatrixShape &shape) {
  auto text = [](int64_t size) { return std::to_string(size); };
  return toString(shape.operands) + (" " + text(shape.m)) + "x" + text(shape.n) + "x" +
         text(shape.k);
}

} // namespace heddle
