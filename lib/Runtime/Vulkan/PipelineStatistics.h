//===- PipelineStatistics.h - Driver statistics of pipelines ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads VK_KHR_pipeline_executable_properties for `heddle inspect --pipelines` and
// bench/gpu-static. The device must have the feature pipelineExecutableInfo enabled.
#pragma once

#include <span>
#include <string>
#include <vector>
#include <volk.h>

namespace heddle::vulkan {

/// Flags that make the driver keep statistics, and its assembly.
constexpr VkPipelineCreateFlags keepsStatistics = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR,
                                keepsAssembly =
                                    VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;

struct PipelineStatistic {
  std::string name; ///< the driver's name
  double value = 0;
};

/// "Subgroup size" and all statistics of the pipeline's first executable; a compute pipeline has
/// only one.
std::vector<PipelineStatistic> statisticsOf(const VolkDeviceTable &vk, VkDevice device,
                                            VkPipeline pipeline);
/// Lines of the pipeline's assembly; empty if the driver gives none.
std::vector<std::string> assemblyOf(const VolkDeviceTable &vk, VkDevice device,
                                    VkPipeline pipeline);

} // namespace heddle::vulkan
