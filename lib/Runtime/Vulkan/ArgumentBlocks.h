//===- ArgumentBlocks.h - Kernel arguments in a buffer --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argument blocks of launches. A launch whose arguments exceed the push constants reads them from a
// block of this buffer. Every recorded launch has its own block, so that no block changes before
// its kernel has run. The buffer is made once and never grows. (It is not a uniform buffer: some
// software drivers recompile a kernel for each content.)
#pragma once

#include "MemoryBuffer.h"

#include <span>

namespace heddle::vulkan {

/// A mapped buffer of 64 KiB, from which blocks are allocated in order.
class ArgumentBlocks {
public:
  static Expected<ArgumentBlocks> create(const LogicalDevice &device);

  VkBuffer handle() const { return buffer.handle(); }
  /// Whether another block fits.
  bool hasRoom() const { return used + blockBytes <= buffer.size(); }
  /// Copies the words of a launch and returns their offset in bytes. Needs hasRoom().
  uint32_t write(std::span<const uint32_t> words);
  /// Frees all blocks. The kernels that read them must have run.
  void clear() { used = 0; }

private:
  static constexpr int64_t blockBytes = vulkanBlockWords * 4;

  ArgumentBlocks(MemoryBuffer buffer, int64_t alignment)
      : buffer(std::move(buffer)), alignment(alignment) {}

  MemoryBuffer buffer;
  int64_t alignment, used = 0;
};

} // namespace heddle::vulkan
