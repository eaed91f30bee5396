//===- Bench.h - Benchmark of a model's kernels ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the command `bench`. It generates inputs of the given sizes, runs a function in rounds
// with each launch timed, measures the device's peak rates in the same rounds, and prints a table
// of the kernels.
#pragma once

#include "heddle/Runtime/Device.h"
#include "heddle/Runtime/Session.h"

#include <iosfwd>

namespace heddle {

/// Options of `bench`.
struct BenchCommand {
  /// Function names as in RunCommand. With several, each round runs all and times the last.
  std::string function;
  Dimensions dims; ///< sizes of the inputs; by default 1 for "B", and for others 128, or the
                   ///< largest smaller size that the functions' checks allow
  int rounds = 15;
  bool json = false;                   ///< prints a JSON object instead of the table
  int threads = 0;                     ///< threads of the session; 0: all processors
  std::optional<int> vulkanLevel = {}; ///< level of the session
};

/// Median of `values`; 0 for an empty list.
double medianOf(std::vector<double> values);

/// Median seconds of one execution of `call` over `rounds` rounds of `repeat` executions each,
/// after a warm-up round.
Expected<double> timeLaunch(Device &device, const LaunchCall &call, int rounds, int repeat);

/// Synthetic inputs of a function: normally distributed numbers, random ids in their range, and
/// maximum lengths. Inputs with a default are omitted. Every call returns the same values (fixed
/// seed).
Expected<NamedTensors> syntheticInputs(const Function &function, const Dimensions &dims);

/// Measures and prints the table or JSON, relative to peaks measured on `device`, which must be the
/// session's device.
Status benchCommand(Session &session, const BenchCommand &command, const std::string &device,
                    std::ostream &out);

} // namespace heddle
