//===- KernelPipelines.h - Compute pipelines of a program -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines of an artifact's kernels. One layout serves all kernels. It has three storage buffers
// (memory as vec4, weights, memory as i32) and an argument block at an offset that each launch
// chooses. It uses the 128 bytes of push constants that every device has. Each kernel has one
// pipeline, from the best of its variants that the device can run, and optionally one for few rows and
// one that rounds rows.
#pragma once

#include "LogicalDevice.h"

#include "heddle/Runtime/Device.h"
#include "heddle/Support/Artifact.h"

#include <chrono>
#include <set>

namespace heddle::vulkan {

/// Number of bindings. Bindings 0 to 2 are windows; binding 3 is the argument block with its
/// dynamic offset. Vulkan guarantees no more than 4 storage buffers.
constexpr uint32_t bindingCount = 4, windowBindings = 3;

/// Counts pipelines while a driver compiles them, and reports to an observer once this takes long.
class PipelineProgress {
public:
  PipelineProgress() = default;
  PipelineProgress(PhaseObserver observer, size_t all) : observer(std::move(observer)), all(all) {}
  /// Called before and after each pipeline.
  void begin();
  void end();
  double seconds() const { return passed.count(); }

private:
  PhaseObserver observer;
  size_t all = 0, done = 0;
  std::chrono::steady_clock::time_point start;
  std::chrono::duration<double> passed{0};
};

/// Layouts and pipelines of an artifact's kernels.
class KernelPipelines {
public:
  /// Compiles every kernel that has SPIR-V, after checking the device's limits.
  static Expected<std::unique_ptr<KernelPipelines>>
  create(const LogicalDevice &device, const Artifact &artifact, const PhaseObserver &observer = {});
  /// Features that any variant of a kernel needs.
  static Names featuresOf(const Program &program);
  ~KernelPipelines();
  KernelPipelines(const KernelPipelines &) = delete;
  KernelPipelines &operator=(const KernelPipelines &) = delete;

  VkDescriptorSetLayout setLayout() const { return descriptors; }
  VkPipelineLayout layout() const { return pipelineLayout; }
  VkPipeline pipeline(int kernel, bool fewRows) const {
    return (fewRows ? few : chosen)[kernel].pipeline;
  }
  /// The pipeline that rounds rows for the kernel; null if its variant has no rounding.
  VkPipeline roundingPipeline(int kernel) const { return rounding[kernel].pipeline; }
  /// The chosen variant. Null for kernels without SPIR-V, and with `fewRows` for kernels without a
  /// form for few rows.
  const VulkanVariant *variant(size_t kernel, bool fewRows = false) const {
    return (fewRows ? few : chosen)[kernel].variant;
  }

  /// Number of pipelines of all kernels.
  size_t count() const;
  /// Variants that the driver did not compile, although the device offers what they need: names of
  /// kernels with the level.
  const std::vector<std::string> &refused() const { return refusedNames; }

private:
  explicit KernelPipelines(const LogicalDevice &device) : device(device) {}
  Status createLayouts();
  Status compileAll(const Artifact &artifact, const PhaseObserver &observer);
  struct Chosen {
    const VulkanVariant *variant = nullptr;
    std::vector<uint32_t> words = {}; ///< SPIR-V, kept until it is compiled
    VkPipeline pipeline = VK_NULL_HANDLE;
    int32_t invocations() const {
      return rounds ? variant->rounding->workgroup[0] : variant->workgroup[0];
    }
    bool rounds = false; ///< the code is the variant's rounding
  };
  Expected<Chosen> choose(const Kernel &kernel, const Artifact &artifact) const;
  Expected<Chosen> chooseFew(const Kernel &kernel, int level, const Artifact &artifact) const;
  Expected<Chosen> chooseRounding(const Kernel &kernel, const VulkanVariant &variant,
                                  const Artifact &artifact) const;
  Status chooseForms(size_t kernel, const Artifact &artifact);
  /// Compiles a variant. The result is the driver's answer to its pipeline.
  Expected<VkResult> compile(const Kernel &kernel, VkPipelineCache cache, Chosen &made);
  Status compileForms(size_t kernel, const Artifact &artifact, VkPipelineCache cache,
                      PipelineProgress &progress);
  void destroy(Chosen &made);

  const LogicalDevice &device;
  VkDescriptorSetLayout descriptors = VK_NULL_HANDLE;
  VkPipelineLayout pipelineLayout = VK_NULL_HANDLE;
  /// By kernel: for any number of rows, for few, and for rounding rows.
  std::vector<Chosen> chosen, few, rounding;
  std::set<const VulkanVariant *> refusals;
  std::vector<std::string> refusedNames;
};

} // namespace heddle::vulkan
