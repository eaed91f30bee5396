//===- VulkanProbe.h - Rates of a Vulkan device -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small shaders, written as words, run as kernels do: some multiply and add in registers
// or matrix units, one copies memory. Times are the device's own, where it has a clock.
#pragma once

#include "ProbeKernels.h"

#include "heddle/Runtime/Device.h"
#include "heddle/Support/Artifact.h"

#include <map>
#include <optional>
#include <set>

namespace heddle {

/// Measures a device; its memory is held as long as the probe lives.
class VulkanProbe {
public:
  /// Opens device `number` a second time, beside a session's, at the session's level, for f32 and `types`
  /// beside it.
  static Expected<VulkanProbe> create(int number, std::optional<int> level,
                                      const std::set<DType> &types);
  /// Types other than f32 that the device multiplies in a way of their own, of those asked for.
  std::vector<DType> ownTypes() const;
  /// Operations a second of multiply-adds of f32 or one of `ownTypes`, each counted as two.
  Expected<double> multiplyAdd(DType type = DType::F32);
  /// How they are multiplied: "packed products".
  const std::string &wayOf(DType type) const { return rates.at(type).code->way; }
  /// Bytes a second, those read and those written.
  Expected<double> copy();

private:
  Status load(int number, std::optional<int> level);
  Status addRate(DType type, size_t index);
  Expected<double> seconds(int kernel, int64_t groups);

  struct Rate {
    const ProbeCode *code = nullptr; ///< that the device takes
    int kernel = 0;
    int64_t groups = 8; ///< enough for some milliseconds
  };
  std::vector<ProbeKernel> kernels;
  std::map<DType, Rate> rates;
  std::unique_ptr<Artifact> artifact; ///< outlives the code
  std::unique_ptr<DeviceCode> code;
  std::unique_ptr<Device> device;
};

} // namespace heddle
