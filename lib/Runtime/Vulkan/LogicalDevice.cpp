//===- LogicalDevice.cpp - An opened Vulkan device --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a device. Enables only the optional features that the program's kernels may use, if the
// device offers them, and their extensions.
#include "LogicalDevice.h"

#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle::vulkan {

Expected<std::unique_ptr<LogicalDevice>> LogicalDevice::open(int number, DeviceUse use) {
  auto instance = HEDDLE_TRY(Instance::create());
  std::vector<VkPhysicalDevice> all = instance->physicalDevices();
  if (all.empty())
    return noDriver("there is no device");
  if (static_cast<size_t>(number) >= all.size())
    return inputError("vulkan: expected a device number below " + std::to_string(all.size()) +
                      ", found " + std::to_string(number));
  auto hardware = HEDDLE_TRY(PhysicalDevice::query(all[number]));
  if (VulkanDeviceInfo info = hardware.info(); !info.usable)
    return inputError("vulkan: " + info.name +
                      ": expected Vulkan 1.1 and a compute queue, found Vulkan " + info.apiVersion);
  auto asked = HEDDLE_TRY(PhysicalDevice::levelAsked(use.level));
  use.level = HEDDLE_TRY(hardware.chooseLevel(asked));
  const bool takesFewRows = asked || !hardware.isSoftware();
  if (use.statistics && !hardware.capabilities().has("pipelineExecutableInfo"))
    return inputError("vulkan: " + hardware.info().name + ": expected a driver with " +
                      VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME + ", found none");
  std::unique_ptr<LogicalDevice> opened(
      new LogicalDevice(std::move(instance), std::move(hardware), std::move(use)));
  opened->fewRows = takesFewRows;
  HEDDLE_TRY(opened->create());
  return opened;
}

Status LogicalDevice::create() {
  float priority = 1;
  VkDeviceQueueCreateInfo queueInfo{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queueInfo.queueFamilyIndex = *hardware.queueFamily();
  queueInfo.queueCount = 1;
  queueInfo.pQueuePriorities = &priority;
  if (use.statistics)
    use.features.emplace("pipelineExecutableInfo");
  Names wanted;
  std::ranges::copy_if(use.features, std::inserter(wanted, wanted.end()),
                       [&](const std::string &name) { return hardware.capabilities().has(name); });
  DeviceFeatures features = hardware.capabilities().features().only(wanted);
  std::vector<const char *> extensions = features.extensions();
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, features.chain()};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queueInfo;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  HEDDLE_TRY(checked("opening " + hardware.info().name,
                     vkCreateDevice(hardware.handle(), &info, nullptr, &device)));
  volkLoadDeviceTable(&table, device);
  table.vkGetDeviceQueue(device, *hardware.queueFamily(), 0, &queue);
  return {};
}

/// Whether this is Mesa's null hardware, which only compiles and crashes when it is destroyed.
static bool isNullHardware(const PhysicalDevice &hardware) {
  return hardware.info().name.starts_with("Null hardware");
}

LogicalDevice::~LogicalDevice() {
  if (!device || isNullHardware(hardware))
    return;
  table.vkDeviceWaitIdle(device);
  table.vkDestroyDevice(device, nullptr);
}

VkResult LogicalDevice::submit(std::span<const VkCommandBuffer> commands, VkFence fence) const {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = static_cast<uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();
  std::lock_guard guard(queueLock);
  if (hardware.submissions() && submissions++ >= *hardware.submissions())
    return VK_ERROR_DEVICE_LOST;
  return table.vkQueueSubmit(queue, 1, &info, fence);
}

void LogicalDevice::waitIdle() const {
  std::lock_guard guard(queueLock);
  table.vkDeviceWaitIdle(device);
}

VkResult LogicalDevice::allocate(const VkMemoryAllocateInfo &info, VkDeviceMemory &memory) const {
  auto bytes = static_cast<int64_t>(info.allocationSize);
  if (int64_t limit = hardware.limits().memory; limit && allocated + bytes > limit)
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  VkResult result = table.vkAllocateMemory(device, &info, nullptr, &memory);
  if (result == VK_SUCCESS)
    allocated += bytes;
  return result;
}

void LogicalDevice::free(VkDeviceMemory memory, int64_t bytes) const {
  table.vkFreeMemory(device, memory, nullptr);
  allocated -= bytes;
}

} // namespace heddle::vulkan
