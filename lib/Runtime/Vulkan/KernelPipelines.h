//===- KernelPipelines.h - Pipelines of a program's kernels -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One layout serves all kernels: three storage buffers (memory as vec4, weights,
// memory as i32), a block of words at an offset that each launch chooses, and the
// 128 bytes of push constants that every device has. One pipeline a kernel.
#pragma once

#include "LogicalDevice.h"

#include "heddle/Support/Artifact.h"

namespace heddle::vulkan {

/// Bindings 0 to 2 lie where the window does, the last one, the block, at the launch's offset: all
/// the storage buffers that Vulkan promises.
constexpr uint32_t bindingCount = 4, windowBindings = 3;

class KernelPipelines {
public:
  /// Compiles every kernel of the artifact that has SPIR-V; limits are compared first.
  static Expected<std::unique_ptr<KernelPipelines>> create(const LogicalDevice &device,
                                                           const Artifact &artifact);
  ~KernelPipelines();
  KernelPipelines(const KernelPipelines &) = delete;
  KernelPipelines &operator=(const KernelPipelines &) = delete;

  VkDescriptorSetLayout setLayout() const { return descriptors; }
  VkPipelineLayout layout() const { return pipelineLayout; }
  VkPipeline pipeline(int kernel) const { return pipelines[static_cast<size_t>(kernel)]; }

private:
  explicit KernelPipelines(const LogicalDevice &device) : device(device) {}
  Status createLayouts();
  Status compileAll(const Artifact &artifact);
  Status compile(const Kernel &kernel, std::span<const uint32_t> words, VkPipelineCache cache,
                 VkPipeline &pipeline);

  const LogicalDevice &device;
  VkDescriptorSetLayout descriptors = VK_NULL_HANDLE;
  VkPipelineLayout pipelineLayout = VK_NULL_HANDLE;
  std::vector<VkPipeline> pipelines; ///< null for kernels without SPIR-V
};

} // namespace heddle::vulkan
