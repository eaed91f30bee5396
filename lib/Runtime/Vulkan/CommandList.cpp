//===- CommandList.cpp - The commands of a call -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers by ranges of memory. A barrier orders all commands before it, of any stage, so only the
// accesses since the last one need be compared.
#include "CommandList.h"

#include <algorithm>

namespace heddle::vulkan {

/// Accesses that are compared with each new one. Beams copy thousands of rows; one more barrier
/// costs less than comparing all pairs of them.
static constexpr size_t mostUnordered = 128;

void CommandList::clear() {
  all.clear();
  words.clear();
  unordered.clear();
  stages = 0;
  barrierCount = stampCount = 0;
}

bool CommandList::conflict(const Access &a, const Access &b) const {
  return wholeBuffers ? (a.writes || b.writes) && a.buffer == b.buffer : a.conflictsWith(b);
}

/// Adds a barrier if one of the accesses conflicts with one since the last barrier.
void CommandList::order(VkPipelineStageFlags stage, std::span<const Access> accesses) {
  const bool conflicts = std::ranges::any_of(accesses, [&](const Access &access) {
    return std::ranges::any_of(unordered,
                               [&](const Access &earlier) { return conflict(access, earlier); });
  });
  if (conflicts || unordered.size() > mostUnordered) {
    all.emplace_back(BarrierCommand{stages});
    ++barrierCount;
    unordered.clear();
    stages = 0;
  }
  unordered.insert(unordered.end(), accesses.begin(), accesses.end());
  stages |= stage;
}

void CommandList::copy(const CopyCommand &command) {
  const Access accesses[] = {{command.from, command.fromOffset, command.bytes},
                             {command.to, command.toOffset, command.bytes, /*writes=*/true}};
  order(VK_PIPELINE_STAGE_TRANSFER_BIT, accesses);
  all.emplace_back(command);
}

void CommandList::fill(const FillCommand &command) {
  const Access access{command.buffer, command.offset, command.bytes, /*writes=*/true};
  order(VK_PIPELINE_STAGE_TRANSFER_BIT, {&access, 1});
  all.emplace_back(command);
}

void CommandList::bind(const BindCommand &command, std::span<const Access> accesses) {
  order(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, accesses);
  all.emplace_back(command);
}

void CommandList::dispatch(VkPipelineLayout layout, std::span<const uint32_t> push,
                           std::array<uint32_t, 3> groups) {
  all.emplace_back(DispatchCommand{layout, words.size(), push.size(), groups});
  words.insert(words.end(), push.begin(), push.end());
}

size_t CommandList::splitFrom(size_t first) const {
  while (first < all.size() && std::holds_alternative<DispatchCommand>(all[first]))
    ++first;
  return first;
}

void CommandList::stamp() {
  all.emplace_back(StampCommand{});
  ++stampCount;
}

} // namespace heddle::vulkan
