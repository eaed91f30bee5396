//===- PipelineStatistics.cpp - Driver statistics of pipelines ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics and assembly of pipelines. Each list is queried twice: for its length, and for its
// elements.
#include "PipelineStatistics.h"

#include <algorithm>
#include <string_view>

namespace heddle::vulkan {

static double numberOf(const VkPipelineExecutableStatisticKHR &statistic) {
  switch (statistic.format) {
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
    return statistic.value.b32;
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
    return static_cast<double>(statistic.value.i64);
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
    return statistic.value.f64;
  default:
    return static_cast<double>(statistic.value.u64);
  }
}

std::vector<PipelineStatistic> statisticsOf(const VolkDeviceTable &vk, VkDevice device,
                                            VkPipeline pipeline) {
  VkPipelineInfoKHR whole{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, nullptr, pipeline};
  VkPipelineExecutablePropertiesKHR properties{
      VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
  uint32_t count = 1;
  vk.vkGetPipelineExecutablePropertiesKHR(device, &whole, &count, &properties);
  if (count == 0)
    return {};
  std::vector<PipelineStatistic> all = {
      {"Subgroup size", static_cast<double>(properties.subgroupSize)}};
  VkPipelineExecutableInfoKHR which{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr,
                                    pipeline, 0};
  vk.vkGetPipelineExecutableStatisticsKHR(device, &which, &count, nullptr);
  std::vector<VkPipelineExecutableStatisticKHR> found(
      count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  vk.vkGetPipelineExecutableStatisticsKHR(device, &which, &count, found.data());
  for (const VkPipelineExecutableStatisticKHR &statistic : found)
    all.push_back({statistic.name, numberOf(statistic)});
  return all;
}

static std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> assemblyOf(const VolkDeviceTable &vk, VkDevice device,
                                    VkPipeline pipeline) {
  VkPipelineExecutableInfoKHR which{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr,
                                    pipeline, 0};
  uint32_t count = 0;
  vk.vkGetPipelineExecutableInternalRepresentationsKHR(device, &which, &count, nullptr);
  std::vector<VkPipelineExecutableInternalRepresentationKHR> texts(
      count, {VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR});
  vk.vkGetPipelineExecutableInternalRepresentationsKHR(device, &which, &count, texts.data());
  std::vector<std::string> contents(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    contents[i].resize(texts[i].dataSize + 1);
    texts[i].pData = contents[i].data();
  }
  vk.vkGetPipelineExecutableInternalRepresentationsKHR(device, &which, &count, texts.data());
  for (size_t i = 0; i < texts.size(); ++i)
    if (std::string_view(texts[i].name) == "Assembly")
      return linesOf(contents[i].c_str());
  return {};
}

} // namespace heddle::vulkan
