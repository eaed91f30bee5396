//===- DeviceList.cpp - The devices of this machine --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command `devices`: lines of text or a JSON object with the same facts.
#include "heddle/Runtime/Commands.h"
#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/CpuFeatures.h"
#include "heddle/Support/CpuRates.h"
#include "heddle/Support/Parallel.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Support/VulkanLevels.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace heddle {

//===- Text --------------------------------------------------------------===//

static std::string text(int64_t value) { return std::to_string(value); }

/// The level at which kernels run, and why there is no higher one.
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

/// Measured rates (see CpuRates.h); empty if the processor has no vectors of 512 bits.
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
  if (!found) { // a machine without Vulkan: the list gives the reason
    lines.push_back(found.error().message);
    return lines;
  }
  for (size_t i = 0; i < found->size(); ++i)
    describe(i, (*found)[i], lines);
  return lines;
}

//===- JSON --------------------------------------------------------------===//

using Json = nlohmann::ordered_json;

/// Describes a device; its name, "vulkan:1", is a value of --device.
static Json jsonOf(size_t number, const VulkanDeviceInfo &info) {
  Json device{{"name", "vulkan:" + std::to_string(number)},
              {"device", info.name},
              {"driver", info.driver},
              {"vulkan", info.apiVersion},
              {"usable", info.usable}};
  if (!info.usable)
    return device;
  device["level"] = info.level;
  device["highest_level"] = info.highest;
  device["subgroups"] = {{"usual", info.subgroups.usual},
                         {"least", info.subgroups.least},
                         {"most", info.subgroups.most},
                         {"chosen", info.subgroups.chosen}};
  device["matrices"] = Json::array();
  for (const MatrixShape &shape : info.matrices)
    device["matrices"].push_back(matrixText(shape) + " into " + toString(shape.sums));
  device["int8_dot"] = info.dots == VulkanDots::Accelerated ? "accelerated"
                       : info.dots == VulkanDots::Emulated  ? "emulated"
                                                            : "none";
  device["limits"] = {{"shared_bytes", info.limits.sharedBytes},
                      {"invocations", info.limits.invocations},
                      {"storage_range", info.limits.storageRange},
                      {"groups", info.limits.groupCount}};
  return device;
}

/// Describes all devices. Without Vulkan, `vulkan` gives the reason.
static Expected<std::string> devicesJson() {
  Json cpu{{"name", "cpu"}, {"level", cpuLevel()}, {"processors", processorCount()}};
  if (const double rate = cpuRates().multiplyAdd; rate > 0)
    cpu["flops_per_second"] = rate * 1e9;
  Json report{{"devices", Json::array({std::move(cpu)})}};
  auto found = listVulkanDevices();
  if (!found && exitStatusOf(found.error().kind) != 1)
    return found.takeError();
  for (size_t i = 0; found && i < found->size(); ++i)
    report["devices"].push_back(jsonOf(i, (*found)[i]));
  if (!found)
    report["vulkan"] = found.error().message;
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status devicesCommand(std::ostream &out, bool json) {
  if (json) {
    out << HEDDLE_TRY(devicesJson());
    return {};
  }
  auto lines = HEDDLE_TRY(listDevices());
  for (const std::string &line : lines)
    out << line << '\n';
  return {};
}

} // namespace heddle
