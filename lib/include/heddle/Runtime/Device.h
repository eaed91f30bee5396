//===- Device.h - Interface of a device ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interface of a device. DeviceCode holds code and weights, which sessions share. Device holds the
// planned memory of one session and carries out its calls. The steps of a call are: begin; uploads,
// copies and fills; launches; download requests; finish; reading the downloads. A device may do
// each step at once (CPU) or record it and run everything in finish (Vulkan).
//
// Planned memory is one range of bytes in which the session places all buffers. Offsets and sizes
// are bytes and multiples of 16; buffers start at multiples of 256.
#pragma once

#include "heddle/Runtime/Session.h"
#include "heddle/Support/Program.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace heddle {

class Artifact;

/// A range of planned memory.
struct MemoryRange {
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// Bytes past the end of planned memory that kernels may read. Attention loads queries in fragments
/// of 8 rows, so it reads up to 7 rows (28 bytes a feature) past the last one: 2 MiB serve heads of
/// up to 65,536 features.
constexpr int64_t memorySlack = int64_t{2} << 20;
/// Upper bound of Vulkan's minStorageBufferOffsetAlignment, in bytes.
constexpr int64_t memoryAlignment = 256;
/// Rounds up to a multiple of memoryAlignment.
constexpr int64_t aligned(int64_t bytes) {
  return (bytes + memoryAlignment - 1) / memoryAlignment * memoryAlignment;
}

/// Address of an argument, in planned memory or in the weights. `bytes` extend to the end of its
/// buffer.
struct LaunchAddress {
  bool weight = false;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// A launch whose sizes, offsets and scalars are numbers.
struct LaunchCall {
  int kernel = 0; ///< index into Program::kernels
  std::span<const LaunchAddress> arguments;
  std::span<const int64_t> scalars;
  std::array<int64_t, 3> grid = {1, 1, 1}; ///< an empty grid is not launched
  int64_t work = 0;     ///< operations + bytes, decides the number of threads; 0: unknown
  bool fewRows = false; ///< runs the kernel's form for few rows (DeviceCode::fewRowsOf)
  /// Whether the kernel's rounding runs first, over its own grid. The last two arguments are then
  /// what it writes. Launches without it may read what an earlier launch has rounded.
  bool rounds = false;
  std::array<int64_t, 3> roundingGrid = {0, 0, 0};

  int64_t points() const { return grid[0] * grid[1] * grid[2]; }
};

/// Called with a short phrase when a phase of long work begins, and with an empty one when it ends.
using PhaseObserver = std::function<void(const std::string &phase)>;

/// Planned memory of one session, and the commands of its calls. Used by one thread at a time.
class Device {
public:
  virtual ~Device();

  /// Grows planned memory to at least `bytes` (plus memorySlack); bytes [0, keep) keep their
  /// contents. Not inside a call.
  virtual Status resize(int64_t bytes, int64_t keep) = 0;

  /// Begins a call.
  virtual Status begin() = 0;
  /// Address to which the caller writes all bytes of `range` before the next launch, copy or
  /// finish.
  virtual Expected<std::byte *> upload(MemoryRange range) = 0;
  /// Copies inside planned memory; `from` and `to` are offsets.
  virtual Status copy(int64_t from, int64_t to, int64_t bytes) = 0;
  /// Fills with a 4-byte pattern.
  virtual Status fill(MemoryRange range, uint32_t pattern) = 0;
  /// Runs or records a kernel, ordered after all earlier commands. The grid is not empty. `then`
  /// are the launches that follow in the call, if they are known.
  virtual Status launch(const LaunchCall &call, std::span<const LaunchCall> then) = 0;
  /// Requests the bytes of `range` as they are at this point of the call.
  virtual Status download(MemoryRange range) = 0;
  /// Ends the call and waits until all its commands have run.
  virtual Status finish() = 0;
  /// Sets the observer that is called when a driver takes long to compile a kernel at its first
  /// launch.
  virtual void observe(PhaseObserver /*observer*/) {}
  /// Seconds spent in compiling kernels at their first launch so far.
  virtual double preparationSeconds() const { return 0; }
  /// Makes the device time later calls by its own clock; false if it has none.
  virtual bool keepTimes() { return false; }
  /// Ends an interval of the call, whose first interval begins with it. Has no effect unless times
  /// are kept.
  virtual void stamp() {}
  /// Seconds of the intervals of the last finished call.
  virtual std::span<const double> intervals() const { return {}; }
  /// Times of the last finished call; none without a clock.
  virtual std::optional<CallTime> callTime() const { return std::nullopt; }
  /// Bytes of a range that was requested before finish.
  virtual std::span<const std::byte> downloaded(MemoryRange range) const = 0;
};

/// Form of a kernel for launches whose scalar number `rows` is at most `most`. Without `code` the
/// kernel has no form for few rows.
struct FewRows {
  const KernelCode *code = nullptr;
  int rows = -1;
  int64_t most = 0;

  bool serves(std::span<const int64_t> scalars) const { return code && scalars[rows] <= most; }
};

/// Code and weights of an artifact on a device, immutable and shared by sessions.
class DeviceCode {
public:
  virtual ~DeviceCode();
  /// Creates memory and a queue for one session. `threads` 0: all processors.
  virtual Expected<std::unique_ptr<Device>> createDevice(int threads) const = 0;
  /// Code of a kernel for this device; null if the program has none.
  virtual const KernelCode *codeOf(const Kernel &kernel) const = 0;
  virtual FewRows fewRowsOf(const Kernel &) const { return {}; }
  /// Code that rounds rows before `codeOf(kernel)` reads them; null if that code has none.
  virtual const RoundingCode *roundingOf(const Kernel &) const { return nullptr; }
  /// Readable name of the device and its instruction set: "cpu x86-64-v4".
  virtual std::string describe() const = 0;
};

/// Number of the Vulkan device that "vulkan" (0) or "vulkan:N" names; none for other names.
std::optional<int> vulkanNumber(std::string_view device);

/// Loads code and weights of `artifact` for "cpu", "vulkan" or "vulkan:N". `cpu` names the
/// instruction set of the code; empty: the best for this processor. Usage error for another name,
/// for a level together with "cpu", and for an instruction set together with Vulkan. The artifact
/// must outlive the code. `observer` is called when pipelines take long to compile.
Expected<std::unique_ptr<DeviceCode>> loadCode(const Artifact &artifact, std::string_view device,
                                               std::string_view cpu = {},
                                               std::optional<int> vulkanLevel = {},
                                               const PhaseObserver &observer = {});

/// Lines of text about the devices, the CPU first; details of a device are indented after its name.
/// A machine without Vulkan is no error: the last line then gives the reason.
Expected<std::vector<std::string>> listDevices();

} // namespace heddle
