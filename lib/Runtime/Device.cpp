//===- Device.cpp - Selects devices -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the names of devices to their implementations.
#include "heddle/Runtime/Device.h"

#include "heddle/Runtime/Cpu/CpuCode.h"
#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/Text.h"

#include <charconv>

namespace heddle {

Device::~Device() = default;
DeviceCode::~DeviceCode() = default;

std::optional<int> vulkanNumber(std::string_view device) {
  constexpr std::string_view vulkan = "vulkan";
  if (device == vulkan)
    return 0;
  if (!device.starts_with(vulkan) || device.size() <= vulkan.size() + 1 ||
      device[vulkan.size()] != ':')
    return std::nullopt;
  int number = 0;
  const char *end = device.data() + device.size();
  auto [stop, failure] = std::from_chars(device.data() + vulkan.size() + 1, end, number);
  return failure == std::errc() && stop == end && number >= 0 ? std::optional(number)
                                                              : std::nullopt;
}

Expected<std::unique_ptr<DeviceCode>> loadCode(const Artifact &artifact, std::string_view device,
                                               std::string_view cpu, std::optional<int> vulkanLevel,
                                               const PhaseObserver &observer) {
  if (std::optional<int> number = vulkanNumber(device)) {
    if (!cpu.empty())
      return usageError("cpu: expected device cpu with it, found " + quotedText(device));
    return loadVulkanCode(artifact, *number, vulkanLevel, observer);
  }
  if (device != "cpu")
    return usageError(
        "device: expected cpu, vulkan or vulkan:N, found " + quotedText(device) +
        (device.starts_with("cuda") || device == "gpu" || device == "rocm" || device == "metal"
             ? ", did you mean vulkan?"
             : ""));
  if (vulkanLevel)
    return usageError("--vulkan-level: expected --device=vulkan with it, found 'cpu'");
  return loadCpuCode(artifact, cpu);
}

} // namespace heddle
