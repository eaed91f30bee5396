//===- LogicalDevice.cpp - An opened Vulkan device --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enables the optional features that kernels may use, where the device offers them,
// and no extensions.
#include "LogicalDevice.h"

#include "heddle/Support/Try.h"

namespace heddle::vulkan {

Expected<std::unique_ptr<LogicalDevice>> LogicalDevice::open(int number) {
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
  std::unique_ptr<LogicalDevice> opened(
      new LogicalDevice(std::move(instance), std::move(hardware)));
  HEDDLE_TRY(opened->create());
  return opened;
}

Status LogicalDevice::create() {
  float priority = 1;
  VkDeviceQueueCreateInfo queueInfo{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queueInfo.queueFamilyIndex = *hardware.queueFamily();
  queueInfo.queueCount = 1;
  queueInfo.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queueInfo;
  info.pEnabledFeatures = &hardware.features();
  HEDDLE_TRY(checked("opening " + hardware.info().name,
                     vkCreateDevice(hardware.handle(), &info, nullptr, &device)));
  volkLoadDeviceTable(&table, device);
  table.vkGetDeviceQueue(device, *hardware.queueFamily(), 0, &queue);
  return {};
}

LogicalDevice::~LogicalDevice() {
  if (!device)
    return;
  table.vkDeviceWaitIdle(device);
  table.vkDestroyDevice(device, nullptr);
}

VkResult LogicalDevice::submit(VkCommandBuffer commands, VkFence fence) const {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  std::lock_guard guard(queueLock);
  return table.vkQueueSubmit(queue, 1, &info, fence);
}

} // namespace heddle::vulkan
