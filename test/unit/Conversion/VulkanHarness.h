//===- VulkanHarness.h - Runs one kernel on a device -----------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The least that starts a kernel with the interface of Support/Program.h: one
// buffer of memory (bindings 0 and 2), one of weights (1), push constants.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <vulkan/vulkan.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace heddle::test {

inline void check(VkResult result, const char *what) {
  if (result == VK_SUCCESS)
    return;
  std::fprintf(stderr, "%s: %d\n", what, result);
  std::abort();
}
#define HEDDLE_VK(call) ::heddle::test::check(call, #call)

/// Memory that host and device see.
struct DeviceBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  float *floats = nullptr;
  int32_t *words() const { return reinterpret_cast<int32_t *>(floats); }
};

class VulkanHarness {
public:
  static VulkanHarness &get() {
    static VulkanHarness harness;
    return harness;
  }

  DeviceBuffer allocate(size_t elements) {
    DeviceBuffer made;
    VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = elements * 4;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    HEDDLE_VK(vkCreateBuffer(device, &info, nullptr, &made.buffer));
    VkMemoryAllocateInfo memory = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    memory.allocationSize = elements * 4;
    memory.memoryTypeIndex = memoryType;
    HEDDLE_VK(vkAllocateMemory(device, &memory, nullptr, &made.memory));
    HEDDLE_VK(vkBindBufferMemory(device, made.buffer, made.memory, 0));
    HEDDLE_VK(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0,
                          reinterpret_cast<void **>(&made.floats)));
    return made;
  }
  void release(DeviceBuffer &buffer) {
    vkDestroyBuffer(device, buffer.buffer, nullptr);
    vkFreeMemory(device, buffer.memory, nullptr);
    buffer = {};
  }

  /// Runs `words` over the grid (z, y, x) `repeats` times; the best time in seconds.
  double run(std::span<const uint32_t> words, const DeviceBuffer &memory,
             const DeviceBuffer &weights, std::span<const int32_t> constants,
             std::array<int, 3> grid, int repeats = 1) {
    VkShaderModuleCreateInfo moduleInfo = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    moduleInfo.codeSize = words.size() * 4;
    moduleInfo.pCode = words.data();
    VkShaderModule module;
    HEDDLE_VK(vkCreateShaderModule(device, &moduleInfo, nullptr, &module));
    VkDescriptorSetLayoutBinding slots[3];
    for (uint32_t i = 0; i < 3; ++i)
      slots[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo setInfo = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                               nullptr, 0, 3, slots};
    VkDescriptorSetLayout setLayout;
    HEDDLE_VK(vkCreateDescriptorSetLayout(device, &setInfo, nullptr, &setLayout));
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 static_cast<uint32_t>(constants.size_bytes())};
    VkPipelineLayoutCreateInfo layoutInfo = {
        VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, nullptr, 0, 1, &setLayout, 1, &range};
    VkPipelineLayout layout;
    HEDDLE_VK(vkCreatePipelineLayout(device, &layoutInfo, nullptr, &layout));
    VkComputePipelineCreateInfo pipelineInfo = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    pipelineInfo.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                          nullptr,
                          0,
                          VK_SHADER_STAGE_COMPUTE_BIT,
                          module,
                          "main",
                          nullptr};
    pipelineInfo.layout = layout;
    VkPipeline pipeline;
    HEDDLE_VK(
        vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipelineInfo, nullptr, &pipeline));
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    VkDescriptorPoolCreateInfo poolInfo = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, nullptr, 0, 1, 1, &size};
    VkDescriptorPool sets;
    HEDDLE_VK(vkCreateDescriptorPool(device, &poolInfo, nullptr, &sets));
    VkDescriptorSetAllocateInfo setsInfo = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, nullptr,
                                            sets, 1, &setLayout};
    VkDescriptorSet set;
    HEDDLE_VK(vkAllocateDescriptorSets(device, &setsInfo, &set));
    for (uint32_t i = 0; i < 3; ++i) {
      VkDescriptorBufferInfo part = {i == 1 ? weights.buffer : memory.buffer, 0, VK_WHOLE_SIZE};
      VkWriteDescriptorSet write = {
          VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, nullptr, set,   i,      0, 1,
          VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,      nullptr, &part, nullptr};
      vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
    }
    VkCommandBufferAllocateInfo bufferInfo = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              nullptr, commands, VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              1};
    VkCommandBuffer list;
    HEDDLE_VK(vkAllocateCommandBuffers(device, &bufferInfo, &list));
    VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    HEDDLE_VK(vkBeginCommandBuffer(list, &begin));
    vkCmdBindPipeline(list, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(list, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
    vkCmdPushConstants(list, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, constants.size_bytes(),
                       constants.data());
    vkCmdDispatch(list, grid[2], grid[1], grid[0]);
    HEDDLE_VK(vkEndCommandBuffer(list));
    double best = 1e9;
    for (int i = 0; i < repeats; ++i) {
      auto start = std::chrono::steady_clock::now();
      VkSubmitInfo submit = {
          VK_STRUCTURE_TYPE_SUBMIT_INFO, nullptr, 0, nullptr, nullptr, 1, &list, 0, nullptr};
      HEDDLE_VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
      HEDDLE_VK(vkQueueWaitIdle(queue));
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    vkDestroyPipeline(device, pipeline, nullptr);
    vkDestroyDescriptorPool(device, sets, nullptr);
    vkDestroyPipelineLayout(device, layout, nullptr);
    vkDestroyDescriptorSetLayout(device, setLayout, nullptr);
    vkDestroyShaderModule(device, module, nullptr);
    return best;
  }

private:
  VulkanHarness() {
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo instanceInfo = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    instanceInfo.pApplicationInfo = &application;
    HEDDLE_VK(vkCreateInstance(&instanceInfo, nullptr, &instance));
    uint32_t count = 1;
    VkPhysicalDevice physical;
    VkResult listed = vkEnumeratePhysicalDevices(instance, &count, &physical);
    if (listed != VK_INCOMPLETE)
      HEDDLE_VK(listed);
    float priority = 1;
    VkDeviceQueueCreateInfo queueInfo = {
        VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, 0, 1, &priority};
    VkDeviceCreateInfo deviceInfo = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    deviceInfo.queueCreateInfoCount = 1;
    deviceInfo.pQueueCreateInfos = &queueInfo;
    HEDDLE_VK(vkCreateDevice(physical, &deviceInfo, nullptr, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
    VkPhysicalDeviceMemoryProperties properties;
    vkGetPhysicalDeviceMemoryProperties(physical, &properties);
    constexpr VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    while ((properties.memoryTypes[memoryType].propertyFlags & wanted) != wanted)
      ++memoryType;
    VkCommandPoolCreateInfo poolInfo = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    HEDDLE_VK(vkCreateCommandPool(device, &poolInfo, nullptr, &commands));
  }

  VkInstance instance;
  VkDevice device;
  VkQueue queue;
  VkCommandPool commands;
  uint32_t memoryType = 0;
};

} // namespace heddle::test
