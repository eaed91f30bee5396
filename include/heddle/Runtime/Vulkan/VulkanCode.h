//===- VulkanCode.h - Vulkan devices ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs SPIR-V kernels on a Vulkan 1.1 device without optional features. The loader
// is found at run time. Environment: HEDDLE_VULKAN_VALIDATION=1 turns the
// validation layer on and any message into an error; HEDDLE_VULKAN_LIMITS=minimum
// (or name=value pairs) lowers the device's limits, for tests.
#pragma once

#include "heddle/Runtime/Device.h"

namespace heddle {

/// Device limits that decide whether a kernel can run, lowered by HEDDLE_VULKAN_LIMITS; behind each
/// its form there.
struct VulkanLimits {
  int64_t sharedBytes = 0;    ///< shared=16384
  int64_t invocations = 0;    ///< invocations=128
  int64_t storageRange = 0;   ///< range=134217728
  int64_t storageBuffers = 0; ///< buffers=4
  int64_t groupCount = 0;     ///< groups=65535, a dimension
};

struct VulkanDeviceInfo {
  std::string name, driver, apiVersion;
  VulkanLimits limits;
  bool usable = false; ///< a compute queue and Vulkan 1.1
};

/// Devices in the order of the loader, whose index is N of "vulkan:N". An input error that begins
/// with "vulkan: " if there is no loader or driver.
Expected<std::vector<VulkanDeviceInfo>> listVulkanDevices();

/// Opens device number `device`, compiles the kernels and uploads the weights. Input error if the
/// artifact has no SPIR-V or the device cannot run it.
Expected<std::unique_ptr<DeviceCode>> loadVulkanCode(const Artifact &artifact, int device);

} // namespace heddle
