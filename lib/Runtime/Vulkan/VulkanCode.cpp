//===- VulkanCode.cpp - Vulkan devices --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opened device, weights and pipelines, which sessions share.
#include "heddle/Runtime/Vulkan/VulkanCode.h"

#include "VulkanDevice.h"

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

  Status load(const Artifact &artifact) {
    kernels = HEDDLE_TRY(KernelPipelines::create(*device, artifact));
    HEDDLE_TRY(uploadWeights(artifact.weights()));
    return device->instance().takeMessages();
  }

  Expected<std::unique_ptr<Device>> createDevice(int) const override {
    return VulkanDevice::create(*device, *kernels, weights ? &*weights : nullptr, program);
  }
  const KernelCode *codeOf(const Kernel &kernel) const override {
    return kernels->variant(static_cast<size_t>(&kernel - program.kernels.data()));
  }
  std::string describe() const override { return "vulkan " + device->physical().info().name; }

private:
  Status uploadWeights(std::span<const std::byte> bytes);

  const Program &program;
  std::unique_ptr<LogicalDevice> device;
  std::unique_ptr<KernelPipelines> kernels;
  std::optional<MemoryBuffer> weights;
};

Status VulkanCode::uploadWeights(std::span<const std::byte> bytes) {
  if (bytes.empty())
    return {};
  // Kernels read whole tiles and so may read past the last weight, as on the CPU.
  weights = HEDDLE_TRY(MemoryBuffer::create(*device,
                                            static_cast<int64_t>(bytes.size()) + MappedBytes::slack,
                                            MemoryBuffer::Kind::Device));
  if (weights->mapped()) {
    std::memcpy(weights->mapped(), bytes.data(), bytes.size());
    return {};
  }
  constexpr size_t piece = size_t{64} << 20;
  auto staging = HEDDLE_TRY(MemoryBuffer::create(
      *device, static_cast<int64_t>(std::min(piece, bytes.size())), MemoryBuffer::Kind::Staging));
  auto recorder = HEDDLE_TRY(CommandRecorder::create(*device));
  for (size_t at = 0; at < bytes.size(); at += piece) {
    size_t count = std::min(piece, bytes.size() - at);
    std::memcpy(staging.mapped(), bytes.data() + at, count);
    HEDDLE_TRY(recorder->begin());
    recorder->copy(staging.handle(), 0, weights->handle(), static_cast<int64_t>(at),
                   static_cast<int64_t>(count));
    HEDDLE_TRY(recorder->run());
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

Expected<std::unique_ptr<DeviceCode>> loadVulkanCode(const Artifact &artifact, int number) {
  if (!artifact.hasVulkan() && !artifact.program().kernels.empty())
    return inputError(artifact.name() + ": expected code for Vulkan, found none; compile it with "
                                        "--target=vulkan");
  auto device = HEDDLE_TRY(LogicalDevice::open(number));
  auto code = std::make_unique<VulkanCode>(artifact, std::move(device));
  HEDDLE_TRY(code->load(artifact));
  return std::unique_ptr<DeviceCode>(std::move(code));
}

} // namespace heddle
