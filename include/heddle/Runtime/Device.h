//===- Device.h - What a session asks of a device --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two objects. A DeviceCode holds what sessions share: code and weights. A
// Device holds the planned memory of one session and carries out its calls. A
// call is: begin, uploads, copies and fills, launches, download requests,
// finish, then downloads are read. A device may do each step at once (CPU) or
// record it and run everything in finish (Vulkan).
//
// Planned memory is one range of bytes; the session decides what lies where.
// Offsets and sizes are bytes, multiples of 16; buffers start at multiples of 256.
#pragma once

#include "heddle/Support/Program.h"

#include <cstddef>
#include <memory>
#include <span>

namespace heddle {

class Artifact;

/// A piece of planned memory.
struct MemoryRange {
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// Bytes past the end of planned memory that kernels may read: attention loads queries in fragments
/// of 8 rows, so at most 7 rows of one head behind its last, 28 bytes a feature. That is enough for
/// heads of 65,536 features.
constexpr int64_t memorySlack = int64_t{2} << 20;
constexpr int64_t memoryAlignment = 256;

/// Where an argument starts, in planned memory or in the weights, and the bytes of its buffer from
/// there on.
struct LaunchAddress {
  bool weight = false;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// A launch with everything evaluated.
struct LaunchCall {
  int kernel = 0; ///< index into Program::kernels
  std::span<const LaunchAddress> arguments;
  std::span<const int64_t> scalars;
  std::array<int64_t, 3> grid = {1, 1, 1}; ///< one of no points is not launched
  int64_t work = 0; ///< operations and bytes, to judge whether threads are worth it; 0: unknown
  /// Weights that the tiles of the last axis read from end to end, one after the other.
  std::span<const LaunchAddress> panels;
  /// The next launch of the call that has panels, if there is one.
  const LaunchCall *next = nullptr;

  int64_t points() const { return grid[0] * grid[1] * grid[2]; }
};

class Device {
public:
  virtual ~Device();

  /// Gives planned memory at least `bytes` (and the slack); bytes [0, keep) stay as they are. Not
  /// inside a call.
  virtual Status resize(int64_t bytes, int64_t keep) = 0;

  virtual Status begin() = 0;
  /// Where to write the bytes of `range` before the next launch, copy or finish; the whole range
  /// must be written.
  virtual Expected<std::byte *> upload(MemoryRange range) = 0;
  virtual Status copy(int64_t from, int64_t to, int64_t bytes) = 0;
  /// Fills with a 4-byte pattern.
  virtual Status fill(MemoryRange range, uint32_t pattern) = 0;
  virtual Status launch(const LaunchCall &call) = 0;
  /// Asks for the bytes of `range` as they are now.
  virtual Status download(MemoryRange range) = 0;
  virtual Status finish() = 0;
  /// After finish: the bytes of a range that was asked for.
  virtual std::span<const std::byte> downloaded(MemoryRange range) const = 0;
};

class DeviceCode {
public:
  virtual ~DeviceCode();
  /// Memory and a queue of its own for one session. `threads` 0: all processors.
  virtual Expected<std::unique_ptr<Device>> createDevice(int threads) const = 0;
  /// The form of a kernel that this device runs; null where the program has none.
  virtual const KernelCode *codeOf(const Kernel &kernel) const = 0;
  /// What runs the code, for people: "cpu x86-64-v4, 2 threads".
  virtual std::string describe() const = 0;
};

/// Loads code and weights of `artifact` for "cpu", "vulkan" or "vulkan:N". The artifact must
/// outlive the code.
Expected<std::unique_ptr<DeviceCode>> loadCode(const Artifact &artifact, std::string_view device);

/// One line a device that programs could run on, the CPU first.
Expected<std::vector<std::string>> listDevices();

} // namespace heddle
