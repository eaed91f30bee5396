//===- DeviceFeatures.cpp - Optional features of a device -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of features. Features are requested by their extensions even if a later Vulkan version
// includes them, because instances are of Vulkan 1.1.
#include "DeviceFeatures.h"

#include <string_view>

namespace heddle::vulkan {

namespace {

using Structures = DeviceFeatures::Structures;

struct Feature {
  std::string_view name;
  const char *extension; ///< null: Vulkan 1.0
  VkBaseOutStructure &(*structure)(Structures &);
  VkBool32 &(*bit)(Structures &);
};

template <auto Member, auto Bit>
constexpr Feature feature(std::string_view name, const char *extension) {
  return {name, extension,
          [](Structures &all) -> VkBaseOutStructure & {
            return reinterpret_cast<VkBaseOutStructure &>(all.*Member);
          },
          [](Structures &all) -> VkBool32 & { return all.*Member.*Bit; }};
}

template <auto Bit>
constexpr auto core = feature<&Structures::core, Bit>;
template <auto Bit>
constexpr auto small = feature<&Structures::small, Bit>;
template <auto Bit>
constexpr auto bfloat16 = feature<&Structures::bfloat16, Bit>;
template <auto Bit>
constexpr auto sizes = feature<&Structures::sizes, Bit>;

const Feature features[] = {
    core<&VkPhysicalDeviceFeatures::shaderFloat64>("shaderFloat64", nullptr),
    core<&VkPhysicalDeviceFeatures::shaderInt64>("shaderInt64", nullptr),
    core<&VkPhysicalDeviceFeatures::shaderInt16>("shaderInt16", nullptr),
    small<&VkPhysicalDeviceShaderFloat16Int8Features::shaderFloat16>(
        "shaderFloat16", VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME),
    small<&VkPhysicalDeviceShaderFloat16Int8Features::shaderInt8>(
        "shaderInt8", VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME),
    feature<&Structures::memoryModel,
            &VkPhysicalDeviceVulkanMemoryModelFeatures::vulkanMemoryModel>(
        "vulkanMemoryModel", VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME),
    feature<&Structures::dots,
            &VkPhysicalDeviceShaderIntegerDotProductFeatures::shaderIntegerDotProduct>(
        "shaderIntegerDotProduct", VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME),
    sizes<&VkPhysicalDeviceSubgroupSizeControlFeatures::subgroupSizeControl>(
        "subgroupSizeControl", VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME),
    sizes<&VkPhysicalDeviceSubgroupSizeControlFeatures::computeFullSubgroups>(
        "computeFullSubgroups", VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME),
    feature<&Structures::matrices,
            &VkPhysicalDeviceCooperativeMatrixFeaturesKHR::cooperativeMatrix>(
        "cooperativeMatrix", VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME),
    bfloat16<&VkPhysicalDeviceShaderBfloat16FeaturesKHR::shaderBFloat16Type>(
        "shaderBFloat16Type", VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME),
    bfloat16<&VkPhysicalDeviceShaderBfloat16FeaturesKHR::shaderBFloat16CooperativeMatrix>(
        "shaderBFloat16CooperativeMatrix", VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME),
    feature<&Structures::executables,
            &VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR::pipelineExecutableInfo>(
        "pipelineExecutableInfo", VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME),
};

bool isOn(const Feature &feature, const Structures &all) {
  return feature.bit(const_cast<Structures &>(all));
}

} // namespace

Names extensionsOf(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> found(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, found.data());
  Names names;
  for (const VkExtensionProperties &extension : found)
    names.insert(extension.extensionName);
  return names;
}

/// Chains the structures of `extensions`, each once, after the head.
void DeviceFeatures::link(const Names &extensions) {
  auto *last = reinterpret_cast<VkBaseOutStructure *>(&head);
  last->pNext = nullptr;
  std::string_view before;
  for (const Feature &feature : features) {
    if (!feature.extension || feature.extension == before ||
        !extensions.contains(feature.extension))
      continue;
    before = feature.extension;
    last->pNext = &feature.structure(all);
    last = last->pNext;
    last->pNext = nullptr;
  }
}

DeviceFeatures DeviceFeatures::offeredBy(VkPhysicalDevice device, const Names &extensions) {
  DeviceFeatures asked;
  asked.link(extensions);
  vkGetPhysicalDeviceFeatures2(device, &asked.head);
  asked.all.core = asked.head.features;
  return asked;
}

DeviceFeatures DeviceFeatures::only(const Names &wanted) const {
  DeviceFeatures chosen;
  for (const Feature &feature : features)
    feature.bit(chosen.all) = isOn(feature, all) && wanted.contains(feature.name);
  return chosen;
}

Names DeviceFeatures::names() const {
  Names names;
  for (const Feature &feature : features)
    if (isOn(feature, all))
      names.emplace(feature.name);
  return names;
}

std::vector<const char *> DeviceFeatures::extensions() const {
  std::vector<const char *> names;
  for (const Feature &feature : features)
    if (feature.extension && isOn(feature, all) &&
        (names.empty() || std::string_view(names.back()) != feature.extension))
      names.push_back(feature.extension);
  return names;
}

const VkPhysicalDeviceFeatures2 *DeviceFeatures::chain() {
  std::vector<const char *> on = extensions();
  head.features = all.core;
  link(Names(on.begin(), on.end()));
  return &head;
}

} // namespace heddle::vulkan
