//===- VulkanCode.h - Vulkan devices ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs SPIR-V kernels on a Vulkan 1.1 device, of each kernel the best variant that the
// device can run (docs/gpu.md). The loader is found at run time. Environment:
// HEDDLE_VULKAN_VALIDATION=1 turns the validation layer on and any message into an
// error; HEDDLE_VULKAN_LIMITS=minimum (or name=value pairs) lowers the device's limits,
// for tests.
#pragma once

#include "heddle/Runtime/Device.h"

#include <optional>

namespace heddle {

/// Device limits that decide whether a kernel can run, lowered by HEDDLE_VULKAN_LIMITS; behind each
/// its form there.
struct VulkanLimits {
  int64_t sharedBytes = 0;    ///< shared=16384
  int64_t invocations = 0;    ///< invocations=128
  int64_t storageRange = 0;   ///< range=134217728
  int64_t storageBuffers = 0; ///< buffers=4
  int64_t groupCount = 0;     ///< groups=65535, a dimension
  int64_t memory = 0;         ///< memory=1048576, of all buffers; only where it is lowered
};

/// Sizes of subgroups; where `chosen`, a kernel can ask for a power of two from `least` to `most`.
struct VulkanSubgroups {
  int64_t usual = 0, least = 0, most = 0;
  bool chosen = false;
};

/// Products of four signed bytes each, packed in words: emulated ones are slower than f32.
enum class VulkanDots : uint8_t { None, Emulated, Accelerated };

struct VulkanDeviceInfo {
  std::string name, driver, apiVersion;
  VulkanLimits limits;
  bool usable = false;     ///< a compute queue and Vulkan 1.1
  bool isSoftware = false; ///< runs on the processor
  int level = 0;           ///< at which kernels run, unless a session asks for another
  int highest = 0;         ///< the highest level that it has
  std::string beyond;      ///< why it has no higher one: "no cooperativeMatrix"
  VulkanSubgroups subgroups;
  std::vector<MatrixShape> matrices;
  VulkanDots dots = VulkanDots::None;
};

/// Devices in the order of the loader, whose index is N of "vulkan:N". An input error that begins
/// with "vulkan: " if there is no loader or driver.
Expected<std::vector<VulkanDeviceInfo>> listVulkanDevices();

/// Opens device number `device`, compiles the kernels and uploads the weights. Input error if the
/// artifact has no SPIR-V or the device cannot run it, or lacks `level`. Without a level it is that
/// of VulkanDeviceInfo.
Expected<std::unique_ptr<DeviceCode>> loadVulkanCode(const Artifact &artifact, int device,
                                                     std::optional<int> level = {},
                                                     const PhaseObserver &observer = {});

/// What the driver says of a kernel's pipeline.
struct VulkanPipeline {
  std::string kernel, variant; ///< the variant is named by its member's folder: "l0", "l2-16x16x16"
  std::vector<std::pair<std::string, std::string>> statistics; ///< the driver's names and values
};

/// Compiles the kernels as loadVulkanCode does and asks the driver about each. Input error also if
/// it tells nothing (VK_KHR_pipeline_executable_properties).
Expected<std::vector<VulkanPipeline>> listVulkanPipelines(const Artifact &artifact, int device,
                                                          std::optional<int> level = {});

} // namespace heddle
