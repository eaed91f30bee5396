//===- VulkanDevice.cpp - A session's memory and calls on Vulkan ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows keep descriptor ranges within maxStorageBufferRange; split dispatches keep
// grids within maxComputeWorkGroupCount.
#include "VulkanDevice.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace heddle::vulkan {

VulkanDevice::VulkanDevice(const LogicalDevice &device, const KernelPipelines &kernels,
                           const MemoryBuffer *weights, const Program &program)
    : device(device), kernels(kernels), weights(weights), program(program) {}

Expected<std::unique_ptr<Device>> VulkanDevice::create(const LogicalDevice &device,
                                                       const KernelPipelines &kernels,
                                                       const MemoryBuffer *weights,
                                                       const Program &program) {
  std::unique_ptr<VulkanDevice> created(new VulkanDevice(device, kernels, weights, program));
  created->recorder = HEDDLE_TRY(CommandRecorder::create(device));
  created->blocks = HEDDLE_TRY(ArgumentBlocks::create(device));
  created->descriptors =
      std::make_unique<DescriptorCache>(device, kernels.setLayout(), created->blocks->handle());
  return std::unique_ptr<Device>(std::move(created));
}

//===- Memory ------------------------------------------------------------===//

/// A new buffer makes all descriptor sets invalid.
Status VulkanDevice::resize(int64_t bytes, int64_t keep) {
  if (memory && bytes <= size)
    return {};
  auto larger =
      HEDDLE_TRY(MemoryBuffer::create(device, bytes + memorySlack, MemoryBuffer::Kind::Device));
  int64_t kept = std::min(keep, size);
  if (kept > 0 && memory->mapped()) {
    std::memcpy(larger.mapped(), memory->mapped(), static_cast<size_t>(kept));
  } else if (kept > 0) {
    HEDDLE_TRY(recorder->begin());
    recorder->copy(memory->handle(), 0, larger.handle(), 0, kept);
    HEDDLE_TRY(recorder->run());
  }
  descriptors->clear();
  memory = std::move(larger);
  size = bytes;
  return {};
}

Status VulkanDevice::begin() {
  // Replaces the staging buffers of the last call by one of their total size.
  if (staging.size() > 1) {
    int64_t total = 0;
    for (const MemoryBuffer &buffer : staging)
      total += buffer.size();
    staging.clear();
    staging.push_back(HEDDLE_TRY(MemoryBuffer::create(device, total, MemoryBuffer::Kind::Staging)));
  }
  stagingUsed = 0;
  downloads.clear();
  blocks->clear();
  return recorder->begin();
}

Expected<VulkanDevice::Staged> VulkanDevice::stage(MemoryRange range) {
  constexpr int64_t smallest = int64_t{1} << 20;
  if (staging.empty() || stagingUsed + range.bytes > staging.back().size()) {
    staging.push_back(HEDDLE_TRY(MemoryBuffer::create(device, std::max(smallest, range.bytes),
                                                      MemoryBuffer::Kind::Staging)));
    stagingUsed = 0;
  }
  Staged staged{range, staging.size() - 1, stagingUsed};
  stagingUsed += (range.bytes + 15) / 16 * 16;
  return staged;
}

Expected<std::byte *> VulkanDevice::upload(MemoryRange range) {
  if (memory->mapped())
    return memory->mapped() + range.offset;
  auto staged = HEDDLE_TRY(stage(range));
  MemoryBuffer &buffer = staging[staged.buffer];
  recorder->copy(buffer.handle(), staged.offset, memory->handle(), range.offset, range.bytes);
  return buffer.mapped() + staged.offset;
}

Status VulkanDevice::copy(int64_t from, int64_t to, int64_t bytes) {
  if (memory->mapped())
    std::memmove(memory->mapped() + to, memory->mapped() + from, static_cast<size_t>(bytes));
  else
    recorder->copy(memory->handle(), from, memory->handle(), to, bytes);
  return {};
}

Status VulkanDevice::fill(MemoryRange range, uint32_t pattern) {
  if (!memory->mapped()) {
    recorder->fill(memory->handle(), range.offset, range.bytes, pattern);
    return {};
  }
  auto *words = reinterpret_cast<uint32_t *>(memory->mapped() + range.offset);
  std::fill(words, words + range.bytes / 4, pattern);
  return {};
}

Status VulkanDevice::download(MemoryRange range) {
  if (memory->mapped())
    return {};
  auto staged = HEDDLE_TRY(stage(range));
  recorder->copy(memory->handle(), range.offset, staging[staged.buffer].handle(), staged.offset,
                 range.bytes);
  downloads.push_back(staged);
  return {};
}

Status VulkanDevice::finish() { return recorder->run(); }

std::span<const std::byte> VulkanDevice::downloaded(MemoryRange range) const {
  auto bytes = static_cast<size_t>(range.bytes);
  if (memory->mapped())
    return {memory->mapped() + range.offset, bytes};
  auto staged = std::ranges::find_if(downloads, [&](const Staged &s) {
    return s.range.offset == range.offset && s.range.bytes == range.bytes;
  });
  assert(staged != downloads.end() && "a range that was not requested");
  return {staging[staged->buffer].mapped() + staged->offset, bytes};
}

//===- Launches ----------------------------------------------------------===//

Expected<Window> VulkanDevice::windowOf(const LaunchCall &call, bool weight) const {
  // Every binding needs a valid buffer: memory stands in for missing weights.
  const MemoryBuffer &buffer = weight && weights ? *weights : *memory;
  int64_t limit = device.physical().limits().storageRange / 16 * 16;
  if (buffer.size() <= limit)
    return Window{buffer.handle(), 0, buffer.size()};
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
  for (const LaunchAddress &argument : call.arguments) {
    if (argument.weight != weight)
      continue;
    begin = std::min(begin, argument.offset);
    end = std::max(end, argument.offset + argument.bytes);
  }
  begin = std::min(begin, end) / device.physical().windowAlignment() *
          device.physical().windowAlignment();
  if (end - begin > limit)
    return inputError("vulkan: kernel " + program.kernels[call.kernel].name + ": expected its " +
                      (weight ? "weights" : "memory") + " within " + std::to_string(limit) +
                      " bytes, found " + std::to_string(end - begin));
  return Window{buffer.handle(), begin, std::min(limit, buffer.size() - begin)};
}

Status VulkanDevice::pushArguments(const LaunchCall &call, const Window &memoryWindow,
                                   const Window &weightWindow) {
  push.clear();
  for (int64_t scalar : call.scalars) {
    if (scalar < 0 || scalar > std::numeric_limits<int32_t>::max())
      return inputError("vulkan: expected sizes below 2^31, found " + std::to_string(scalar));
    push.push_back(static_cast<uint32_t>(scalar));
  }
  for (const LaunchAddress &argument : call.arguments)
    push.push_back(static_cast<uint32_t>(
        (argument.offset - (argument.weight ? weightWindow : memoryWindow).offset) / 16));
  push.resize(push.size() + vulkanGridWords);
  return {};
}

/// Moves all arguments but the grid's base from the push constants to a block; returns its offset.
/// Runs the recorded commands first if no block is free.
Expected<uint32_t> VulkanDevice::moveToBlock() {
  if (!blocks->hasRoom()) {
    HEDDLE_TRY(recorder->run());
    HEDDLE_TRY(recorder->begin());
    blocks->clear();
  }
  std::span<const uint32_t> words(push.data(), push.size() - vulkanGridWords);
  uint32_t place = blocks->write(words);
  push.assign(vulkanGridWords, 0);
  return place;
}

/// Dispatches the grid, in pieces if an axis has more groups than the device allows.
void VulkanDevice::dispatchAll(const std::array<int64_t, 3> &grid) {
  int64_t limit = device.physical().limits().groupCount;
  uint32_t *base = &push[push.size() - vulkanGridWords];
  std::array<int64_t, 3> at = {};
  for (at[0] = 0; at[0] < grid[0]; at[0] += limit)
    for (at[1] = 0; at[1] < grid[1]; at[1] += limit)
      for (at[2] = 0; at[2] < grid[2]; at[2] += limit) {
        std::array<uint32_t, 3> groups;
        for (size_t axis = 0; axis < 3; ++axis) {
          base[axis] = static_cast<uint32_t>(at[axis]);
          groups[2 - axis] = static_cast<uint32_t>(
              std::min(limit, grid[axis] - at[axis])); // (z, y, x) to (x, y, z)
        }
        recorder->dispatch(kernels.layout(), push, groups);
      }
}

Status VulkanDevice::launch(const LaunchCall &call, std::span<const LaunchCall> /*then*/) {
  auto memoryWindow = HEDDLE_TRY(windowOf(call, false));
  auto weightWindow = HEDDLE_TRY(windowOf(call, true));
  auto set = HEDDLE_TRY(descriptors->find(memoryWindow, weightWindow));
  HEDDLE_TRY(pushArguments(call, memoryWindow, weightWindow));
  uint32_t block = 0;
  if (takesArgumentBlock(call.scalars.size(), call.arguments.size()))
    block = HEDDLE_TRY(moveToBlock());
  recorder->bind(kernels.pipeline(call.kernel), kernels.layout(), set, block);
  dispatchAll(call.grid);
  return {};
}

} // namespace heddle::vulkan
