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
#include "heddle/Support/VulkanLevels.h"

#include <charconv>
#include <cstdio>

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
                                               std::optional<int> vulkanLevel) {
  if (std::optional<int> number = vulkanNumber(device))
    return loadVulkanCode(artifact, *number, vulkanLevel);
  if (device != "cpu")
    return usageError(
        "device: expected cpu, vulkan or vulkan:N, found " + quotedText(device) +
        (device.starts_with("cuda") || device == "gpu" || device == "rocm" || device == "metal"
             ? ", did you mean vulkan?"
             : ""));
  if (vulkanLevel)
    return usageError("--vulkan-level: expected --device=vulkan beside it, found 'cpu'");
  return loadCpuCode(artifact);
}

//===- List --------------------------------------------------------------===//

static std::string text(int64_t value) { return std::to_string(value); }

/// At which level kernels run, and why at no higher one.
static std::string levelText(const VulkanDeviceInfo &info) {
  std::string line = "level " + text(info.level);
  if (info.highest > info.level)
    line += ", or with --vulkan-level one up to " + text(info.highest) +
            (info.isSoftware ? ": on a processor 0 is the fastest" : "");
  if (!info.beyond.empty())
    line += "; not " + text(info.highest + 1) + ": " + info.beyond;
  return line;
}

static std::string subgroupText(const VulkanSubgroups &sizes) {
  if (sizes.least == sizes.most)
    return "subgroups of " + text(sizes.usual);
  return "subgroups of " + text(sizes.least) + " to " + text(sizes.most) + ", usually " +
         text(sizes.usual) + (sizes.chosen ? "" : ", which kernels cannot choose");
}

static std::string matricesText(const std::vector<MatrixShape> &matrices) {
  return "matrices " + listText(matrices, [](const MatrixShape &shape) {
           return matrixText(shape) + " into " + toString(shape.sums);
         });
}

static std::string dotsText(VulkanDots dots) {
  switch (dots) {
  case VulkanDots::None:
    return "packed int8 dot none";
  case VulkanDots::Emulated:
    return "packed int8 dot emulated, not used";
  case VulkanDots::Accelerated:
    return "packed int8 dot accelerated";
  }
  return "";
}

static std::string limitsText(const VulkanLimits &limits) {
  return "shared memory " + text(limits.sharedBytes >> 10) + " KiB, invocations " +
         text(limits.invocations) + ", storage range " + text(limits.storageRange >> 20) +
         " MiB, groups " + text(limits.groupCount);
}

static void describe(size_t number, const VulkanDeviceInfo &info, std::vector<std::string> &lines) {
  lines.push_back("vulkan:" + std::to_string(number) + ": " + info.name + ", driver " +
                  info.driver + ", Vulkan " + info.apiVersion +
                  (info.usable ? "" : " (not usable)"));
  if (!info.usable)
    return;
  for (const std::string &line :
       {levelText(info), subgroupText(info.subgroups), matricesText(info.matrices),
        dotsText(info.dots), limitsText(info.limits)})
    lines.push_back("  " + line);
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
  if (!found && exitStatusOf(found.error().kind) != 1)
    return found.takeError();
  if (!found) { // a machine without Vulkan: the reason is a line of the list
    lines.push_back(found.error().message);
    return lines;
  }
  for (size_t i = 0; i < found->size(); ++i)
    describe(i, (*found)[i], lines);
  return lines;
}

} // namespace heddle
