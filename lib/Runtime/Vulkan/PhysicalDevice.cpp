//===- PhysicalDevice.cpp - Properties of a Vulkan device -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries of a physical device. They use Vulkan 1.1; for an older device only properties of 1.0 are
// read.
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

static std::optional<uint32_t> computeFamily(VkPhysicalDevice device, uint32_t &clockBits) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i)
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
      clockBits = families[i].timestampValidBits;
      return i;
    }
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

/// Whether instructions on f16 keep denormals. Drivers that can keep them do so unless a kernel
/// requests otherwise.
static bool keepsDenormalHalves(VkPhysicalDevice device, uint32_t version,
                                const Capabilities &offered) {
  if (version < VK_API_VERSION_1_2 &&
      !offered.hasExtension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME))
    return false;
  VkPhysicalDeviceFloatControlsProperties controls{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  all.pNext = &controls;
  vkGetPhysicalDeviceProperties2(device, &all);
  return controls.shaderDenormPreserveFloat16;
}

/// HEDDLE_VULKAN_LEVEL, the level of sessions that request none; none if it is not set.
static Expected<std::optional<int>> levelOfEnvironment() {
  const char *text = std::getenv("HEDDLE_VULKAN_LEVEL");
  if (!text)
    return std::optional<int>();
  int level = 0;
  std::string_view digits = text;
  auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (failure != std::errc() || end != digits.data() + digits.size() || level < 0)
    return usageError("HEDDLE_VULKAN_LEVEL: expected a number of at least 0, found " +
                      quotedText(digits));
  return std::optional<int>(level);
}

Expected<std::optional<int>> PhysicalDevice::levelAsked(std::optional<int> wanted) {
  if (wanted)
    return wanted;
  return levelOfEnvironment();
}

Expected<int> PhysicalDevice::chooseLevel(std::optional<int> wanted) const {
  int highest = highestLevel(offered, masked);
  if (!wanted)
    return isSoftware() ? 0 : highest;
  if (*wanted >= 0 && *wanted <= highest)
    return *wanted;
  return inputError("vulkan: " + info().name + ": expected a level of " +
                    (highest ? "0 to " + std::to_string(highest) : "0") + ", found " +
                    std::to_string(*wanted) +
                    (*wanted < 0 ? "" : ": " + whyNot(highest + 1, offered, masked)));
}

Expected<PhysicalDevice> PhysicalDevice::query(VkPhysicalDevice handle) {
  PhysicalDevice device(handle);
  vkGetPhysicalDeviceProperties(handle, &device.properties);
  device.masked = limitsOf(device.properties.limits);
  if (device.properties.apiVersion >= VK_API_VERSION_1_1) {
    VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    all.pNext = &device.identity;
    device.identity.pNext = &device.maintenance;
    vkGetPhysicalDeviceProperties2(handle, &all);
    device.identity.pNext = device.maintenance.pNext = nullptr; // the object may move
    device.offered = Capabilities::of(handle);
    device.halvesKept = keepsDenormalHalves(handle, device.properties.apiVersion, device.offered);
    vkGetPhysicalDeviceMemoryProperties(handle, &device.memory);
    device.family = computeFamily(handle, device.familyClock);
  }
  if (const char *mask = std::getenv("HEDDLE_VULKAN_LIMITS"))
    HEDDLE_TRY(device.applyMask(mask));
  return device;
}

/// Lowers the limits to `mask`: "minimum" or "name=value,…".
Status PhysicalDevice::applyMask(std::string_view mask) {
  if (mask == "minimum") {
    offered.clear();
    halvesKept = false;
    mask = "shared=16384,invocations=128,range=134217728,buffers=4,groups=65535";
  }
  while (!mask.empty()) {
    std::string_view item = mask.substr(0, mask.find(','));
    mask.remove_prefix(std::min(mask.size(), item.size() + 1));
    HEDDLE_TRY(applyItem(item));
  }
  if (dotsTaken)
    offered.takeDots();
  return {};
}

/// Applies one `name=value`.
Status PhysicalDevice::applyItem(std::string_view item) {
  const std::pair<std::string_view, int64_t *> limits[] = {{"shared", &masked.sharedBytes},
                                                           {"invocations", &masked.invocations},
                                                           {"range", &masked.storageRange},
                                                           {"buffers", &masked.storageBuffers},
                                                           {"groups", &masked.groupCount}};
  const std::pair<std::string_view, bool *> switches[] = {
      {"staging", &staging}, {"halves", &halvesKept}, {"dots", &dotsTaken}};
  size_t equals = std::min(item.find('='), item.size());
  std::string_view name = item.substr(0, equals),
                   text = item.substr(std::min(item.size(), equals + 1));
  int64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  auto isNamed = [&](const auto &known) { return known.first == name; };
  bool isNumber = failure == std::errc() && end == text.data() + text.size() && value >= 1;
  if (auto limit = std::ranges::find_if(limits, isNamed); isNumber && limit != std::end(limits))
    *limit->second = std::min(*limit->second, value);
  else if (auto turned = std::ranges::find_if(switches, isNamed);
           isNumber && turned != std::end(switches))
    *turned->second = true;
  else if (isNumber && name == "memory")
    masked.memory = value;
  else if (isNumber && name == "lost")
    submitted = value - 1;
  else
    return usageError("HEDDLE_VULKAN_LIMITS: expected minimum or name=value, found " +
                      quotedText(item));
  return {};
}

VulkanDeviceInfo PhysicalDevice::info() const {
  VulkanDeviceInfo info;
  info.name = properties.deviceName;
  info.driver = versionText(properties.driverVersion);
  info.apiVersion = versionText(properties.apiVersion);
  info.limits = masked;
  info.usable = properties.apiVersion >= VK_API_VERSION_1_1 && family.has_value();
  info.isSoftware = isSoftware();
  info.highest = highestLevel(offered, masked);
  info.level = info.isSoftware ? 0 : info.highest;
  info.beyond =
      info.highest < vulkanLevels().back().level ? whyNot(info.highest + 1, offered, masked) : "";
  info.subgroups = offered.subgroups();
  info.matrices = offered.matrices();
  info.dots = offered.dots();
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
