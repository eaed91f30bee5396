//===- CommandList.h - The commands of a call -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands of a call as data. Two equal lists have equal recordings, so that a recorder can
// submit an earlier recording again. A list orders its commands: it contains a barrier where a
// command touches memory that an earlier command has written, or writes memory that one has read.
#pragma once

#include <volk.h>

#include <array>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace heddle::vulkan {

/// Bytes of a buffer that a command reads, or reads and writes.
struct Access {
  VkBuffer buffer = VK_NULL_HANDLE;
  int64_t offset = 0, bytes = 0;
  bool writes = false;

  bool conflictsWith(const Access &other) const {
    return (writes || other.writes) && buffer == other.buffer &&
           offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

/// A barrier between all commands before and after it; `from` are the stages of the commands since
/// the barrier before.
struct BarrierCommand {
  VkPipelineStageFlags from = 0;
  bool operator==(const BarrierCommand &) const = default;
};
struct CopyCommand {
  VkBuffer from = VK_NULL_HANDLE, to = VK_NULL_HANDLE;
  int64_t fromOffset = 0, toOffset = 0, bytes = 0;
  bool operator==(const CopyCommand &) const = default;
};
struct FillCommand {
  VkBuffer buffer = VK_NULL_HANDLE;
  int64_t offset = 0, bytes = 0;
  uint32_t pattern = 0;
  bool operator==(const FillCommand &) const = default;
};
/// Pipeline and descriptors of the following dispatches; `block` is the dynamic offset of their
/// argument block.
struct BindCommand {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
  uint32_t block = 0;
  bool operator==(const BindCommand &) const = default;
};
/// Workgroups along x, y and z, and the push constants among the list's words.
struct DispatchCommand {
  VkPipelineLayout layout = VK_NULL_HANDLE;
  size_t firstWord = 0, words = 0;
  std::array<uint32_t, 3> groups = {};
  bool operator==(const DispatchCommand &) const = default;
};
/// The device's time once the commands before it have run.
struct StampCommand {
  bool operator==(const StampCommand &) const = default;
};
using Command = std::variant<BarrierCommand, CopyCommand, FillCommand, BindCommand, DispatchCommand,
                             StampCommand>;

/// Commands in the order of their recording.
class CommandList {
public:
  /// Compares ranges of memory or, with `wholeBuffers`, the buffers that contain them. The
  /// validation layer knows only the buffers that a kernel binds.
  explicit CommandList(bool wholeBuffers = false) : wholeBuffers(wholeBuffers) {}
  void clear();
  void copy(const CopyCommand &command);
  void fill(const FillCommand &command);
  /// Binds a kernel whose dispatches, which are independent of each other, make these accesses.
  void bind(const BindCommand &command, std::span<const Access> accesses);
  void dispatch(VkPipelineLayout layout, std::span<const uint32_t> push,
                std::array<uint32_t, 3> groups);
  void stamp();

  std::span<const Command> commands() const { return all; }
  std::span<const uint32_t> pushed(const DispatchCommand &command) const {
    return std::span(words).subspan(command.firstWord, command.words);
  }
  /// The first place from `first` on where another command buffer may go on. It has no pipeline yet,
  /// so it does not begin with a dispatch.
  size_t splitFrom(size_t first) const;
  size_t barriers() const { return barrierCount; }
  size_t stamps() const { return stampCount; }
  /// Whether both lists have the same recording.
  bool operator==(const CommandList &other) const {
    return all == other.all && words == other.words;
  }

private:
  bool conflict(const Access &a, const Access &b) const;
  void order(VkPipelineStageFlags stage, std::span<const Access> accesses);

  bool wholeBuffers;
  std::vector<Command> all;
  std::vector<uint32_t> words;     ///< push constants of all dispatches
  std::vector<Access> unordered;   ///< accesses since the last barrier
  VkPipelineStageFlags stages = 0; ///< of the commands since the last barrier
  size_t barrierCount = 0, stampCount = 0;
};

} // namespace heddle::vulkan
