//===- MemoryBuffer.h - A Vulkan buffer and its memory ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A VkBuffer with its own allocation, mapped for its whole life if it is staging memory or the
// device has unified memory.
#pragma once

#include "LogicalDevice.h"

namespace heddle::vulkan {

/// A storage buffer that is also a source and a target of transfers.
class MemoryBuffer {
public:
  enum class Kind : uint8_t {
    Device,  ///< memory of kernels; mapped only on devices with unified memory
    Staging, ///< host side of transfers
  };
  /// Creates a buffer. Input error beyond maxMemoryAllocationSize; device error if memory is
  /// exhausted.
  static Expected<MemoryBuffer> create(const LogicalDevice &device, int64_t bytes, Kind kind);
  MemoryBuffer(MemoryBuffer &&other) noexcept;
  MemoryBuffer &operator=(MemoryBuffer &&other) noexcept;
  ~MemoryBuffer();

  VkBuffer handle() const { return buffer; }
  int64_t size() const { return bytes; }
  /// Address in the host's memory; null if it is not mapped.
  std::byte *mapped() const { return address; }

private:
  MemoryBuffer(const LogicalDevice &device, int64_t bytes) : device(&device), bytes(bytes) {}
  Status createBuffer();
  Status allocate(Kind kind);
  std::optional<uint32_t> chooseType(Kind kind, uint32_t allowed) const;

  const LogicalDevice *device;
  int64_t bytes;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  int64_t allocated = 0; ///< bytes of `memory`
  std::byte *address = nullptr;
};

} // namespace heddle::vulkan
