//===- VulkanCode.h - Vulkan devices ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code of an artifact on a Vulkan 1.1 device: runs the best variant of each SPIR-V kernel that the
// device can run (docs/gpu.md). The loader is found at run time. Environment:
// HEDDLE_VULKAN_VALIDATION=1 turns the validation layer on and any message into an error;
// HEDDLE_VULKAN_LIMITS=minimum (or name=value pairs) lowers the device's limits for tests.
#pragma once

#include "heddle/Runtime/Device.h"

#include <optional>

namespace heddle {

/// Device limits that decide whether a kernel can run. HEDDLE_VULKAN_LIMITS lowers them in the form
/// that each comment shows.
struct VulkanLimits {
  int64_t sharedBytes = 0;    ///< shared=16384
  int64_t invocations = 0;    ///< invocations=128
  int64_t storageRange = 0;   ///< range=134217728
  int64_t storageBuffers = 0; ///< buffers=4
  int64_t groupCount = 0;     ///< groups=65535, for each dimension
  int64_t memory = 0; ///< memory=1048576, the total of all buffers; set only if it is lowered
};

/// Subgroup sizes. If `chosen`, a kernel can request a power of two from `least` to `most`.
struct VulkanSubgroups {
  int64_t usual = 0, least = 0, most = 0;
  bool chosen = false;
};

/// Dot products of four signed bytes each, packed in words. Emulated ones are slower than f32.
enum class VulkanDots : uint8_t { None, Emulated, Accelerated };

struct VulkanDeviceInfo {
  std::string name, driver, apiVersion;
  VulkanLimits limits;
  bool usable = false;     ///< a compute queue and Vulkan 1.1
  bool isSoftware = false; ///< runs on the processor
  int level = 0;           ///< level at which kernels run unless a session requests another
  int highest = 0;         ///< highest level of the device
  std::string beyond;      ///< why the device has no higher level: "no cooperativeMatrix"
  VulkanSubgroups subgroups;
  std::vector<MatrixShape> matrices;
  VulkanDots dots = VulkanDots::None;
};

/// Devices in the order of the loader; the index is N of "vulkan:N". An input error that begins
/// with "vulkan: " if there is no loader or driver.
Expected<std::vector<VulkanDeviceInfo>> listVulkanDevices();

/// Opens device number `device`, compiles the kernels and uploads the weights. Input error if the
/// artifact has no SPIR-V, or the device cannot run it or lacks `level`. Without a level, uses
/// VulkanDeviceInfo::level.
Expected<std::unique_ptr<DeviceCode>> loadVulkanCode(const Artifact &artifact, int device,
                                                     std::optional<int> level = {},
                                                     const PhaseObserver &observer = {});

/// Statistics that the driver reports about a kernel's pipeline.
struct VulkanPipeline {
  std::string kernel, variant; ///< name of the variant's folder in the artifact: "l0",
                               ///< "l2-16x16x16"
  std::vector<std::pair<std::string, std::string>> statistics; ///< the driver's names and values
};

/// Compiles the kernels as loadVulkanCode does and queries the driver about each. Input error also
/// if the driver reports nothing (VK_KHR_pipeline_executable_properties).
Expected<std::vector<VulkanPipeline>> listVulkanPipelines(const Artifact &artifact, int device,
                                                          std::optional<int> level = {});

} // namespace heddle
