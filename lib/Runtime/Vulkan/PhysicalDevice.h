//===- PhysicalDevice.h - Properties of a Vulkan device ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, limits, features and memory types. HEDDLE_VULKAN_LIMITS lowers limits and
// turns features off.
#pragma once

#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/Program.h"

#include <optional>
#include <volk.h>

namespace heddle::vulkan {

/// Properties of a VkPhysicalDevice, queried once.
class PhysicalDevice {
public:
  /// Usage error for a bad HEDDLE_VULKAN_LIMITS.
  static Expected<PhysicalDevice> query(VkPhysicalDevice device);

  VkPhysicalDevice handle() const { return device; }
  VulkanDeviceInfo info() const;
  const VulkanLimits &limits() const { return masked; }
  const VkPhysicalDeviceLimits &allLimits() const { return properties.limits; }
  int64_t maxAllocation() const {
    return static_cast<int64_t>(maintenance.maxMemoryAllocationSize);
  }
  /// Features to enable: all that kernels may need and the device has.
  const VkPhysicalDeviceFeatures &features() const { return offered; }
  /// First feature that a variant needs and this device lacks: "shaderInt64"; empty if none.
  std::string lacks(const VulkanVariant &variant) const;
  /// Whether instructions on f16 keep denormals.
  bool keepsHalves() const { return halvesKept; }
  /// Alignment of offsets in descriptors, in bytes.
  int64_t windowAlignment() const;
  /// First queue family with compute support.
  std::optional<uint32_t> queueFamily() const { return family; }
  /// Index of a memory type among `allowed` with all of `flags`.
  std::optional<uint32_t> memoryType(uint32_t allowed, VkMemoryPropertyFlags flags) const;
  /// Whether the host reads and writes device memory in place.
  bool unifiedMemory() const;
  /// Key of compiled pipelines: device, driver version and driver build.
  std::string cacheKey() const;

private:
  explicit PhysicalDevice(VkPhysicalDevice device) : device(device) {}
  Status applyMask(std::string_view mask);

  VkPhysicalDevice device;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceIDProperties identity{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties maintenance{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroups{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceFeatures offered{};
  VkPhysicalDeviceMemoryProperties memory{};
  std::optional<uint32_t> family;
  VulkanLimits masked;
  bool halvesKept = false;
  bool staging = false; ///< staging=1: as if the host could not reach device memory
};

} // namespace heddle::vulkan
