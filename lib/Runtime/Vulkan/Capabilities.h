//===- Capabilities.h - Optional capabilities of a device -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capabilities that decide which level a device has and which variants it can run: features,
// subgroup operations and sizes, packed dot products, matrix shapes.
#pragma once

#include "DeviceFeatures.h"

#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/VulkanLevels.h"

namespace heddle::vulkan {

/// Capabilities of a device, queried once.
class Capabilities {
public:
  Capabilities() = default; ///< capabilities of the smallest device: nothing
  static Capabilities of(VkPhysicalDevice device);

  const DeviceFeatures &features() const { return known; }
  bool has(std::string_view need) const { return names.contains(need); }
  bool hasExtension(std::string_view name) const { return extensions.contains(name); }
  const VulkanSubgroups &subgroups() const { return sizes; }
  const std::vector<MatrixShape> &matrices() const { return shapes; }
  VulkanDots dots() const;
  /// Requirements of a variant that the device does not meet, as text: "shaderInt64", "subgroups of
  /// 32".
  std::vector<std::string> lacks(const VulkanVariant &variant) const;
  /// Requirements that the device does not meet of one way to run a level.
  std::vector<std::string> lacks(const VulkanLevel &way, const VulkanLimits &limits) const;
  /// Turns everything optional off.
  void clear();
  /// Treats packed dot products as accelerated if the device offers them at all.
  void takeDots();

private:
  void addSubgroups(VkPhysicalDevice device);
  void addDots(VkPhysicalDevice device);
  void addMatrices(VkPhysicalDevice device);
  bool runsSubgroupsOf(int64_t size) const;
  std::vector<std::string> lacks(const std::vector<std::string> &features, int64_t subgroup) const;

  Names extensions;
  DeviceFeatures known;
  Names names; ///< names of VulkanLevels.h, and of features that the runtime itself uses
  VulkanSubgroups sizes;
  std::vector<MatrixShape> shapes;
};

/// Why a device does not have a level: "no cooperativeMatrix", with "or" between the ways to run
/// it. Empty if the device has the level.
std::string whyNot(int level, const Capabilities &capabilities, const VulkanLimits &limits);
/// Highest level that the device has together with all lower levels.
int highestLevel(const Capabilities &capabilities, const VulkanLimits &limits);

} // namespace heddle::vulkan
