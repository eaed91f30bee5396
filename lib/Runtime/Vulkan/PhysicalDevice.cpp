//===- PhysicalDevice.cpp - Properties of a Vulkan device -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries use Vulkan 1.1; for an older device only properties of 1.0 are read.
#include "PhysicalDevice.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

namespace heddle::vulkan {

static std::string versionText(uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
         std::to_string(VK_API_VERSION_MINOR(version)) + "." +
         std::to_string(VK_API_VERSION_PATCH(version));
}

static std::optional<uint32_t> computeFamily(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i)
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)
      return i;
  return std::nullopt;
}

static VulkanLimits limitsOf(const VkPhysicalDeviceLimits &from) {
  VulkanLimits limits;
  limits.sharedBytes = from.maxComputeSharedMemorySize;
  limits.invocations = from.maxComputeWorkGroupInvocations;
  limits.storageRange = from.maxStorageBufferRange;
  limits.storageBuffers =
      std::min(from.maxPerStageDescriptorStorageBuffers, from.maxDescriptorSetStorageBuffers);
  limits.groupCount = *std::min_element(std::begin(from.maxComputeWorkGroupCount),
                                        std::end(from.maxComputeWorkGroupCount));
  return limits;
}

static bool hasExtension(VkPhysicalDevice device, std::string_view name) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
  return std::ranges::any_of(extensions, [&](const VkExtensionProperties &extension) {
    return name == extension.extensionName;
  });
}

/// Features that a kernel may need, by their names in artifacts. Any other name counts as lacking.
static constexpr std::pair<std::string_view, VkBool32 VkPhysicalDeviceFeatures::*> knownFeatures[] =
    {{"shaderFloat64", &VkPhysicalDeviceFeatures::shaderFloat64},
     {"shaderInt64", &VkPhysicalDeviceFeatures::shaderInt64},
     {"shaderInt16", &VkPhysicalDeviceFeatures::shaderInt16}};

static VkPhysicalDeviceFeatures featuresOf(VkPhysicalDevice device) {
  VkPhysicalDeviceFeatures all{}, known{};
  vkGetPhysicalDeviceFeatures(device, &all);
  for (auto [name, feature] : knownFeatures)
    known.*feature = all.*feature;
  return known;
}

/// Drivers that can keep denormals of f16 do so unless a kernel asks otherwise.
static bool keepsDenormalHalves(VkPhysicalDevice device, uint32_t version) {
  if (version < VK_API_VERSION_1_2 &&
      !hasExtension(device, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME))
    return false;
  VkPhysicalDeviceFloatControlsProperties controls{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  all.pNext = &controls;
  vkGetPhysicalDeviceProperties2(device, &all);
  return controls.shaderDenormPreserveFloat16;
}

std::string PhysicalDevice::lacks(const VulkanVariant &variant) const {
  for (const std::string &needed : variant.features) {
    auto known = std::ranges::find(knownFeatures, needed, [](const auto &f) { return f.first; });
    if (known == std::end(knownFeatures) || !(offered.*known->second))
      return needed;
  }
  if (variant.subgroup && variant.subgroup != subgroups.subgroupSize)
    return "subgroups of " + std::to_string(variant.subgroup);
  if (!variant.matrices.empty()) // cooperative matrix properties are not queried yet
    return "products of matrices";
  return {};
}

Expected<PhysicalDevice> PhysicalDevice::query(VkPhysicalDevice handle) {
  PhysicalDevice device(handle);
  vkGetPhysicalDeviceProperties(handle, &device.properties);
  device.masked = limitsOf(device.properties.limits);
  if (device.properties.apiVersion >= VK_API_VERSION_1_1) {
    VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    all.pNext = &device.identity;
    device.identity.pNext = &device.maintenance;
    device.maintenance.pNext = &device.subgroups;
    vkGetPhysicalDeviceProperties2(handle, &all);
    device.identity.pNext = device.maintenance.pNext = nullptr; // the object may move
    device.offered = featuresOf(handle);
    device.halvesKept = keepsDenormalHalves(handle, device.properties.apiVersion);
    vkGetPhysicalDeviceMemoryProperties(handle, &device.memory);
    device.family = computeFamily(handle);
  }
  if (const char *mask = std::getenv("HEDDLE_VULKAN_LIMITS"))
    HEDDLE_TRY(device.applyMask(mask));
  return device;
}

/// Lowers the limits to `mask`: "minimum" or "name=value,…".
Status PhysicalDevice::applyMask(std::string_view mask) {
  if (mask == "minimum") {
    offered = {};
    halvesKept = false;
    mask = "shared=16384,invocations=128,range=134217728,buffers=4,groups=65535";
  }
  const std::pair<std::string_view, int64_t *> names[] = {{"shared", &masked.sharedBytes},
                                                          {"invocations", &masked.invocations},
                                                          {"range", &masked.storageRange},
                                                          {"buffers", &masked.storageBuffers},
                                                          {"groups", &masked.groupCount}};
  const std::pair<std::string_view, bool *> switches[] = {{"staging", &staging},
                                                          {"halves", &halvesKept}};
  while (!mask.empty()) {
    std::string_view item = mask.substr(0, mask.find(','));
    mask.remove_prefix(std::min(mask.size(), item.size() + 1));
    size_t equals = std::min(item.find('='), item.size());
    std::string_view name = item.substr(0, equals),
                     text = item.substr(std::min(item.size(), equals + 1));
    int64_t value = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    auto isNamed = [&](const auto &n) { return n.first == name; };
    auto known = std::ranges::find_if(names, isNamed);
    auto turned = std::ranges::find_if(switches, isNamed);
    if (failure != std::errc() || end != text.data() + text.size() || value < 1 ||
        (known == std::end(names) && turned == std::end(switches)))
      return usageError("HEDDLE_VULKAN_LIMITS: expected minimum or name=value, found " +
                        quotedText(item));
    if (turned != std::end(switches))
      *turned->second = true;
    else
      *known->second = std::min(*known->second, value);
  }
  return {};
}

VulkanDeviceInfo PhysicalDevice::info() const {
  VulkanDeviceInfo info;
  info.name = properties.deviceName;
  info.driver = versionText(properties.driverVersion);
  info.apiVersion = versionText(properties.apiVersion);
  info.limits = masked;
  info.usable = properties.apiVersion >= VK_API_VERSION_1_1 && family.has_value();
  return info;
}

int64_t PhysicalDevice::windowAlignment() const {
  // At least 16 bytes: kernels address a window in vec4.
  return std::max<int64_t>(16,
                           static_cast<int64_t>(properties.limits.minStorageBufferOffsetAlignment));
}

std::optional<uint32_t> PhysicalDevice::memoryType(uint32_t allowed,
                                                   VkMemoryPropertyFlags flags) const {
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if ((allowed >> i & 1) && (memory.memoryTypes[i].propertyFlags & flags) == flags)
      return i;
  return std::nullopt;
}

bool PhysicalDevice::unifiedMemory() const {
  // Device memory without HOST_CACHED (a discrete card's BAR) is slow to read: staging is faster.
  constexpr VkMemoryPropertyFlags all =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  return !staging && memoryType(~0u, all).has_value();
}

std::string PhysicalDevice::cacheKey() const {
  std::string text;
  auto append = [&](const uint8_t *bytes, size_t count) {
    constexpr char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; ++i)
      text += {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
  };
  append(identity.deviceUUID, VK_UUID_SIZE);
  text += "-" + std::to_string(properties.driverVersion) + "-";
  append(properties.pipelineCacheUUID, 8); // differs between builds of one driver version
  return text;
}

} // namespace heddle::vulkan
