//===- CommandRecorder.h - Records a call's commands ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records the transfers and dispatches of a call in one command buffer, in order and with barriers
// between them. Used by one thread at a time.
#pragma once

#include "LogicalDevice.h"

#include <array>
#include <optional>
#include <span>

namespace heddle::vulkan {

/// A command buffer with its pool and fence, reused for every call.
class CommandRecorder {
public:
  static Expected<std::unique_ptr<CommandRecorder>> create(const LogicalDevice &device);
  ~CommandRecorder();
  CommandRecorder(const CommandRecorder &) = delete;
  CommandRecorder &operator=(const CommandRecorder &) = delete;

  /// Drops recorded commands and starts a new recording.
  Status begin();
  void copy(VkBuffer from, int64_t fromOffset, VkBuffer to, int64_t toOffset, int64_t bytes);
  void fill(VkBuffer buffer, int64_t offset, int64_t bytes, uint32_t pattern);
  /// Sets pipeline and descriptors of the following dispatches; `block` is the dynamic offset of
  /// their argument block.
  void bind(VkPipeline pipeline, VkPipelineLayout layout, VkDescriptorSet set, uint32_t block);
  /// Dispatches the bound kernel; `groups` are workgroups along x, y and z.
  void dispatch(VkPipelineLayout layout, std::span<const uint32_t> push,
                std::array<uint32_t, 3> groups);
  /// Submits, waits for the end, and makes all writes visible to the host.
  Status run();
  /// Makes later recordings use the device's clock, if it has one.
  void keepTime() { wantsTime = true; }
  /// Seconds from the first to the last command of the last recording that ran; none if it was not
  /// timed.
  std::optional<double> seconds() const { return passed; }

private:
  enum class Stage : uint8_t { Nothing, Transfer, Compute };
  explicit CommandRecorder(const LogicalDevice &device) : device(device) {}
  Status createObjects();
  void order(Stage next);
  VkResult wait();
  Status startTime();
  VkResult readTime();
  void barrier(VkPipelineStageFlags from, VkAccessFlags wrote, VkPipelineStageFlags to,
               VkAccessFlags uses);

  const LogicalDevice &device;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
  VkQueryPool clock = VK_NULL_HANDLE; ///< timestamps of the first and the last command
  bool wantsTime = false, isTimed = false;
  std::optional<double> passed;
  Stage last = Stage::Nothing;
};

} // namespace heddle::vulkan
