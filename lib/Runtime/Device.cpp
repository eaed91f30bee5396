//===- Device.cpp - Selects and lists devices -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of devices and their implementations.
#include "heddle/Runtime/Device.h"

#include "heddle/Runtime/Cpu/CpuCode.h"
#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/CpuFeatures.h"
#include "heddle/Support/CpuRates.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Support/Text.h"

#include <charconv>
#include <cstdio>

namespace heddle {

Device::~Device() = default;
DeviceCode::~DeviceCode() = default;

Expected<std::unique_ptr<DeviceCode>> loadCode(const Artifact &artifact, std::string_view device) {
  if (device == "cpu")
    return loadCpuCode(artifact);
  constexpr std::string_view vulkan = "vulkan";
  if (device == vulkan)
    return loadVulkanCode(artifact, 0);
  int number = 0;
  if (device.starts_with(vulkan) && device.size() > vulkan.size() + 1 &&
      device[vulkan.size()] == ':') {
    const char *end = device.data() + device.size();
    auto [stop, failure] = std::from_chars(device.data() + vulkan.size() + 1, end, number);
    if (failure == std::errc() && stop == end && number >= 0)
      return loadVulkanCode(artifact, number);
  }
  return usageError("device: expected cpu, vulkan or vulkan:N, found " + quotedText(device));
}

static std::string describe(const VulkanDeviceInfo &info) {
  const VulkanLimits &limits = info.limits;
  auto text = [](int64_t value) { return std::to_string(value); };
  return info.name + ", driver " + info.driver + ", Vulkan " + info.apiVersion +
         ", shared memory " + text(limits.sharedBytes >> 10) + " KiB, invocations " +
         text(limits.invocations) + ", storage range " + text(limits.storageRange >> 20) +
         " MiB, groups " + text(limits.groupCount) + (info.usable ? "" : " (not usable)");
}

/// Measured rates, see CpuRates.h; empty if the processor has no vectors of 512 bits.
static std::string ratesText() {
  const CpuRates &rates = cpuRates();
  if (rates.multiplyAdd == 0)
    return "";
  char text[128];
  std::snprintf(text, sizeof text, ", a core does %.0f GFLOP/s f32", rates.multiplyAdd);
  std::string all = text;
  for (auto [name, rate] :
       {std::pair("bf16 dot2", rates.bf16Dot2), std::pair("int8 dot4", rates.int8Dot4),
        std::pair("f16 sums", rates.f16Accumulate)})
    if (rate > 0) {
      std::snprintf(text, sizeof text, ", %s at %.2f of that", name, rate / rates.multiplyAdd);
      all += text;
    }
  return all;
}

Expected<std::vector<std::string>> listDevices() {
  std::vector<std::string> lines = {"cpu: " + cpuLevel() + ", " + std::to_string(processorCount()) +
                                    " processors" + ratesText()};
  auto found = listVulkanDevices();
  if (!found && found.error().kind != ErrorKind::Input)
    return found.takeError();
  if (!found) { // a machine without Vulkan: the reason is a line of the list
    lines.push_back(found.error().message);
    return lines;
  }
  for (size_t i = 0; i < found->size(); ++i)
    lines.push_back("vulkan:" + std::to_string(i) + ": " + describe((*found)[i]));
  return lines;
}

} // namespace heddle
