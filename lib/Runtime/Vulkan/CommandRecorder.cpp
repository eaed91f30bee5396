//===- CommandRecorder.cpp - Records a call's commands ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recording and submission of lists of commands. A kept recording is found by comparing its whole
// list, so that a resize, other sizes or another window need no further check.
#include "CommandRecorder.h"

#include "heddle/Support/Try.h"

#include <algorithm>
#include <utility>

namespace heddle::vulkan {

static constexpr VkPipelineStageFlags transferStage = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                      computeStage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                      hostStage = VK_PIPELINE_STAGE_HOST_BIT,
                                      deviceStages = transferStage | computeStage;
/// Recordings that are kept, for callers that alternate between a few shapes.
static constexpr size_t mostKept = 4;
/// Commands of the first part of a list. A shorter rest is not worth a second submission.
static constexpr size_t firstPart = 48, leastRest = 48;

/// Seconds since `start`.
static double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Expected<std::unique_ptr<CommandRecorder>> CommandRecorder::create(const LogicalDevice &device) {
  std::unique_ptr<CommandRecorder> created(new CommandRecorder(device));
  HEDDLE_TRY(created->createObjects());
  return created;
}

Status CommandRecorder::createObjects() {
  const VolkDeviceTable &vk = device.functions();
  VkCommandPoolCreateInfo poolInfo{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  poolInfo.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  poolInfo.queueFamilyIndex = *device.physical().queueFamily();
  HEDDLE_TRY(checked("creating a command pool",
                     vk.vkCreateCommandPool(device.handle(), &poolInfo, nullptr, &pool)));
  VkFenceCreateInfo fenceInfo{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  HEDDLE_TRY(
      checked("creating a fence", vk.vkCreateFence(device.handle(), &fenceInfo, nullptr, &fence)));
  return addRecording();
}

CommandRecorder::~CommandRecorder() {
  const VolkDeviceTable &vk = device.functions();
  vk.vkDestroyFence(device.handle(), fence, nullptr);
  vk.vkDestroyCommandPool(device.handle(), pool, nullptr); // destroys its command buffers too
}

/// Adds an empty recording after the others.
Status CommandRecorder::addRecording() {
  auto added = std::make_unique<Recording>();
  added->list = CommandList(device.instance().validates());
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = static_cast<uint32_t>(added->buffers.size());
  HEDDLE_TRY(checked(
      "creating a command buffer",
      device.functions().vkAllocateCommandBuffers(device.handle(), &info, added->buffers.data())));
  kept.push_back(std::move(added));
  return {};
}

void CommandRecorder::begin() {
  list.clear();
  times = {};
  closed.clear();
  open = 0;
  began = Clock::now();
}

void CommandRecorder::forget() {
  for (auto &recording : kept)
    recording->used = 0;
}

void CommandRecorder::stamp() {
  if (wantsTimes)
    list.stamp();
}

//===- Recording ---------------------------------------------------------===//

void CommandRecorder::barrier(VkCommandBuffer buffer, VkPipelineStageFlags from,
                              VkPipelineStageFlags to) {
  constexpr VkAccessFlags writes = VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = ((from & transferStage) != 0 ? VK_ACCESS_TRANSFER_WRITE_BIT : 0) |
                         ((from & computeStage) != 0 ? VK_ACCESS_SHADER_WRITE_BIT : 0);
  memory.dstAccessMask = to == hostStage
                             ? VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT
                             : writes | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_SHADER_READ_BIT;
  device.functions().vkCmdPipelineBarrier(buffer, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

namespace {
/// Joins lambdas into one visitor of a variant.
template <typename... Lambdas>
struct Visitor : Lambdas... {
  using Lambdas::operator()...;
};
} // namespace

void CommandRecorder::record(VkCommandBuffer buffer, const Recording &recording,
                             const Command &command) {
  const VolkDeviceTable &vk = device.functions();
  auto size = [](int64_t bytes) { return static_cast<VkDeviceSize>(bytes); };
  std::visit(Visitor{
                 [&](const BarrierCommand &it) { barrier(buffer, it.from, deviceStages); },
                 [&](const CopyCommand &it) {
                   VkBufferCopy region{size(it.fromOffset), size(it.toOffset), size(it.bytes)};
                   vk.vkCmdCopyBuffer(buffer, it.from, it.to, 1, &region);
                 },
                 [&](const FillCommand &it) {
                   vk.vkCmdFillBuffer(buffer, it.buffer, size(it.offset), size(it.bytes),
                                      it.pattern);
                 },
                 [&](const BindCommand &it) {
                   vk.vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, it.pipeline);
                   vk.vkCmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, it.layout, 0,
                                              1, &it.set, 1, &it.block);
                 },
                 [&](const DispatchCommand &it) {
                   std::span<const uint32_t> push = recording.list.pushed(it);
                   vk.vkCmdPushConstants(buffer, it.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                         static_cast<uint32_t>(push.size_bytes()), push.data());
                   vk.vkCmdDispatch(buffer, it.groups[0], it.groups[1], it.groups[2]);
                 },
                 [&](const StampCommand &) {
                   clock.write(buffer, stampNumber++, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
                 },
             },
             command);
}

/// Records the commands [first, end) in command buffer `part`.
VkResult CommandRecorder::recordPart(Recording &recording, size_t part, size_t first, size_t end) {
  const VolkDeviceTable &vk = device.functions();
  const VkCommandBuffer buffer = recording.buffers[part];
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  if (VkResult result = vk.vkBeginCommandBuffer(buffer, &info); result != VK_SUCCESS)
    return result;
  std::span<const Command> commands = recording.list.commands();
  if (first == 0) {
    stampNumber = 0;
    // Makes the writes of earlier submissions (caches) visible to this one.
    barrier(buffer, deviceStages, deviceStages);
    if (recording.isTimed)
      clock.write(buffer, stampNumber++, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
  }
  for (const Command &command : commands.subspan(first, end - first))
    record(buffer, recording, command);
  if (end == commands.size()) {
    barrier(buffer, deviceStages, hostStage);
    if (recording.isTimed)
      clock.write(buffer, stampNumber++, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  }
  return vk.vkEndCommandBuffer(buffer);
}

/// Records the list in place of the least recently used recording. Submits the first part of a long
/// list before the rest is recorded.
Status CommandRecorder::recordAndSubmit() {
  if (kept.size() < mostKept && kept.back()->used > 0)
    HEDDLE_TRY(addRecording());
  std::rotate(kept.begin(), kept.end() - 1, kept.end());
  Recording &recording = *kept.front();
  recording.used = 0;
  recording.isTimed = wantsTimes;
  std::swap(recording.list, list);
  if (wantsTimes)
    HEDDLE_TRY(clock.reserve(recording.list.stamps() + 2));
  const size_t count = recording.list.commands().size();
  const size_t parts = count >= firstPart + leastRest ? 2 : 1,
               split = parts == 1 ? count : recording.list.splitFrom(firstPart);
  for (size_t part = 0; part < parts; ++part) {
    const bool isLast = part + 1 == parts;
    VkResult result = recordPart(recording, part, part == 0 ? 0 : split, isLast ? count : split);
    if (part == 0)
      times.recording += since(began);
    if (result == VK_SUCCESS)
      result = submit({&recording.buffers[part], 1}, isLast);
    if (result != VK_SUCCESS && part > 0)
      device.waitIdle(); // the first part may run
    HEDDLE_TRY(checked("running kernels", result));
  }
  recording.used = parts;
  return {};
}

/// The kept recording of the collected commands, which becomes the first; null if there is none.
CommandRecorder::Recording *CommandRecorder::findKept() {
  auto found = std::ranges::find_if(kept, [&](const auto &recording) {
    return recording->used > 0 && recording->isTimed == wantsTimes && recording->list == list;
  });
  if (found == kept.end())
    return nullptr;
  std::rotate(kept.begin(), found, found + 1);
  return kept.front().get();
}

//===- Running -----------------------------------------------------------===//

VkResult CommandRecorder::submit(std::span<const VkCommandBuffer> buffers, bool isLast) {
  const auto start = Clock::now();
  const VkResult result = device.submit(buffers, isLast ? fence : VK_NULL_HANDLE);
  times.submitting += since(start);
  return result;
}

/// Waits without a time limit, since slow devices may need long. First polls the fence, because
/// waking a thread takes longer than many calls; not on a processor, whose kernels need its cores.
/// Then looks at the fence each second, because some drivers do not wake a waiting thread when the
/// device is lost.
VkResult CommandRecorder::wait() {
  constexpr uint64_t oneSecond = 1'000'000'000;
  constexpr double polled = 200e-6;
  const VolkDeviceTable &vk = device.functions();
  for (const auto start = Clock::now(); !device.physical().isSoftware() && since(start) < polled;)
    if (VkResult result = vk.vkGetFenceStatus(device.handle(), fence); result != VK_NOT_READY)
      return result;
  for (;;) {
    VkResult result = vk.vkWaitForFences(device.handle(), 1, &fence, VK_TRUE, oneSecond);
    if (result != VK_TIMEOUT)
      return result;
    result = vk.vkGetFenceStatus(device.handle(), fence);
    if (result != VK_NOT_READY)
      return result;
  }
}

/// Adds the times of a recording that has run. An interval may span two submissions.
VkResult CommandRecorder::addTimes(const Recording &recording) {
  times.barriers += static_cast<int64_t>(recording.list.barriers());
  if (!recording.isTimed)
    return VK_SUCCESS;
  if (VkResult result = clock.read(recording.list.stamps() + 2, passed); result != VK_SUCCESS)
    return result;
  for (size_t i = 0; i < passed.size(); ++i) {
    times.device += passed[i];
    open += passed[i];
    if (i + 1 < passed.size())
      closed.push_back(std::exchange(open, 0));
  }
  return VK_SUCCESS;
}

Status CommandRecorder::run() {
  const VolkDeviceTable &vk = device.functions();
  if (Recording *replayed = findKept()) {
    times.isReplayed = true;
    times.recording += since(began);
    HEDDLE_TRY(checked("running kernels",
                       submit({replayed->buffers.data(), replayed->used}, /*isLast=*/true)));
  } else {
    times.isReplayed = false;
    HEDDLE_TRY(recordAndSubmit());
  }
  list.clear();
  const auto start = Clock::now();
  VkResult result = wait();
  times.waiting += since(start);
  began = Clock::now();
  if (result == VK_SUCCESS)
    result = vk.vkResetFences(device.handle(), 1, &fence);
  if (result == VK_SUCCESS)
    result = addTimes(*kept.front());
  HEDDLE_TRY(checked("running kernels", result));
  return device.instance().takeMessages();
}

} // namespace heddle::vulkan
