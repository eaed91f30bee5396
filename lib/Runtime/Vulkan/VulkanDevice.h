//===- VulkanDevice.h - A session's memory and calls on Vulkan ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches are recorded and run together in finish. With unified memory, uploads,
// copies and fills happen at once, so they must precede a call's launches; without,
// they are recorded too, uploads and downloads through staging buffers.
#pragma once

#include "ArgumentBlocks.h"
#include "CommandRecorder.h"
#include "DescriptorCache.h"
#include "KernelPipelines.h"
#include "WeightPlacement.h"

namespace heddle::vulkan {

/// Device of a session: its memory, command buffer, staging buffers and descriptor sets.
class VulkanDevice final : public Device {
public:
  /// `kernels`, `weights` (null: the program has none) and their `placement` belong to the code and
  /// outlive the device.
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
  void keepTime() override { recorder->keepTime(); }
  std::optional<double> seconds() const override { return recorder->seconds(); }
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
  /// Grid points of a dispatch, from `first` on.
  struct GridPart {
    std::array<int64_t, 3> first, count;
  };

  /// Sets the places of a launch's arguments, in memory or in the weights; returns the weight that has
  /// windows of its own, null if none has.
  const WindowedWeight *placeArguments(const LaunchCall &call);
  /// Moves the arguments in the weights to where they are in one window.
  Status enterWindow(const LaunchCall &call, const WindowedWeight &windowed,
                     const WeightPart &part);
  /// Window of all arguments of a launch in the weights or in memory; none if they span more than
  /// maxStorageBufferRange.
  std::optional<Window> windowOf(const LaunchCall &call, bool weight) const;
  Error beyondRange(const LaunchCall &call, const char *what, int64_t bytes) const;
  int64_t range() const { return device.physical().limits().storageRange / 16 * 16; }
  /// Window of a launch's arguments in memory, or where they lie too far apart of copies of them, to
  /// which the places of the arguments then change. Error if all of them are larger than a window.
  Expected<Window> memoryWindow(const LaunchCall &call);
  /// Copies what a launch on copies has written to where it belongs.
  void putBack(const LaunchCall &call);
  /// Runs a launch on the rows of one window; of all weights without a part.
  Status launchOn(const LaunchCall &call, const Window &memory, const Window &weights,
                  const WeightPart *part);
  /// Lets the driver compile a kernel that it compiles when it is first launched.
  Status prepare(const LaunchCall &call, VkDescriptorSet set, uint32_t block);
  GridPart gridOf(const LaunchCall &call, const WeightPart *part) const;
  Status pushArguments(const LaunchCall &call, const Window &memory, const Window &weights,
                       const WeightPart *part);
  Status restart();
  Expected<uint32_t> moveToBlock();
  void dispatchAll(const GridPart &grid);

  const LogicalDevice &device;
  const KernelPipelines &kernels;
  const MemoryBuffer *weights;
  const WeightPlacement &placement;
  const Program &program;
  std::unique_ptr<CommandRecorder> recorder, preparer;
  std::vector<std::array<bool, 2>> prepared; ///< by kernel: for any number of rows, and for few
  PipelineProgress progress;
  std::optional<ArgumentBlocks> blocks;
  std::unique_ptr<DescriptorCache> descriptors;
  std::optional<MemoryBuffer> memory, copies;
  int64_t size = 0; ///< bytes of `memory` without memorySlack
  std::vector<MemoryBuffer> staging;
  int64_t stagingUsed = 0; ///< bytes used of the last staging buffer
  std::vector<Staged> downloads;
  std::vector<uint32_t> push;   ///< push constants of a launch; a member to keep its memory
  std::vector<int64_t> offsets; ///< of a launch's arguments, in bytes of their buffers; likewise
};

} // namespace heddle::vulkan
