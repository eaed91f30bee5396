//===- VulkanProbe.cpp - Peak rates of a Vulkan device --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the shaders of ProbeKernels.cpp on one device.
#include "VulkanProbe.h"

#include "heddle/Runtime/Vulkan/VulkanCode.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <chrono>

namespace heddle {

static constexpr int copyNumber = 0, readNumber = 1; ///< indices of the kernels that load
/// Factor of the buffer's size on a GPU, whose caches may hold 64 MiB.
static constexpr uint32_t largeFactor = 8;
/// Limits of a measurement: sufficient seconds, maximum number of workgroups.
static constexpr double enough = 0.004;
static constexpr int64_t mostGroups = 65535;

/// Opens the device with the kernels.
Status VulkanProbe::load(int number, std::optional<int> level) {
  Program program;
  program.model = "{}";
  for (const ProbeKernel &kernel : kernels)
    program.kernels.push_back(kernel.kernel());
  ArtifactWriter writer(program);
  for (const ProbeKernel &kernel : kernels)
    for (const ProbeCode &one : kernel.codes)
      writer.addVulkan(one.variant.member, one.words);
  artifact = std::make_unique<Artifact>(
      HEDDLE_TRY(writer.build("probe", [](std::span<std::byte>) { return Status(); })));
  code = HEDDLE_TRY(loadVulkanCode(*artifact, number, level));
  device = HEDDLE_TRY(code->createDevice(0));
  HEDDLE_TRY(device->resize(int64_t{2} * half * 16, 0));
  device->keepTimes();
  return {};
}

/// Vec4s in half the buffer of a device.
static uint32_t halfOf(const VulkanDeviceInfo &info) {
  constexpr uint32_t large = largeFactor * probedHalf;
  const bool fits = info.limits.storageRange / 16 >= int64_t{2} * large;
  return info.isSoftware || !fits ? probedHalf : large;
}

Expected<VulkanProbe> VulkanProbe::create(int number, std::optional<int> level,
                                          const std::set<DType> &types) {
  VulkanProbe probe;
  const std::vector<VulkanDeviceInfo> devices = HEDDLE_TRY(listVulkanDevices());
  if (number < std::ssize(devices)) // another number is an error of load
    probe.half = halfOf(devices[static_cast<size_t>(number)]);
  probe.kernels = {copyKernel(probe.half), readKernel(probe.half)};
  std::vector<DType> all = {DType::F32};
  all.insert(all.end(), types.begin(), types.end());
  for (DType type : all)
    probe.kernels.push_back(HEDDLE_TRY(multiplyKernel(type)));
  HEDDLE_TRY(probe.load(number, level));
  HEDDLE_TRY(probe.copy()); // touches the whole memory
  for (size_t i = 0; i < all.size(); ++i)
    HEDDLE_TRY(probe.addRate(all[i], readNumber + 1 + i));
  return probe;
}

/// Finds the variant that the device chooses for a kernel, and a sufficient number of workgroups.
/// Adds no rate for a type that the device multiplies as f32.
Status VulkanProbe::addRate(DType type, size_t index) {
  const Kernel &kernel = artifact->program().kernels[index];
  auto taken = std::ranges::find(
      kernel.vulkan, code->codeOf(kernel),
      [](const VulkanVariant &variant) -> const KernelCode * { return &variant; });
  Rate rate{&kernels[index].codes[static_cast<size_t>(taken - kernel.vulkan.begin())],
            static_cast<int>(index)};
  if (type != DType::F32 && rate.code->variant.level == 0)
    return {};
  while (rate.groups < mostGroups && HEDDLE_TRY(seconds(rate.kernel, rate.groups)) < enough)
    rate.groups = std::min(2 * rate.groups, mostGroups);
  rates[type] = rate;
  return {};
}

std::vector<DType> VulkanProbe::ownTypes() const {
  std::vector<DType> types;
  for (const auto &[type, rate] : rates)
    if (type != DType::F32)
      types.push_back(type);
  return types;
}

Expected<double> VulkanProbe::seconds(int kernel, int64_t count) {
  const LaunchAddress memory{false, 0, int64_t{2} * half * 16};
  LaunchCall call{.kernel = kernel, .arguments = {&memory, 1}};
  call.grid[2] = count;
  auto start = std::chrono::steady_clock::now();
  HEDDLE_TRY(device->begin());
  HEDDLE_TRY(device->launch(call, {}));
  HEDDLE_TRY(device->finish());
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  std::optional<CallTime> time = device->callTime();
  return time ? time->device : passed.count();
}

Expected<double> VulkanProbe::multiplyAdd(DType type) {
  const Rate &rate = rates.at(type);
  return static_cast<double>(rate.groups * rate.code->groupFlops) /
         HEDDLE_TRY(seconds(rate.kernel, rate.groups));
}

Expected<double> VulkanProbe::copy() {
  return 2.0 * half * 16 / HEDDLE_TRY(seconds(copyNumber, groupsOf(half, copyLoads)));
}

Expected<double> VulkanProbe::read() {
  return (1 + 1.0 / readLoads) * half * 16 /
         HEDDLE_TRY(seconds(readNumber, groupsOf(half, readLoads)));
}

} // namespace heddle
