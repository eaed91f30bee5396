//===- PhysicalDevice.h - What a Vulkan device offers -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, limits, features and memory types of a device, limits and features masked
// as HEDDLE_VULKAN_LIMITS says.
#pragma once

#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/Program.h"

#include <optional>
#include <volk.h>

namespace heddle::vulkan {

class PhysicalDevice {
public:
  static Expected<PhysicalDevice> query(VkPhysicalDevice device);

  VkPhysicalDevice handle() const { return device; }
  VulkanDeviceInfo info() const;
  const VulkanLimits &limits() const { return masked; }
  const VkPhysicalDeviceLimits &allLimits() const { return properties.limits; }
  int64_t maxAllocation() const {
    return static_cast<int64_t>(maintenance.maxMemoryAllocationSize);
  }
  /// The features that a kernel may need and this device has.
  const VkPhysicalDeviceFeatures &features() const { return offered; }
  /// What a variant needs and this device lacks, for people: "shaderInt64"; empty: nothing.
  std::string lacks(const VulkanVariant &variant) const;
  /// Offsets of descriptors and windows are multiples of it.
  int64_t windowAlignment() const;
  /// Family of a queue that computes.
  std::optional<uint32_t> queueFamily() const { return family; }
  /// Index of a memory type among `allowed` with all of `flags`.
  std::optional<uint32_t> memoryType(uint32_t allowed, VkMemoryPropertyFlags flags) const;
  /// The host reads and writes device memory in place.
  bool unifiedMemory() const;
  /// Text that differs wherever compiled pipelines may differ.
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
  bool staging = false; ///< staging=1: as if the host could not reach device memory
};

} // namespace heddle::vulkan
