//===- MemoryBuffer.cpp - A Vulkan buffer and its memory --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation of buffers. Staging uses cached host memory, kernels use device memory; memory that is
// both is used for kernels if the device has it.
#include "MemoryBuffer.h"

#include "heddle/Support/Try.h"

#include <utility>

namespace heddle::vulkan {

Expected<MemoryBuffer> MemoryBuffer::create(const LogicalDevice &device, int64_t bytes, Kind kind) {
  if (int64_t limit = device.physical().maxAllocation(); bytes > limit)
    return inputError("vulkan: expected at most " + std::to_string(limit) +
                      " bytes of memory in one piece, found " + std::to_string(bytes));
  MemoryBuffer created(device, bytes);
  HEDDLE_TRY(created.createBuffer());
  HEDDLE_TRY(created.allocate(kind));
  return created;
}

Status MemoryBuffer::createBuffer() {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = static_cast<VkDeviceSize>(bytes);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  return checked("creating a buffer of " + std::to_string(bytes) + " bytes",
                 device->functions().vkCreateBuffer(device->handle(), &info, nullptr, &buffer));
}

std::optional<uint32_t> MemoryBuffer::chooseType(Kind kind, uint32_t allowed) const {
  constexpr VkMemoryPropertyFlags host =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags cached = host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const PhysicalDevice &physical = device->physical();
  std::optional<uint32_t> type;
  if (kind == Kind::Staging)
    return (type = physical.memoryType(allowed, cached)) ? type
                                                         : physical.memoryType(allowed, host);
  if (physical.unifiedMemory())
    return physical.memoryType(allowed, cached | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  return physical.memoryType(allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
}

/// Allocates and binds memory, and maps it if the host can use it.
Status MemoryBuffer::allocate(Kind kind) {
  const VolkDeviceTable &vk = device->functions();
  VkMemoryRequirements requirements;
  vk.vkGetBufferMemoryRequirements(device->handle(), buffer, &requirements);
  std::optional<uint32_t> type = chooseType(kind, requirements.memoryTypeBits);
  if (!type)
    return deviceError("vulkan: expected a memory type for storage buffers, found none");
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.allocationSize = requirements.size;
  info.memoryTypeIndex = *type;
  HEDDLE_TRY(
      checked("allocating " + std::to_string(bytes) + " bytes", device->allocate(info, memory)));
  allocated = static_cast<int64_t>(requirements.size);
  HEDDLE_TRY(checked("binding memory", vk.vkBindBufferMemory(device->handle(), buffer, memory, 0)));
  if (kind == Kind::Device && !device->physical().unifiedMemory())
    return {};
  void *mapped = nullptr;
  HEDDLE_TRY(checked("mapping memory",
                     vk.vkMapMemory(device->handle(), memory, 0, VK_WHOLE_SIZE, 0, &mapped)));
  address = static_cast<std::byte *>(mapped);
  return {};
}

MemoryBuffer::MemoryBuffer(MemoryBuffer &&other) noexcept
    : device(other.device), bytes(other.bytes), buffer(std::exchange(other.buffer, VK_NULL_HANDLE)),
      memory(std::exchange(other.memory, VK_NULL_HANDLE)), allocated(other.allocated),
      address(std::exchange(other.address, nullptr)) {}

MemoryBuffer &MemoryBuffer::operator=(MemoryBuffer &&other) noexcept {
  std::swap(device, other.device);
  std::swap(bytes, other.bytes);
  std::swap(buffer, other.buffer);
  std::swap(memory, other.memory);
  std::swap(allocated, other.allocated);
  std::swap(address, other.address);
  return *this;
}

MemoryBuffer::~MemoryBuffer() {
  // Freeing memory unmaps it.
  if (buffer)
    device->functions().vkDestroyBuffer(device->handle(), buffer, nullptr);
  if (memory)
    device->free(memory, allocated);
}

} // namespace heddle::vulkan
