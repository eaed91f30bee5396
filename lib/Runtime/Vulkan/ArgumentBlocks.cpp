//===- ArgumentBlocks.cpp - Kernel arguments in a buffer ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation of argument blocks. The dynamic descriptor spans a block of the largest size from any
// offset, so that much memory must also follow the last offset.
#include "ArgumentBlocks.h"

#include "heddle/Support/Try.h"

#include <cassert>
#include <cstring>

namespace heddle::vulkan {

Expected<ArgumentBlocks> ArgumentBlocks::create(const LogicalDevice &device) {
  constexpr int64_t bytes = int64_t{64} << 10;
  auto buffer = HEDDLE_TRY(MemoryBuffer::create(device, bytes, MemoryBuffer::Kind::Staging));
  return ArgumentBlocks(std::move(buffer), device.physical().windowAlignment());
}

uint32_t ArgumentBlocks::write(std::span<const uint32_t> words) {
  assert(hasRoom() && words.size_bytes() <= blockBytes && "a launch beyond the blocks");
  int64_t place = used;
  std::memcpy(buffer.mapped() + place, words.data(), words.size_bytes());
  auto bytes = static_cast<int64_t>(words.size_bytes());
  used += (bytes + alignment - 1) / alignment * alignment;
  return static_cast<uint32_t>(place);
}

} // namespace heddle::vulkan
