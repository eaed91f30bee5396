//===- VulkanProbe.h - Peak rates of a Vulkan device ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs small shaders like kernels: some multiply and add in registers or matrix units, one copies
// memory. Times are the device's own if it has a clock.
#pragma once

#include "ProbeKernels.h"

#include "heddle/Runtime/Device.h"
#include "heddle/Support/Artifact.h"

#include <map>
#include <optional>
#include <set>

namespace heddle {

/// Measures a device and holds its memory during its lifetime.
class VulkanProbe {
public:
  /// Opens device `number` once more, at the session's level, for f32 and `types`.
  static Expected<VulkanProbe> create(int number, std::optional<int> level,
                                      const std::set<DType> &types);
  /// The requested types, other than f32, that the device does not multiply as f32.
  std::vector<DType> ownTypes() const;
  /// Operations per second for f32 or one of `ownTypes`; a multiply-add counts as two.
  Expected<double> multiplyAdd(DType type = DType::F32);
  /// Description of the multiplication: "packed products".
  const std::string &wayOf(DType type) const { return rates.at(type).code->way; }
  /// Bytes per second, read and written, of a copy.
  Expected<double> copy();
  /// Bytes per second, nearly all of them read.
  Expected<double> read();

private:
  Status load(int number, std::optional<int> level);
  Status addRate(DType type, size_t index);
  Expected<double> seconds(int kernel, int64_t groups);

  struct Rate {
    const ProbeCode *code = nullptr; ///< the variant that the device chooses
    int kernel = 0;
    int64_t groups = 8; ///< enough for a few milliseconds
  };
  uint32_t half = probedHalf; ///< vec4s in half the buffer
  std::vector<ProbeKernel> kernels;
  std::map<DType, Rate> rates;
  std::unique_ptr<Artifact> artifact; ///< must outlive `code`
  std::unique_ptr<DeviceCode> code;
  std::unique_ptr<Device> device;
};

} // namespace heddle
