//===- VulkanCode.cpp - Vulkan devices --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code on a Vulkan device: the opened device, weights and pipelines, which sessions share.
#include "heddle/Runtime/Vulkan/VulkanCode.h"

#include "PipelineStatistics.h"
#include "VulkanDevice.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cstring>

namespace heddle {

using namespace vulkan;

namespace {

class VulkanCode final : public DeviceCode {
public:
  VulkanCode(const Artifact &artifact, std::unique_ptr<LogicalDevice> opened)
      : program(artifact.program()), device(std::move(opened)) {}

  Status load(const Artifact &artifact, const PhaseObserver &observer) {
    kernels = HEDDLE_TRY(KernelPipelines::create(*device, artifact, observer));
    for (size_t kernel = 0; kernel < program.kernels.size(); ++kernel)
      variants.push_back({kernels->variant(kernel), kernels->variant(kernel, /*fewRows=*/true)});
    placement.emplace(program, variants, device->physical().limits().storageRange / 16 * 16);
    HEDDLE_TRY(uploadWeights(artifact.weights()));
    return device->instance().takeMessages();
  }

  Expected<std::unique_ptr<Device>> createDevice(int) const override {
    return VulkanDevice::create(*device, *kernels, weights ? &*weights : nullptr, *placement,
                                program);
  }
  const KernelCode *codeOf(const Kernel &kernel) const override {
    return variantOf(kernel, /*fewRows=*/false);
  }
  FewRows fewRowsOf(const Kernel &kernel) const override {
    const VulkanVariant *few = variantOf(kernel, /*fewRows=*/true);
    return few ? FewRows{few, few->rows, few->mostRows} : FewRows{};
  }
  const RoundingCode *roundingOf(const Kernel &kernel) const override {
    const VulkanVariant *variant = variantOf(kernel, /*fewRows=*/false);
    return variant && variant->rounding ? &*variant->rounding : nullptr;
  }
  std::string describe() const override {
    const std::string name = "vulkan " + device->physical().info().name;
    const std::vector<std::string> &refused = kernels->refused();
    return refused.empty() ? name : name + " (driver refused " + listText(refused) + ")";
  }

private:
  const VulkanVariant *variantOf(const Kernel &kernel, bool fewRows) const {
    return kernels->variant(static_cast<size_t>(&kernel - program.kernels.data()), fewRows);
  }
  Status uploadWeights(std::span<const std::byte> bytes);

  const Program &program;
  std::unique_ptr<LogicalDevice> device;
  std::unique_ptr<KernelPipelines> kernels;
  std::vector<WeightPlacement::Forms> variants; ///< by kernel
  std::optional<WeightPlacement> placement;
  std::optional<MemoryBuffer> weights;
};

Status VulkanCode::uploadWeights(std::span<const std::byte> bytes) {
  if (bytes.empty())
    return {};
  // Kernels read whole tiles and so may read past the last weight, as on the CPU.
  const auto all = static_cast<int64_t>(bytes.size());
  weights = HEDDLE_TRY(MemoryBuffer::create(
      *device, std::max(all, placement->bytes()) + MappedBytes::slack, MemoryBuffer::Kind::Device));
  constexpr int64_t piece = int64_t{64} << 20;
  std::optional<MemoryBuffer> staging;
  if (!weights->mapped())
    staging = HEDDLE_TRY(
        MemoryBuffer::create(*device, std::min(piece, all), MemoryBuffer::Kind::Staging));
  auto recorder = HEDDLE_TRY(CommandRecorder::create(*device));
  for (const WeightPlacement::Copy &copy : placement->copies()) {
    const int64_t length = std::min(copy.bytes, all - std::min(copy.from, all));
    for (int64_t at = 0; at < length; at += piece) {
      const int64_t count = std::min(piece, length - at);
      const std::byte *from = bytes.data() + copy.from + at;
      if (!staging) {
        std::memcpy(weights->mapped() + copy.to + at, from, static_cast<size_t>(count));
        continue;
      }
      std::memcpy(staging->mapped(), from, static_cast<size_t>(count));
      recorder->begin();
      recorder->commands().copy({staging->handle(), weights->handle(), 0, copy.to + at, count});
      HEDDLE_TRY(recorder->run());
    }
  }
  return {};
}

} // namespace

Expected<std::vector<VulkanDeviceInfo>> listVulkanDevices() {
  auto instance = HEDDLE_TRY(Instance::create());
  std::vector<VulkanDeviceInfo> infos;
  for (VkPhysicalDevice handle : instance->physicalDevices()) {
    auto device = HEDDLE_TRY(PhysicalDevice::query(handle));
    infos.push_back(device.info());
  }
  if (infos.empty())
    return noDriver("there is no device");
  return infos;
}

/// Opens the device for an artifact's kernels.
static Expected<std::unique_ptr<LogicalDevice>> openFor(const Artifact &artifact, int number,
                                                        std::optional<int> level, bool statistics) {
  if (!artifact.hasVulkan() && !artifact.program().kernels.empty())
    return inputError(artifact.name() + ": expected code for Vulkan, found none; compile it with "
                                        "--target=vulkan");
  return LogicalDevice::open(number,
                             {level, KernelPipelines::featuresOf(artifact.program()), statistics});
}

Expected<std::unique_ptr<DeviceCode>> loadVulkanCode(const Artifact &artifact, int number,
                                                     std::optional<int> level,
                                                     const PhaseObserver &observer) {
  auto device = HEDDLE_TRY(openFor(artifact, number, level, false));
  auto code = std::make_unique<VulkanCode>(artifact, std::move(device));
  HEDDLE_TRY(code->load(artifact, observer));
  return std::unique_ptr<DeviceCode>(std::move(code));
}

/// Name of a variant: "vulkan/l2-16x16x16/linear.spv" is in the variant "l2-16x16x16".
static std::string variantName(std::string_view member) {
  size_t begin = member.find('/') + 1;
  return std::string(member.substr(begin, member.find('/', begin) - begin));
}

Expected<std::vector<VulkanPipeline>> listVulkanPipelines(const Artifact &artifact, int number,
                                                          std::optional<int> level) {
  auto device = HEDDLE_TRY(openFor(artifact, number, level, true));
  auto kernels = HEDDLE_TRY(KernelPipelines::create(*device, artifact));
  std::vector<VulkanPipeline> all;
  auto add = [&](size_t kernel, const char *form, std::string_view member, VkPipeline pipeline) {
    VulkanPipeline &one =
        all.emplace_back(artifact.program().kernels[kernel].name + form, variantName(member));
    for (const PipelineStatistic &statistic :
         statisticsOf(device->functions(), device->handle(), pipeline))
      one.statistics.emplace_back(statistic.name, formatted("%.15g", statistic.value));
  };
  for (size_t i = 0; i < artifact.program().kernels.size(); ++i) {
    const VulkanVariant *variant = kernels->variant(i), *few = kernels->variant(i, true);
    const auto kernel = static_cast<int>(i);
    if (variant)
      add(i, "", variant->member, kernels->pipeline(kernel, false));
    if (few)
      add(i, ", few rows", few->member, kernels->pipeline(kernel, true));
    if (variant && variant->rounding)
      add(i, ", rounding", variant->rounding->member, kernels->roundingPipeline(kernel));
  }
  return all;
}

} // namespace heddle
