//===- VulkanProbe.h - Rates of a Vulkan device -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two small shaders, written as words, run as kernels do: one multiplies and adds f32
// in registers, one copies memory. Times are the device's own, where it has a clock.
#pragma once

#include "heddle/Runtime/Device.h"
#include "heddle/Support/Artifact.h"

namespace heddle {

/// Measures a device; its memory is held as long as the probe lives.
class VulkanProbe {
public:
  /// Opens device `number` a second time, beside a session's.
  static Expected<VulkanProbe> create(int number);
  /// Operations a second of multiply-adds, each counted as two.
  Expected<double> multiplyAdd();
  /// Bytes a second, those read and those written.
  Expected<double> copy();

private:
  Expected<double> seconds(int kernel, int64_t groups);

  std::unique_ptr<Artifact> artifact; ///< outlives the code
  std::unique_ptr<DeviceCode> code;
  std::unique_ptr<Device> device;
  int64_t groups = 64; ///< of the multiply-adds: enough for some milliseconds
};

} // namespace heddle
