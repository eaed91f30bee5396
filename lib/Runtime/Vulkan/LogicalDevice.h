//===- LogicalDevice.h - An opened Vulkan device ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device, its functions and its one compute queue.
#pragma once

#include "Instance.h"
#include "PhysicalDevice.h"

#include <atomic>

namespace heddle::vulkan {

/// Options for opening a device.
struct DeviceUse {
  std::optional<int> level = {}; ///< level to run; none: the choice of PhysicalDevice::chooseLevel
  Names features = {};           ///< features to enable if the device offers them
  bool statistics = false;       ///< whether pipelines keep statistics
};

/// A VkDevice, shared by sessions. `submit` may be called from several threads.
class LogicalDevice {
public:
  /// Opens device number `number` in the loader's order. Input error if there is no device with
  /// this number, or if it lacks Vulkan 1.1, a compute queue or something that `use` requires.
  static Expected<std::unique_ptr<LogicalDevice>> open(int number, DeviceUse use = {});
  ~LogicalDevice();
  LogicalDevice(const LogicalDevice &) = delete;
  LogicalDevice &operator=(const LogicalDevice &) = delete;

  VkDevice handle() const { return device; }
  const VolkDeviceTable &functions() const { return table; }
  const PhysicalDevice &physical() const { return hardware; }
  const Instance &instance() const { return *owner; }
  /// The level at which kernels run.
  int level() const { return *use.level; }
  bool keepsStatistics() const { return use.statistics; }
  /// Whether kernels' forms for few rows run. They do not on processors, where staging costs work
  /// and hides no latency, unless a level is requested.
  bool takesFewRows() const { return fewRows; }
  /// Submits to the queue, which sessions share; `fence`, which may be null, is signaled at the
  /// end.
  VkResult submit(std::span<const VkCommandBuffer> commands, VkFence fence) const;
  /// Waits until nothing runs.
  void waitIdle() const;
  /// vkAllocateMemory, within a limit on all memory that tests may set.
  VkResult allocate(const VkMemoryAllocateInfo &info, VkDeviceMemory &memory) const;
  void free(VkDeviceMemory memory, int64_t bytes) const;

private:
  LogicalDevice(std::unique_ptr<Instance> owner, PhysicalDevice hardware, DeviceUse use)
      : owner(std::move(owner)), hardware(std::move(hardware)), use(std::move(use)) {}
  Status create();

  std::unique_ptr<Instance> owner;
  PhysicalDevice hardware;
  DeviceUse use;
  bool fewRows = true;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VolkDeviceTable table{};
  mutable std::mutex queueLock;
  mutable int64_t submissions = 0;
  mutable std::atomic<int64_t> allocated = 0; ///< bytes
};

} // namespace heddle::vulkan
