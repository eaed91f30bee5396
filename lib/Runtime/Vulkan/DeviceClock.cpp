//===- DeviceClock.cpp - Timestamps of a recording --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation, recording and reading of timestamps.
#include "DeviceClock.h"

#include "heddle/Support/Try.h"

#include <algorithm>

namespace heddle::vulkan {

DeviceClock::~DeviceClock() {
  for (VkQueryPool pool : pools)
    device.functions().vkDestroyQueryPool(device.handle(), pool, nullptr);
}

Status DeviceClock::reserve(size_t stamps) {
  VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = poolStamps;
  while (pools.size() * poolStamps < stamps) {
    VkQueryPool pool = VK_NULL_HANDLE;
    HEDDLE_TRY(checked("creating a clock", device.functions().vkCreateQueryPool(
                                               device.handle(), &info, nullptr, &pool)));
    pools.push_back(pool);
  }
  return {};
}

void DeviceClock::write(VkCommandBuffer commands, size_t number,
                        VkPipelineStageFlagBits stage) const {
  const VkQueryPool pool = pools[number / poolStamps];
  const auto place = static_cast<uint32_t>(number % poolStamps);
  if (place == 0)
    device.functions().vkCmdResetQueryPool(commands, pool, 0, poolStamps);
  device.functions().vkCmdWriteTimestamp(commands, stage, pool, place);
}

VkResult DeviceClock::read(size_t stamps, std::vector<double> &seconds) {
  ticks.assign(stamps, 0);
  for (size_t at = 0; at < stamps; at += poolStamps) {
    const size_t count = std::min<size_t>(poolStamps, stamps - at);
    const VkResult result = device.functions().vkGetQueryPoolResults(
        device.handle(), pools[at / poolStamps], 0, static_cast<uint32_t>(count),
        count * sizeof ticks[0], &ticks[at], sizeof ticks[0],
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (result != VK_SUCCESS)
      return result;
  }
  const uint32_t bits = device.physical().clockBits();
  // timestamps wrap after the valid bits
  const uint64_t valid = bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0};
  seconds.clear();
  for (size_t i = 1; i < stamps; ++i)
    seconds.push_back(static_cast<double>((ticks[i] - ticks[i - 1]) & valid) *
                      device.physical().allLimits().timestampPeriod * 1e-9);
  return VK_SUCCESS;
}

} // namespace heddle::vulkan
