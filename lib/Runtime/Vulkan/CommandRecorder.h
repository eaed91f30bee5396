//===- CommandRecorder.h - Records a call's commands ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the commands of a call and runs them. Recordings are kept: a call with the commands of
// an earlier one submits its recording again. Used by one thread at a time.
#pragma once

#include "CommandList.h"
#include "DeviceClock.h"

#include "heddle/Runtime/Session.h"

#include <chrono>
#include <memory>

namespace heddle::vulkan {

/// Command buffers with their pool and fence, reused for every call.
class CommandRecorder {
public:
  static Expected<std::unique_ptr<CommandRecorder>> create(const LogicalDevice &device);
  ~CommandRecorder();
  CommandRecorder(const CommandRecorder &) = delete;
  CommandRecorder &operator=(const CommandRecorder &) = delete;

  /// Drops the collected commands and the times of earlier ones.
  void begin();
  /// The commands of the next submission.
  CommandList &commands() { return list; }
  /// Ends an interval of the call's times.
  void stamp();
  /// Submits the collected commands, waits for their end, makes all writes visible to the host, and
  /// drops the commands. The times of all submissions of a call add up.
  Status run();
  /// Drops kept recordings. Must be called before a buffer or a descriptor set is destroyed.
  void forget();

  /// Makes the device time later calls by its clock; false if it has none.
  bool keepTimes() { return wantsTimes = device.physical().clockBits() > 0; }
  /// Seconds of the call's intervals.
  std::span<const double> intervals() const { return closed; }
  /// Times of the call since `begin`; `device` is 0 if they are not kept.
  const CallTime &callTime() const { return times; }

private:
  using Clock = std::chrono::steady_clock;
  /// A list and its recording. A long list has a second command buffer, which is recorded while the
  /// first one runs.
  struct Recording {
    CommandList list;
    std::array<VkCommandBuffer, 2> buffers = {};
    size_t used = 0;      ///< command buffers of the list; 0: the recording is not complete
    bool isTimed = false; ///< it begins and ends with a stamp
  };

  explicit CommandRecorder(const LogicalDevice &device)
      : device(device), clock(device), list(device.instance().validates()) {}
  Status createObjects();
  Status addRecording();
  Recording *findKept();
  Status recordAndSubmit();
  VkResult recordPart(Recording &recording, size_t part, size_t first, size_t end);
  void record(VkCommandBuffer buffer, const Recording &recording, const Command &command);
  VkResult submit(std::span<const VkCommandBuffer> buffers, bool isLast);
  VkResult wait();
  VkResult addTimes(const Recording &recording);
  void barrier(VkCommandBuffer buffer, VkPipelineStageFlags from, VkPipelineStageFlags to);

  const LogicalDevice &device;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
  DeviceClock clock;
  CommandList list;
  std::vector<std::unique_ptr<Recording>> kept; ///< most recent first
  bool wantsTimes = false;
  size_t stampNumber = 0; ///< of the next stamp that is recorded
  CallTime times;
  std::vector<double> closed, passed; ///< the call's intervals; scratch of addTimes
  double open = 0;                    ///< seconds of the interval that no stamp has ended
  Clock::time_point began;            ///< of the commands that are not submitted yet
};

} // namespace heddle::vulkan
