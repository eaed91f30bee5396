//===- Plan.h - A function at one shape -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FunctionLayout is what a function needs at any shape, shared by all sessions:
// its distinct expressions and where their values go. A Plan is the function at
// one shape: sizes, the places of its buffers in scratch memory, and the
// arguments of its launches.
#pragma once

#include "Formulas.h"
#include "Placement.h"

#include "heddle/Runtime/Device.h"

#include <algorithm>

namespace heddle {

/// Expressions of a function as indices into `formulas`.
struct FunctionLayout {
  struct LaunchLayout {
    int kernel = 0;
    const KernelCode *code = nullptr;
    std::vector<int> offsets, scalars;
    int flops = -1, bytes = -1;
    std::vector<size_t> panels; ///< arguments that are weights in panels
  };
  struct PortLayout {
    std::vector<int> shape;
    std::vector<std::string> dims; ///< where an axis is just a dimension, its name
    /// Of an input that is broadcast: axes whose entries are repeated to the full size.
    std::vector<bool> repeated;
    int low = -1, high = -1; ///< range of integers; -1: none
  };

  explicit FunctionLayout(const Function &function);
  /// Fails where a kernel has no code for the device.
  static Expected<FunctionLayout> create(const Program &program, const Function &function,
                                         const DeviceCode &code);

  const Function *function;
  Formulas formulas;
  std::vector<int> elements;       ///< of each buffer
  std::vector<std::string> blocks; ///< of each buffer that a session keeps, the name in its memory
  std::vector<LaunchLayout> launches;
  std::vector<PortLayout> inputs, outputs;
  std::vector<std::pair<int, int>> checks;
  std::vector<int> updates;
  /// Of a function that reorders: the input that says how, its dimension, and of each state whether
  /// it has a row for each of these.
  size_t parents = 0;
  std::string rowDim;
  std::vector<bool> movesRows;

private:
  void findReorder();
};

/// How blocks of a session's memory are named.
inline constexpr std::string_view statePrefix = "state:", tablePrefix = "table:";

class Plan {
public:
  /// Evaluates the layout under `dims`, whose values in the order of its formulas are `dimValues`,
  /// starting from whatever this plan held. Without `share`, no buffers share memory.
  Status update(const FunctionLayout &layout, const Dimensions &dims,
                std::span<const int64_t> dimValues, bool share);

  /// Whether the plan is for these dimensions already.
  bool matches(std::span<const int64_t> dimValues, bool share) const {
    return valid && shared == share &&
           std::equal(key.begin(), key.end(), dimValues.begin(), dimValues.end());
  }

  int64_t value(int formula) const { return values[formula]; }
  int64_t bufferBytes(int buffer) const { return bytes[buffer]; }
  int64_t scratchBytes() const { return scratch.bytes; }
  /// Offset in scratch memory; only temporaries and arguments have one.
  int64_t scratchOffset(int buffer) const { return scratch.offsets[buffer]; }

  /// Turns arguments into addresses; `places` holds each buffer's offset in planned memory.
  Status resolve(const FunctionLayout &layout, const Program &program,
                 std::span<const int64_t> places);
  std::span<const LaunchCall> launches() const { return calls; }

private:
  Status measure(const FunctionLayout &layout, bool share);
  Status resolveLaunch(const FunctionLayout &layout, const Program &program,
                       std::span<const int64_t> places, size_t launch);

  std::vector<int64_t> key, values, bytes;
  bool valid = false; ///< a failed update leaves a plan that matches nothing
  bool shared = true;
  Placement scratch;
  std::vector<LaunchCall> calls;
  std::vector<std::vector<LaunchAddress>> addresses, panels;
  std::vector<std::vector<int64_t>> scalars;
};

} // namespace heddle
