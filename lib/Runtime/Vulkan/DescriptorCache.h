//===- DescriptorCache.h - Descriptor sets by window ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cache of descriptor sets. A launch addresses a window of planned memory and one of the weights.
// Windows begin at few offsets, so the descriptor set of each pair is made once and kept.
#pragma once

#include "LogicalDevice.h"

#include <map>
#include <tuple>

namespace heddle::vulkan {

/// Range of a buffer that a kernel can address; at most maxStorageBufferRange.
struct Window {
  VkBuffer buffer = VK_NULL_HANDLE;
  int64_t offset = 0, bytes = 0;
};

/// Cache of descriptor sets, indexed by their windows.
class DescriptorCache {
public:
  /// `blocks` is the buffer of the dynamic binding, whose offset each launch gives.
  DescriptorCache(const LogicalDevice &device, VkDescriptorSetLayout layout, VkBuffer blocks)
      : device(device), layout(layout), blocks(blocks) {}
  ~DescriptorCache();
  DescriptorCache(const DescriptorCache &) = delete;
  DescriptorCache &operator=(const DescriptorCache &) = delete;

  /// The set with `memory` at bindings 0 and 2 and `weights` at binding 1.
  Expected<VkDescriptorSet> find(const Window &memory, const Window &weights);
  /// Destroys all sets. Must be called whenever a buffer is replaced.
  void clear();

private:
  Status addPool();
  void write(VkDescriptorSet set, const Window &memory, const Window &weights);

  static constexpr uint32_t setsPerPool = 32;
  const LogicalDevice &device;
  VkDescriptorSetLayout layout;
  VkBuffer blocks;
  std::vector<VkDescriptorPool> pools;
  uint32_t used = setsPerPool; ///< sets taken from the last pool
  /// By buffer and offset of the memory window, and offset of the weight window.
  std::map<std::tuple<VkBuffer, int64_t, int64_t>, VkDescriptorSet> sets;
};

} // namespace heddle::vulkan
