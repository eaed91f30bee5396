//===- KernelPipelines.cpp - Pipelines of a program's kernels ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choice and compilation of pipelines. Kernels are checked against the device's limits before the
// driver compiles them, because drivers may crash instead of reporting an error.
#include "KernelPipelines.h"

#include "PipelineCache.h"
#include "PipelineStatistics.h"

#include "heddle/Support/SpirvFacts.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"
#include "heddle/Support/VulkanConstants.h"

#include <algorithm>

namespace heddle::vulkan {

void PipelineProgress::begin() {
  constexpr double unnoticed = 0.5; // seconds
  start = std::chrono::steady_clock::now();
  ++done;
  if (observer && seconds() > unnoticed)
    observer("pipelines " + std::to_string(done) + " of " + std::to_string(all));
}

void PipelineProgress::end() {
  passed += std::chrono::steady_clock::now() - start;
  if (observer)
    observer("");
}

Expected<std::unique_ptr<KernelPipelines>> KernelPipelines::create(const LogicalDevice &device,
                                                                   const Artifact &artifact,
                                                                   const PhaseObserver &observer) {
  if (int64_t buffers = device.physical().limits().storageBuffers; buffers < bindingCount)
    return inputError("vulkan: expected a device with " + std::to_string(bindingCount) +
                      " storage buffers a kernel, found " + std::to_string(buffers));
  std::unique_ptr<KernelPipelines> created(new KernelPipelines(device));
  HEDDLE_TRY(created->createLayouts());
  HEDDLE_TRY(created->compileAll(artifact, observer));
  return created;
}

Status KernelPipelines::createLayouts() {
  const VolkDeviceTable &vk = device.functions();
  VkDescriptorSetLayoutBinding bindings[bindingCount] = {};
  for (uint32_t i = 0; i < bindingCount; ++i) {
    bindings[i].binding = i;
    bindings[i].descriptorType = i < windowBindings ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                    : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo setInfo{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  setInfo.bindingCount = bindingCount;
  setInfo.pBindings = bindings;
  HEDDLE_TRY(
      checked("creating a descriptor set layout",
              vk.vkCreateDescriptorSetLayout(device.handle(), &setInfo, nullptr, &descriptors)));
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, vulkanPushWords * 4};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = 1;
  info.pSetLayouts = &descriptors;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  return checked("creating a pipeline layout",
                 vk.vkCreatePipelineLayout(device.handle(), &info, nullptr, &pipelineLayout));
}

static Error over(const Kernel &kernel, const std::string &what, int64_t limit, int64_t found) {
  return inputError("vulkan: kernel " + kernel.name + ": expected at most " +
                    std::to_string(limit) + " " + what + ", found " + std::to_string(found));
}

static Status checkLimits(const Kernel &kernel, const std::array<int32_t, 3> &workgroup,
                          std::span<const uint32_t> words, const PhysicalDevice &physical) {
  Expected<SpirvFacts> facts = readSpirvFacts(words);
  if (!facts)
    return inputError("vulkan: kernel " + kernel.name + ": " + facts.error().message);
  const VulkanLimits &limits = physical.limits();
  if (facts->sharedBytes > limits.sharedBytes)
    return over(kernel, "bytes of shared memory", limits.sharedBytes, facts->sharedBytes);
  if (facts->invocations > limits.invocations)
    return over(kernel, "invocations a workgroup", limits.invocations, facts->invocations);
  for (size_t i = 0; i < 3; ++i)
    if (int64_t limit = physical.allLimits().maxComputeWorkGroupSize[i]; workgroup[i] > limit)
      return over(kernel, "invocations along an axis", limit, workgroup[i]);
  return {};
}

Names KernelPipelines::featuresOf(const Program &program) {
  Names features;
  for (const Kernel &kernel : program.kernels)
    for (const VulkanVariant &variant : kernel.vulkan) {
      features.insert(variant.features.begin(), variant.features.end());
      if (variant.subgroup)
        features.insert({"subgroupSizeControl", "computeFullSubgroups"});
    }
  return features;
}

/// The kernel's forms for few rows, or its other variants, best first. Variants of `level` and
/// below are ordered by falling level, and within a level the last one first. Variants above
/// `level` follow by rising level; the device does not run them.
static std::vector<const VulkanVariant *> inOrder(const Kernel &kernel, int level, bool forFew) {
  std::vector<const VulkanVariant *> variants;
  for (const VulkanVariant &variant : kernel.vulkan)
    if (variant.isForFew() == forFew)
      variants.insert(variants.begin(), &variant);
  std::ranges::stable_sort(variants, [&](const VulkanVariant *a, const VulkanVariant *b) {
    bool within = a->level <= level, other = b->level <= level;
    return within != other ? within : within ? a->level > b->level : a->level < b->level;
  });
  return variants;
}

/// SPIR-V of a member; empty if the artifact has none.
static Expected<std::vector<uint32_t>> wordsOf(const std::string &member,
                                               const Artifact &artifact) {
  auto bytes = HEDDLE_TRY(artifact.vulkan(member));
  std::vector<uint32_t> words(bytes.size() / 4);
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(words)).begin());
  return words;
}

/// Chooses the best variant that the device can run at its level. If there is none, the error names
/// the limit that a variant exceeds, or else what the device lacks for each variant.
Expected<KernelPipelines::Chosen> KernelPipelines::choose(const Kernel &kernel,
                                                          const Artifact &artifact) const {
  const PhysicalDevice &physical = device.physical();
  std::string needed;
  Status beyond;
  for (const VulkanVariant *variant : inOrder(kernel, device.level(), false)) {
    if (refusals.count(variant))
      continue;
    if (std::vector<std::string> lacking = physical.capabilities().lacks(*variant);
        !lacking.empty()) {
      needed += (needed.empty() ? "" : ", or ") + listText(lacking) + " (level " +
                std::to_string(variant->level) + ")";
      continue;
    }
    Chosen found{variant, HEDDLE_TRY(wordsOf(variant->member, artifact))};
    if (found.words.empty())
      return inputError(artifact.name() + ": expected SPIR-V in " + variant->member +
                        ", found none");
    beyond = checkLimits(kernel, variant->workgroup, found.words, physical);
    if (beyond)
      return found;
  }
  if (!beyond)
    return beyond.takeError();
  return inputError("vulkan: kernel " + kernel.name + ": expected a device with " + needed +
                    ", found " + physical.info().name);
}

/// Whether variants of two levels give the same bits: matrix units sum in their own order.
static bool giveSameBits(int level, int other) {
  return (level < 2 && other < 2) || level == other;
}

/// Chooses the best form for few rows that gives the same bits as the variant for other launches,
/// if such forms pay on the device.
Expected<KernelPipelines::Chosen> KernelPipelines::chooseFew(const Kernel &kernel, int level,
                                                             const Artifact &artifact) const {
  if (!device.takesFewRows())
    return Chosen();
  const PhysicalDevice &physical = device.physical();
  for (const VulkanVariant *variant : inOrder(kernel, device.level(), true)) {
    if (refusals.count(variant) || variant->level > device.level() ||
        !giveSameBits(variant->level, level) || !physical.capabilities().lacks(*variant).empty())
      continue;
    Chosen found{variant, HEDDLE_TRY(wordsOf(variant->member, artifact))};
    if (!found.words.empty() && checkLimits(kernel, variant->workgroup, found.words, physical))
      return found;
  }
  return Chosen();
}

/// The rounding of a variant; none if it has none.
Expected<KernelPipelines::Chosen> KernelPipelines::chooseRounding(const Kernel &kernel,
                                                                  const VulkanVariant &variant,
                                                                  const Artifact &artifact) const {
  if (!variant.rounding)
    return Chosen();
  Chosen found{&variant, HEDDLE_TRY(wordsOf(variant.rounding->member, artifact))};
  found.rounds = true;
  if (found.words.empty())
    return inputError(artifact.name() + ": expected SPIR-V in " + variant.rounding->member +
                      ", found none");
  HEDDLE_TRY(checkLimits(kernel, variant.rounding->workgroup, found.words, device.physical()));
  return found;
}

/// Compiles all pipelines. Chooses variants first, so that the cache's file is named by a hash of
/// the code that is used.
Status KernelPipelines::compileAll(const Artifact &artifact, const PhaseObserver &observer) {
  const std::vector<Kernel> &kernels = artifact.program().kernels;
  chosen.resize(kernels.size());
  few.resize(kernels.size());
  rounding.resize(kernels.size());
  uint64_t hash = fnv1a(nullptr, 0);
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].vulkan.empty())
      continue;
    HEDDLE_TRY(chooseForms(i, artifact));
    for (const Chosen *one : {&chosen[i], &few[i], &rounding[i]})
      hash = fnv1a(one->words.data(), one->words.size() * 4, hash);
  }
  auto cache = HEDDLE_TRY(PipelineCache::open(device, hash));
  PipelineProgress progress(observer, count());
  for (size_t i = 0; i < kernels.size(); ++i)
    HEDDLE_TRY(compileForms(i, artifact, cache.handle(), progress));
  cache.save();
  return {};
}

Status KernelPipelines::chooseForms(size_t kernel, const Artifact &artifact) {
  const Kernel &one = artifact.program().kernels[kernel];
  chosen[kernel] = HEDDLE_TRY(choose(one, artifact));
  few[kernel] = HEDDLE_TRY(chooseFew(one, chosen[kernel].variant->level, artifact));
  rounding[kernel] = HEDDLE_TRY(chooseRounding(one, *chosen[kernel].variant, artifact));
  return {};
}

/// Whether a driver's answer is about the code and not about memory or the device.
static bool isRefusal(VkResult result) {
  return result < 0 && result != VK_ERROR_OUT_OF_HOST_MEMORY &&
         result != VK_ERROR_OUT_OF_DEVICE_MEMORY && result != VK_ERROR_DEVICE_LOST;
}

/// Compiles all forms of a kernel. Drivers may refuse a variant although the device offers all that
/// it needs, such as a matrix shape that is listed and not implemented. The next variants are then
/// chosen.
Status KernelPipelines::compileForms(size_t kernel, const Artifact &artifact, VkPipelineCache cache,
                                     PipelineProgress &progress) {
  const Kernel &one = artifact.program().kernels[kernel];
  const auto forms = {&chosen[kernel], &few[kernel], &rounding[kernel]};
  for (Chosen *form : forms) {
    if (!form->variant)
      continue;
    progress.begin();
    Expected<VkResult> result = compile(one, cache, *form);
    progress.end();
    if (HEDDLE_TRY(result) == VK_SUCCESS)
      continue;
    Status failure = checked("compiling kernel " + one.name, *result);
    if (!isRefusal(*result))
      return failure;
    refusals.insert(form->variant);
    refusedNames.push_back(one.name + " of level " + std::to_string(form->variant->level));
    for (Chosen *made : forms)
      destroy(*made);
    if (!chooseForms(kernel, artifact)) // no variant is left
      return failure;
    return compileForms(kernel, artifact, cache, progress);
  }
  return {};
}

size_t KernelPipelines::count() const {
  auto isThere = [](const Chosen &one) { return one.variant != nullptr; };
  return static_cast<size_t>(std::ranges::count_if(chosen, isThere) +
                             std::ranges::count_if(few, isThere) +
                             std::ranges::count_if(rounding, isThere));
}

Expected<VkResult> KernelPipelines::compile(const Kernel &kernel, VkPipelineCache cache,
                                            Chosen &made) {
  const VolkDeviceTable &vk = device.functions();
  const std::vector<uint32_t> words = std::move(made.words);
  VkShaderModuleCreateInfo moduleInfo{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = words.size() * 4;
  moduleInfo.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  HEDDLE_TRY(checked("compiling kernel " + kernel.name,
                     vk.vkCreateShaderModule(device.handle(), &moduleInfo, nullptr, &module)));
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  VkBool32 keepsHalves = device.physical().keepsHalves();
  VkSpecializationMapEntry constant{vulkanKeepsHalves, 0, sizeof keepsHalves};
  VkSpecializationInfo constants{1, &constant, sizeof keepsHalves, &keepsHalves};
  info.stage.pSpecializationInfo = &constants;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  if (made.variant->subgroup && device.physical().capabilities().subgroups().chosen) {
    size.requiredSubgroupSize = static_cast<uint32_t>(made.variant->subgroup);
    info.stage.pNext = &size;
    if (made.invocations() % made.variant->subgroup == 0)
      info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  if (device.keepsStatistics())
    info.flags = keepsStatistics;
  info.layout = pipelineLayout;
  VkResult result =
      vk.vkCreateComputePipelines(device.handle(), cache, 1, &info, nullptr, &made.pipeline);
  vk.vkDestroyShaderModule(device.handle(), module, nullptr);
  return result;
}

void KernelPipelines::destroy(Chosen &made) {
  device.functions().vkDestroyPipeline(device.handle(), made.pipeline, nullptr);
  made.pipeline = VK_NULL_HANDLE;
}

KernelPipelines::~KernelPipelines() {
  const VolkDeviceTable &vk = device.functions();
  for (std::vector<Chosen> *all : {&chosen, &few, &rounding})
    for (Chosen &made : *all)
      destroy(made);
  vk.vkDestroyPipelineLayout(device.handle(), pipelineLayout, nullptr);
  vk.vkDestroyDescriptorSetLayout(device.handle(), descriptors, nullptr);
}

} // namespace heddle::vulkan
