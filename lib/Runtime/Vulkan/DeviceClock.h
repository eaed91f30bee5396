//===- DeviceClock.h - Timestamps of a recording ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timestamps of a recording, in query pools that all recordings of a recorder share.
#pragma once

#include "LogicalDevice.h"

#include <vector>

namespace heddle::vulkan {

/// Query pools with room for the stamps of any recording.
class DeviceClock {
public:
  explicit DeviceClock(const LogicalDevice &device) : device(device) {}
  ~DeviceClock();
  DeviceClock(const DeviceClock &) = delete;
  DeviceClock &operator=(const DeviceClock &) = delete;

  /// Makes room for `stamps` stamps.
  Status reserve(size_t stamps);
  /// Records stamp `number`; numbers ascend from 0 in a recording.
  void write(VkCommandBuffer commands, size_t number, VkPipelineStageFlagBits stage) const;
  /// Reads the seconds between the `stamps` stamps of a recording that has run.
  VkResult read(size_t stamps, std::vector<double> &seconds);

private:
  static constexpr uint32_t poolStamps = 256;

  const LogicalDevice &device;
  std::vector<VkQueryPool> pools;
  std::vector<uint64_t> ticks; ///< scratch of read
};

} // namespace heddle::vulkan
