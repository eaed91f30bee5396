//===- DeviceFeatures.h - Optional features of a device ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device features by Vulkan's names. Vulkan spreads features over structures, one per extension,
// which are chained for the device to fill or to enable.
#pragma once

#include "NewerVulkan.h"

#include <set>
#include <string>
#include <vector>

namespace heddle::vulkan {

/// Names of features or extensions.
using Names = std::set<std::string, std::less<>>;

/// Extensions that a device offers.
Names extensionsOf(VkPhysicalDevice device);

/// Set of enabled features: the features that a device offers, or those to enable.
class DeviceFeatures {
public:
  /// All known features that `device` offers.
  static DeviceFeatures offeredBy(VkPhysicalDevice device, const Names &extensions);
  /// The intersection with `wanted`.
  DeviceFeatures only(const Names &wanted) const;
  Names names() const;
  /// Extensions of the enabled features.
  std::vector<const char *> extensions() const;
  /// Chain of all structures with an enabled feature, valid until this object moves.
  const VkPhysicalDeviceFeatures2 *chain();

  /// The structures of features, one per extension.
  struct Structures {
    VkPhysicalDeviceFeatures core{};
    VkPhysicalDeviceShaderFloat16Int8Features small{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    VkPhysicalDeviceVulkanMemoryModelFeatures memoryModel{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dots{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, nullptr, 0, 0};
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR, nullptr, 0, 0, 0};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
  };

private:
  void link(const Names &extensions);

  VkPhysicalDeviceFeatures2 head{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  Structures all;
};

} // namespace heddle::vulkan
