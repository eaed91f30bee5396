//===- DescriptorCache.cpp - Descriptor sets by window ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptor sets and their pools. Pools have a fixed size; they are added as needed and destroyed
// together.
#include "DescriptorCache.h"

#include "KernelPipelines.h"

#include "heddle/Support/Try.h"

namespace heddle::vulkan {

DescriptorCache::~DescriptorCache() { clear(); }

void DescriptorCache::clear() {
  for (VkDescriptorPool pool : pools)
    device.functions().vkDestroyDescriptorPool(device.handle(), pool, nullptr);
  pools.clear();
  sets.clear();
  used = setsPerPool;
}

Status DescriptorCache::addPool() {
  VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, setsPerPool * windowBindings},
                                  {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, setsPerPool}};
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = setsPerPool;
  info.poolSizeCount = 2;
  info.pPoolSizes = sizes;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  HEDDLE_TRY(checked("creating a descriptor pool", device.functions().vkCreateDescriptorPool(
                                                       device.handle(), &info, nullptr, &pool)));
  pools.push_back(pool);
  used = 0;
  return {};
}

/// Binding 2 is the memory window again: kernels read it both as vec4 and as i32.
void DescriptorCache::write(VkDescriptorSet set, const Window &memory, const Window &weights) {
  const Window block{blocks, 0, vulkanBlockWords * 4};
  const Window *windows[] = {&memory, &weights, &memory, &block};
  VkDescriptorBufferInfo buffers[bindingCount];
  VkWriteDescriptorSet writes[bindingCount] = {};
  for (uint32_t i = 0; i < bindingCount; ++i) {
    buffers[i] = {windows[i]->buffer, static_cast<VkDeviceSize>(windows[i]->offset),
                  static_cast<VkDeviceSize>(windows[i]->bytes)};
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = i < windowBindings ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                  : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
    writes[i].pBufferInfo = &buffers[i];
  }
  device.functions().vkUpdateDescriptorSets(device.handle(), bindingCount, writes, 0, nullptr);
}

Expected<VkDescriptorSet> DescriptorCache::find(const Window &memory, const Window &weights) {
  auto [it, isNew] =
      sets.try_emplace({memory.buffer, memory.offset, weights.offset}, VK_NULL_HANDLE);
  if (!isNew && it->second)
    return it->second;
  if (used == setsPerPool)
    HEDDLE_TRY(addPool());
  VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorPool = pools.back();
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  HEDDLE_TRY(checked("creating a descriptor set", device.functions().vkAllocateDescriptorSets(
                                                      device.handle(), &info, &it->second)));
  ++used;

  write(it->second, memory, weights);
  return it->second;
}

} // namespace heddle::vulkan
