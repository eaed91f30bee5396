//===- Bench.h - Benchmark of a model's kernels ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command `bench` generates inputs of the given sizes, runs a function round by
// round with each launch timed, measures the device's peaks in the same rounds, and
// prints a table of the kernels.
#pragma once

#include "heddle/Runtime/Device.h"
#include "heddle/Runtime/Session.h"

#include <iosfwd>

namespace heddle {

/// Options of `bench`.
struct BenchCommand {
  /// Names as in RunCommand; of several, the last is timed, after the others in each round.
  std::string function;
  Dimensions dims; ///< sizes of the inputs; by default 1 for "B", else 128 or the largest
                   ///< size below that the functions' checks allow
  int rounds = 15;
  bool json = false;                   ///< an object of JSON in place of the table
  int threads = 0;                     ///< threads of the session; 0: all processors
  std::optional<int> vulkanLevel = {}; ///< of the session
};

/// Median of `values`; 0 for an empty list.
double medianOf(std::vector<double> values);

/// Median seconds of one execution of `call` over `rounds` rounds of `repeat` executions each,
/// after a round of warm-up.
Expected<double> timeLaunch(Device &device, const LaunchCall &call, int rounds, int repeat);

/// Synthetic inputs of a function: normally distributed numbers, random ids in their range, lengths
/// at their maximum. Inputs with a default are left out. Equal in every call (fixed seed).
Expected<NamedTensors> syntheticInputs(const Function &function, const Dimensions &dims);

/// Measures and prints the table, or JSON, with shares of the peaks that it measures on `device`, which the
/// session has.
Status benchCommand(Session &session, const BenchCommand &command, const std::string &device,
                    std::ostream &out);

} // namespace heddle
