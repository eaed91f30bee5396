//===- VulkanDevice.h - A session's memory and calls on Vulkan ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device of a session on Vulkan. Launches are recorded and run together in finish. With unified
// memory, uploads, copies and fills happen at once, so they must precede a call's launches. Without
// it they are recorded too, and uploads and downloads use staging buffers.
#pragma once

#include "ArgumentBlocks.h"
#include "CommandRecorder.h"
#include "DescriptorCache.h"
#include "KernelPipelines.h"
#include "WeightPlacement.h"

#include <set>

namespace heddle::vulkan {

/// Memory, command buffer, staging buffers and descriptor sets of one session.
class VulkanDevice final : public Device {
public:
  /// Creates a device. `kernels`, `weights` (null: the program has none) and their `placement`
  /// belong to the code and must outlive the device.
  static Expected<std::unique_ptr<Device>>
  create(const LogicalDevice &device, const KernelPipelines &kernels, const MemoryBuffer *weights,
         const WeightPlacement &placement, const Program &program);

  Status resize(int64_t bytes, int64_t keep) override;
  Status begin() override;
  Expected<std::byte *> upload(MemoryRange range) override;
  Status copy(int64_t from, int64_t to, int64_t bytes) override;
  Status fill(MemoryRange range, uint32_t pattern) override;
  Status launch(const LaunchCall &call, std::span<const LaunchCall> then) override;
  Status download(MemoryRange range) override;
  Status finish() override;
  bool keepTimes() override { return keepsTimes = recorder->keepTimes(); }
  void stamp() override { recorder->stamp(); }
  std::span<const double> intervals() const override { return recorder->intervals(); }
  std::optional<CallTime> callTime() const override {
    return keepsTimes ? std::optional(recorder->callTime()) : std::nullopt;
  }
  void observe(PhaseObserver observer) override {
    progress = {std::move(observer), kernels.count()};
  }
  double preparationSeconds() const override { return progress.seconds(); }
  std::span<const std::byte> downloaded(MemoryRange range) const override;

private:
  VulkanDevice(const LogicalDevice &device, const KernelPipelines &kernels,
               const MemoryBuffer *weights, const WeightPlacement &placement,
               const Program &program);

  /// A range of planned memory and the place of its copy in a staging buffer.
  struct Staged {
    MemoryRange range;
    size_t buffer = 0;
    int64_t offset = 0;
  };

  /// Reserves staging memory for a copy of `range`.
  Expected<Staged> stage(MemoryRange range);
  /// Grid points of a dispatch, starting at `first`.
  struct GridPart {
    std::array<int64_t, 3> first, count;
  };

  /// Sets the places of a launch's arguments, in memory or in the weights. Returns the weight that
  /// has its own windows, or null.
  const WindowedWeight *placeArguments(const LaunchCall &call);
  /// Moves the arguments in the weights to their places in one window.
  Status enterWindow(const LaunchCall &call, const WindowedWeight &windowed,
                     const WeightPart &part);
  /// Window of all arguments of a launch in the weights or in memory; none if they span more than
  /// maxStorageBufferRange.
  std::optional<Window> windowOf(const LaunchCall &call, bool weight) const;
  Error beyondRange(const LaunchCall &call, const char *what, int64_t bytes) const;
  int64_t range() const { return device.physical().limits().storageRange / 16 * 16; }
  /// Window of a launch's arguments in memory. If they are too far apart, copies them, changes
  /// their places and returns the window of the copies. Error if all of them together exceed a
  /// window.
  Expected<Window> memoryWindow(const LaunchCall &call);
  /// Copies the results of a launch on copies back to their places.
  void putBack(const LaunchCall &call);
  /// Runs a launch on the rows of one window; without `part` on all weights.
  Status launchOn(const LaunchCall &call, const Window &memory, const Window &weights,
                  const WeightPart *part);
  /// Lets the driver compile a pipeline if it does so only at the first launch.
  Status prepare(VkPipeline pipeline, VkDescriptorSet set, uint32_t block);
  /// Rounds the rows that a launch reads, if no earlier launch has rounded them.
  Status roundRows(const LaunchCall &call, const Window &memory);
  /// Binds a pipeline with the pushed arguments, which move to a block if they are many.
  Status bind(VkPipeline pipeline, VkDescriptorSet set);
  GridPart gridOf(const LaunchCall &call, const WeightPart *part) const;
  Status pushArguments(const LaunchCall &call, const Window &memory, const Window &weights,
                       const WeightPart *part);
  Status restart();
  Expected<uint32_t> moveToBlock();
  void dispatchAll(const GridPart &grid);
  void placeAccesses(const LaunchCall &call, const Window &memory);
  void forgetBuffers();

  const LogicalDevice &device;
  const KernelPipelines &kernels;
  const MemoryBuffer *weights;
  const WeightPlacement &placement;
  const Program &program;
  const bool hasTwins; ///< weights of the session are in planned memory
  std::unique_ptr<CommandRecorder> recorder, preparer;
  std::set<VkPipeline> prepared;
  PipelineProgress progress;
  std::optional<ArgumentBlocks> blocks;
  std::unique_ptr<DescriptorCache> descriptors;
  std::optional<MemoryBuffer> memory, copies;
  int64_t size = 0; ///< bytes of `memory` without memorySlack
  std::vector<MemoryBuffer> staging;
  int64_t stagingUsed = 0; ///< bytes used of the last staging buffer
  std::vector<Staged> downloads;
  bool keepsTimes = false;
  std::vector<Access> accesses; ///< of a launch; a member to keep its memory
  std::vector<uint32_t> push;   ///< push constants of a launch; a member to keep its memory
  std::vector<int64_t> offsets; ///< offsets of a launch's arguments in their buffers, in bytes; a
                                ///< member to keep its memory
};

} // namespace heddle::vulkan
