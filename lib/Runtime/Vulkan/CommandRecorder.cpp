//===- CommandRecorder.cpp - Records a call's commands ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recording of commands. A full barrier separates consecutive commands: launches share one buffer
// and one window of it, so neither a driver nor the validation layer could tell which launches are
// independent, and few are.
#include "CommandRecorder.h"

#include "heddle/Support/Try.h"

namespace heddle::vulkan {

static constexpr VkPipelineStageFlags transferStage = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                      computeStage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
static constexpr VkAccessFlags transferUses =
                                   VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                               computeUses = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

Expected<std::unique_ptr<CommandRecorder>> CommandRecorder::create(const LogicalDevice &device) {
  std::unique_ptr<CommandRecorder> created(new CommandRecorder(device));
  HEDDLE_TRY(created->createObjects());
  return created;
}

Status CommandRecorder::createObjects() {
  const VolkDeviceTable &vk = device.functions();
  VkCommandPoolCreateInfo poolInfo{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  poolInfo.queueFamilyIndex = *device.physical().queueFamily();
  HEDDLE_TRY(checked("creating a command pool",
                     vk.vkCreateCommandPool(device.handle(), &poolInfo, nullptr, &pool)));
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  HEDDLE_TRY(checked("creating a command buffer",
                     vk.vkAllocateCommandBuffers(device.handle(), &info, &commands)));
  VkFenceCreateInfo fenceInfo{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  return checked("creating a fence",
                 vk.vkCreateFence(device.handle(), &fenceInfo, nullptr, &fence));
}

CommandRecorder::~CommandRecorder() {
  const VolkDeviceTable &vk = device.functions();
  vk.vkDestroyQueryPool(device.handle(), clock, nullptr);
  vk.vkDestroyFence(device.handle(), fence, nullptr);
  vk.vkDestroyCommandPool(device.handle(), pool, nullptr); // destroys its command buffer too
}

Status CommandRecorder::begin() {
  const VolkDeviceTable &vk = device.functions();
  HEDDLE_TRY(checked("resetting commands", vk.vkResetCommandPool(device.handle(), pool, 0)));
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  HEDDLE_TRY(checked("recording commands", vk.vkBeginCommandBuffer(commands, &info)));
  // Makes the writes of earlier submissions (caches) visible to this one.
  barrier(transferStage | computeStage, VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
          transferStage | computeStage, transferUses | computeUses);
  last = Stage::Nothing;
  return startTime();
}

/// Writes the first timestamp. A queue whose timestamps have no valid bits has no clock.
Status CommandRecorder::startTime() {
  passed.reset();
  isTimed = wantsTime && device.physical().clockBits() > 0;
  if (!isTimed)
    return {};
  const VolkDeviceTable &vk = device.functions();
  if (!clock) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2;
    HEDDLE_TRY(
        checked("creating a clock", vk.vkCreateQueryPool(device.handle(), &info, nullptr, &clock)));
  }
  vk.vkCmdResetQueryPool(commands, clock, 0, 2);
  vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, clock, 0);
  return {};
}

VkResult CommandRecorder::readTime() {
  uint64_t stamps[2] = {};
  VkResult result = device.functions().vkGetQueryPoolResults(
      device.handle(), clock, 0, 2, sizeof stamps, stamps, sizeof stamps[0],
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  uint32_t bits = device.physical().clockBits();
  // timestamps wrap after the valid bits
  uint64_t valid = bits < 64 ? (uint64_t{1} << bits) - 1 : ~uint64_t{0};
  passed = static_cast<double>((stamps[1] - stamps[0]) & valid) *
           device.physical().allLimits().timestampPeriod * 1e-9;
  return result;
}

void CommandRecorder::barrier(VkPipelineStageFlags from, VkAccessFlags wrote,
                              VkPipelineStageFlags to, VkAccessFlags uses) {
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = wrote;
  memory.dstAccessMask = uses;
  device.functions().vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0,
                                          nullptr);
}

void CommandRecorder::order(Stage next) {
  bool compute = next == Stage::Compute;
  if (last != Stage::Nothing)
    barrier(last == Stage::Compute ? computeStage : transferStage,
            last == Stage::Compute ? VK_ACCESS_SHADER_WRITE_BIT : VK_ACCESS_TRANSFER_WRITE_BIT,
            compute ? computeStage : transferStage, compute ? computeUses : transferUses);
  last = next;
}

void CommandRecorder::copy(VkBuffer from, int64_t fromOffset, VkBuffer to, int64_t toOffset,
                           int64_t bytes) {
  order(Stage::Transfer);
  VkBufferCopy region{static_cast<VkDeviceSize>(fromOffset), static_cast<VkDeviceSize>(toOffset),
                      static_cast<VkDeviceSize>(bytes)};
  device.functions().vkCmdCopyBuffer(commands, from, to, 1, &region);
}

void CommandRecorder::fill(VkBuffer buffer, int64_t offset, int64_t bytes, uint32_t pattern) {
  order(Stage::Transfer);
  device.functions().vkCmdFillBuffer(commands, buffer, static_cast<VkDeviceSize>(offset),
                                     static_cast<VkDeviceSize>(bytes), pattern);
}

void CommandRecorder::bind(VkPipeline pipeline, VkPipelineLayout layout, VkDescriptorSet set,
                           uint32_t block) {
  const VolkDeviceTable &vk = device.functions();
  vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 1,
                             &block);
}

void CommandRecorder::dispatch(VkPipelineLayout layout, std::span<const uint32_t> push,
                               std::array<uint32_t, 3> groups) {
  order(Stage::Compute);
  const VolkDeviceTable &vk = device.functions();
  vk.vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        static_cast<uint32_t>(push.size() * 4), push.data());
  vk.vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
}

/// Waits without a time limit, since slow devices may need long. Polls the fence each second,
/// because some drivers do not wake a waiting thread when the device is lost.
VkResult CommandRecorder::wait() {
  constexpr uint64_t oneSecond = 1'000'000'000;
  const VolkDeviceTable &vk = device.functions();
  for (;;) {
    VkResult result = vk.vkWaitForFences(device.handle(), 1, &fence, VK_TRUE, oneSecond);
    if (result != VK_TIMEOUT)
      return result;
    result = vk.vkGetFenceStatus(device.handle(), fence);
    if (result != VK_NOT_READY)
      return result;
  }
}

Status CommandRecorder::run() {
  const VolkDeviceTable &vk = device.functions();
  barrier(transferStage | computeStage, VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
  if (isTimed)
    vk.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, clock, 1);
  VkResult result = vk.vkEndCommandBuffer(commands);
  if (result == VK_SUCCESS)
    result = device.submit(commands, fence);
  if (result == VK_SUCCESS)
    result = wait();
  if (result == VK_SUCCESS)
    result = vk.vkResetFences(device.handle(), 1, &fence);
  if (result == VK_SUCCESS && isTimed)
    result = readTime();
  HEDDLE_TRY(checked("running kernels", result));
  return device.instance().takeMessages();
}

} // namespace heddle::vulkan
