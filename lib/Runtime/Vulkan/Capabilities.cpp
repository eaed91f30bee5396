//===- Capabilities.cpp - Optional capabilities of a device ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Capabilities of a device. Properties are queried only if the device has their extension.
#include "Capabilities.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace heddle::vulkan {

/// Queries a structure of properties.
template <typename Properties>
static void ask(VkPhysicalDevice device, Properties &properties) {
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  all.pNext = &properties;
  vkGetPhysicalDeviceProperties2(device, &all);
}

Capabilities Capabilities::of(VkPhysicalDevice device) {
  Capabilities found;
  found.extensions = extensionsOf(device);
  found.known = DeviceFeatures::offeredBy(device, found.extensions);
  found.names = found.known.names();
  found.addSubgroups(device);
  found.addDots(device);
  found.addMatrices(device);
  return found;
}

void Capabilities::addSubgroups(VkPhysicalDevice device) {
  VkPhysicalDeviceSubgroupProperties properties{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  ask(device, properties);
  sizes.usual = sizes.least = sizes.most = properties.subgroupSize;
  constexpr std::pair<const char *, VkSubgroupFeatureFlagBits> operations[] = {
      {"subgroupBasic", VK_SUBGROUP_FEATURE_BASIC_BIT},
      {"subgroupVote", VK_SUBGROUP_FEATURE_VOTE_BIT},
      {"subgroupArithmetic", VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
      {"subgroupBallot", VK_SUBGROUP_FEATURE_BALLOT_BIT},
      {"subgroupShuffle", VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
      {"subgroupShuffleRelative", VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT},
      {"subgroupClustered", VK_SUBGROUP_FEATURE_CLUSTERED_BIT}};
  if (properties.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)
    for (auto [name, bit] : operations)
      if (properties.supportedOperations & bit)
        names.emplace(name);
  for (int64_t size = 2 * leastSubgroup; size <= sizes.usual; size *= 2)
    names.emplace(subgroupSizeNeed(size));
  if (!has("subgroupSizeControl") || !has("computeFullSubgroups"))
    return;
  VkPhysicalDeviceSubgroupSizeControlProperties control{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  ask(device, control);
  sizes.chosen = control.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
  sizes.least = control.minSubgroupSize;
  sizes.most = control.maxSubgroupSize;
}

void Capabilities::addDots(VkPhysicalDevice device) {
  if (!has("shaderIntegerDotProduct"))
    return;
  VkPhysicalDeviceShaderIntegerDotProductProperties properties{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
  ask(device, properties);
  if (properties.integerDotProduct4x8BitPackedSignedAccelerated)
    names.emplace("integerDotProduct4x8BitPackedSignedAccelerated");
}

void Capabilities::takeDots() {
  if (has("shaderIntegerDotProduct"))
    names.emplace("integerDotProduct4x8BitPackedSignedAccelerated");
}

/// Types of 8, 16 and 32 bits; none for others.
static std::optional<DType> elementOf(VkComponentTypeKHR type) {
  switch (type) {
  case VK_COMPONENT_TYPE_FLOAT16_KHR:
    return DType::F16;
  case VK_COMPONENT_TYPE_FLOAT32_KHR:
    return DType::F32;
  case VK_COMPONENT_TYPE_SINT8_KHR:
    return DType::I8;
  case VK_COMPONENT_TYPE_SINT32_KHR:
    return DType::I32;
  default:
    return type == VK_COMPONENT_TYPE_BFLOAT16_KHR ? std::optional(DType::BF16) : std::nullopt;
  }
}

void Capabilities::addMatrices(VkPhysicalDevice device) {
  if (!has("cooperativeMatrix"))
    return;
  auto list =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(vkGetInstanceProcAddr(
          volkGetLoadedInstance(), "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (!list || list(device, &count, nullptr) != VK_SUCCESS)
    return;
  std::vector<VkCooperativeMatrixPropertiesKHR> found(
      count, {VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  if (list(device, &count, found.data()) != VK_SUCCESS)
    return;
  for (const VkCooperativeMatrixPropertiesKHR &one : found) {
    std::optional<DType> operands = elementOf(one.AType), sums = elementOf(one.CType);
    if (!operands || !sums || one.AType != one.BType || one.CType != one.ResultType ||
        one.scope != VK_SCOPE_SUBGROUP_KHR || one.saturatingAccumulation)
      continue;
    MatrixShape shape{one.MSize, one.NSize, one.KSize, *operands, *sums};
    if (std::ranges::find(shapes, shape) == shapes.end())
      shapes.push_back(shape);
  }
}

VulkanDots Capabilities::dots() const {
  if (!has("shaderIntegerDotProduct"))
    return VulkanDots::None;
  return has("integerDotProduct4x8BitPackedSignedAccelerated") ? VulkanDots::Accelerated
                                                               : VulkanDots::Emulated;
}

bool Capabilities::runsSubgroupsOf(int64_t size) const {
  if (!sizes.chosen)
    return size == sizes.usual;
  return std::has_single_bit(static_cast<uint64_t>(size)) && size >= sizes.least &&
         size <= sizes.most;
}

std::vector<std::string> Capabilities::lacks(const std::vector<std::string> &features,
                                             int64_t subgroup) const {
  std::vector<std::string> lacking;
  std::ranges::copy_if(features, std::back_inserter(lacking),
                       [&](const std::string &name) { return !has(name); });
  if (subgroup && !runsSubgroupsOf(subgroup))
    lacking.push_back("subgroups of " + std::to_string(subgroup));
  return lacking;
}

std::vector<std::string> Capabilities::lacks(const VulkanVariant &variant) const {
  std::vector<std::string> lacking = lacks(variant.features, variant.subgroup);
  for (const MatrixShape &shape : variant.matrices)
    if (std::ranges::find(shapes, shape) == shapes.end())
      lacking.push_back("matrices of " + matrixText(shape));
  return lacking;
}

std::vector<std::string> Capabilities::lacks(const VulkanLevel &way,
                                             const VulkanLimits &limits) const {
  std::vector<std::string> lacking = lacks(way.features, way.subgroup);
  if (limits.sharedBytes < way.sharedBytes)
    lacking.push_back(std::to_string(way.sharedBytes) + " bytes of shared memory");
  if (limits.invocations < way.invocations)
    lacking.push_back(std::to_string(way.invocations) + " invocations a workgroup");
  bool hasOne = std::ranges::any_of(way.matrices, [&](const MatrixShape &shape) {
    return std::ranges::find(shapes, shape) != shapes.end();
  });
  if (!way.matrices.empty() && !hasOne)
    lacking.push_back("matrices of " + way.form);
  return lacking;
}

void Capabilities::clear() { *this = Capabilities(); }

/// Elements that all lists have, in the order of the first list.
static std::vector<std::string> commonTo(const std::vector<std::vector<std::string>> &lists) {
  std::vector<std::string> common;
  std::ranges::copy_if(lists.front(), std::back_inserter(common), [&](const std::string &text) {
    return std::ranges::all_of(lists, [&](const std::vector<std::string> &list) {
      return std::ranges::find(list, text) != list.end();
    });
  });
  return common;
}

std::string whyNot(int level, const Capabilities &capabilities, const VulkanLimits &limits) {
  std::vector<std::vector<std::string>> lists;
  for (const VulkanLevel &way : vulkanLevels())
    if (way.level == level)
      lists.push_back(capabilities.lacks(way, limits));
  if (level == 0 || std::ranges::any_of(lists, &std::vector<std::string>::empty))
    return "";
  if (lists.empty())
    return "there is no such level";
  auto textOf = [](const std::vector<std::string> &list) {
    return "no " + listText(list, {}, ", no ");
  };
  std::vector<std::string> common = commonTo(lists);
  return common.empty() ? listText(lists, textOf, "; or ") : textOf(common);
}

int highestLevel(const Capabilities &capabilities, const VulkanLimits &limits) {
  int highest = 0;
  for (const VulkanLevel &way : vulkanLevels())
    if (way.level == highest + 1 && whyNot(way.level, capabilities, limits).empty())
      highest = way.level;
  return highest;
}

} // namespace heddle::vulkan
