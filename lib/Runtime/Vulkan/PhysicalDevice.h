//===- PhysicalDevice.h - Properties of a Vulkan device ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A physical device: names, limits, features and memory types. HEDDLE_VULKAN_LIMITS lowers limits
// and turns features off.
#pragma once

#include "Capabilities.h"

#include "heddle/Support/Program.h"

#include <optional>
#include <volk.h>

namespace heddle::vulkan {

/// Properties of a VkPhysicalDevice, queried once.
class PhysicalDevice {
public:
  /// Queries a device. Usage error for a bad HEDDLE_VULKAN_LIMITS.
  static Expected<PhysicalDevice> query(VkPhysicalDevice device);

  VkPhysicalDevice handle() const { return device; }
  VulkanDeviceInfo info() const;
  const VulkanLimits &limits() const { return masked; }
  const VkPhysicalDeviceLimits &allLimits() const { return properties.limits; }
  int64_t maxAllocation() const {
    return static_cast<int64_t>(maintenance.maxMemoryAllocationSize);
  }
  const Capabilities &capabilities() const { return offered; }
  /// The requested level: `wanted`, or else HEDDLE_VULKAN_LEVEL if it is set.
  static Expected<std::optional<int>> levelAsked(std::optional<int> wanted);
  /// The level to run: `wanted`, or by default the highest level of the device, or 0 on the
  /// processor, where it is the fastest. Input error if the device lacks `wanted`.
  Expected<int> chooseLevel(std::optional<int> wanted) const;
  /// Number of submissions that succeed before the device is lost, for tests.
  std::optional<int64_t> submissions() const { return submitted; }
  /// Whether instructions on f16 keep denormals.
  bool keepsHalves() const { return halvesKept; }
  /// Alignment of offsets in descriptors, in bytes.
  int64_t windowAlignment() const;
  /// First queue family with compute support.
  std::optional<uint32_t> queueFamily() const { return family; }
  /// Valid bits of the timestamps of queueFamily(); 0: it has no clock.
  uint32_t clockBits() const { return familyClock; }
  /// Index of a memory type among `allowed` with all of `flags`.
  std::optional<uint32_t> memoryType(uint32_t allowed, VkMemoryPropertyFlags flags) const;
  /// Whether the host reads and writes device memory in place.
  bool unifiedMemory() const;
  /// Key of compiled pipelines: device, driver version and driver build.
  std::string cacheKey() const;
  /// Whether the device is the processor.
  bool isSoftware() const { return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }

private:
  explicit PhysicalDevice(VkPhysicalDevice device) : device(device) {}
  Status applyMask(std::string_view mask);
  Status applyItem(std::string_view item);

  VkPhysicalDevice device;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceIDProperties identity{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties maintenance{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  Capabilities offered;
  VkPhysicalDeviceMemoryProperties memory{};
  std::optional<uint32_t> family;
  uint32_t familyClock = 0;
  VulkanLimits masked;
  bool halvesKept = false;
  bool dotsTaken = false; ///< dots=1: packed dot products count as an instruction
  bool staging = false;   ///< staging=1: treats device memory as not accessible from the host
  std::optional<int64_t> submitted; ///< lost=3: the third and later submissions fail as lost
};

} // namespace heddle::vulkan
