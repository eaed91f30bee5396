//===- LogicalDevice.h - An opened Vulkan device ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device, its functions and its one compute queue.
#pragma once

#include "Instance.h"
#include "PhysicalDevice.h"

namespace heddle::vulkan {

/// A VkDevice, shared by sessions; `submit` is safe for several threads.
class LogicalDevice {
public:
  /// Opens device `number` in the loader's order; an input error if there is none or if it lacks
  /// Vulkan 1.1 or a compute queue.
  static Expected<std::unique_ptr<LogicalDevice>> open(int number);
  ~LogicalDevice();
  LogicalDevice(const LogicalDevice &) = delete;
  LogicalDevice &operator=(const LogicalDevice &) = delete;

  VkDevice handle() const { return device; }
  const VolkDeviceTable &functions() const { return table; }
  const PhysicalDevice &physical() const { return hardware; }
  const Instance &instance() const { return *owner; }
  /// Submits to the queue, which sessions share; `fence` is signalled at the end.
  VkResult submit(VkCommandBuffer commands, VkFence fence) const;

private:
  LogicalDevice(std::unique_ptr<Instance> owner, PhysicalDevice hardware)
      : owner(std::move(owner)), hardware(std::move(hardware)) {}
  Status create();

  std::unique_ptr<Instance> owner;
  PhysicalDevice hardware;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VolkDeviceTable table{};
  mutable std::mutex queueLock;
};

} // namespace heddle::vulkan
