//===- Plan.h - A function at one shape -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function at one shape. FunctionLayout holds the distinct expressions of a function and the
// indices of their values, shared by all sessions. Plan holds the sizes at one shape, the offsets
// of buffers in scratch memory, and the arguments of launches.
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
    FewRows fewRows;
    const RoundingCode *rounding = nullptr;
    std::vector<int> offsets, scalars; ///< offsets of arguments, then of rounded rows
    int flops = -1, bytes = -1;
  };
  struct PortLayout {
    std::vector<int> shape;
    std::vector<std::string> dims; ///< by axis: the dimension's name, empty for an expression
    /// By axis of a broadcast input: whether entries are repeated to the full size.
    std::vector<bool> repeated;
    int low = -1, high = -1; ///< range of integers; -1: none
  };

  explicit FunctionLayout(const Function &function);
  /// Fails if a kernel has no code for the device.
  static Expected<FunctionLayout> create(const Program &program, const Function &function,
                                         const DeviceCode &code);

  const Function *function;
  Formulas formulas;
  std::vector<int> elements;       ///< by buffer
  std::vector<std::string> blocks; ///< by buffer: name of its block if the session keeps it
  /// By buffer: whether it is only memory for rounded rows that no launch rounds on this device.
  std::vector<bool> unused;
  std::vector<LaunchLayout> launches;
  std::vector<PortLayout> inputs, outputs;
  std::vector<std::pair<int, int>> checks;
  std::vector<int> updates;
  /// For a function that reorders rows: index of the input of parents, dimension of this input, and
  /// by state, whether its size depends on the dimension.
  size_t parents = 0;
  std::string rowDim;
  std::vector<bool> movesRows;
  /// By state: whether it is set by a start that may replace rows.
  std::vector<bool> isSet;
  /// By state whose rows move: whether only starts write to it.
  std::vector<bool> isFixed;

private:
  /// Sets parents, rowDim and movesRows.
  void findReorder();
  void findUnused();
};

/// Prefixes of the names of blocks in a session's memory.
inline constexpr std::string_view statePrefix = "state:", tablePrefix = "table:";

/// Sizes, placement and launches of a function at one shape. Reused for other shapes, so that its
/// memory is kept.
class Plan {
public:
  /// Evaluates the layout at `dims`; `dimValues` are from Formulas::dimValues. Values that this
  /// plan already holds are reused. Without `share`, no buffers share memory.
  Status update(const FunctionLayout &layout, const Dimensions &dims,
                std::span<const int64_t> dimValues, bool share);

  /// Whether the plan is already for these dimensions.
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
  /// `liveWeights` is the offset of the weights if they are in planned memory too.
  Status resolve(const FunctionLayout &layout, const Program &program,
                 std::span<const int64_t> places, std::optional<int64_t> liveWeights);
  std::span<const LaunchCall> launches() const { return calls; }

private:
  Status measure(const FunctionLayout &layout, bool share);
  Status resolveLaunch(const FunctionLayout &layout, const Program &program,
                       std::span<const int64_t> places, std::optional<int64_t> liveWeights,
                       size_t launch);
  Expected<LaunchAddress> addressOf(const FunctionLayout &layout, const Program &program,
                                    std::span<const int64_t> places,
                                    std::optional<int64_t> liveWeights, size_t launch, size_t i);
  void addRounding(const FunctionLayout::LaunchLayout &form, const Launch &source,
                   LaunchCall &call);

  std::vector<int64_t> key, values, bytes;
  bool valid = false; ///< a failed update leaves a plan that matches nothing
  bool shared = true;
  Placement scratch;
  std::vector<LaunchCall> calls;
  std::vector<std::vector<LaunchAddress>> addresses;
  std::vector<std::vector<int64_t>> scalars;
  std::vector<bool> rounded; ///< by buffer: whether a resolved launch has rounded rows into it
};

} // namespace heddle
