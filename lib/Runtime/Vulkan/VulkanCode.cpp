//===- VulkanCode.cpp - Kernels as SPIR-V -----------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Vulkan device is being built; until then it says so.
//
//===----------------------------------------------------------------------===//
#include "heddle/Runtime/Vulkan/VulkanCode.h"

namespace heddle {

Expected<std::vector<VulkanDeviceInfo>> listVulkanDevices() { return inputError("vulkan: not built yet"); }

Expected<std::unique_ptr<DeviceCode>> loadVulkanCode(const Artifact &, int) { return inputError("vulkan: not built yet"); }

} // namespace heddle
