//===- Bench.h - A model, kernel by kernel ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command `bench` once the command line is read: it makes inputs of the
// given sizes, runs a function round by round with each launch timed, measures
// the processor's rates in the same rounds, and prints a table of the kernels.
#pragma once

#include "heddle/Runtime/Device.h"
#include "heddle/Runtime/Session.h"

#include <iosfwd>

namespace heddle {

struct BenchCommand {
  /// As for `run`: empty is the only one; of several, by commas, the last is timed, after the
  /// others in each round.
  std::string function;
  Dimensions dims; ///< sizes of the inputs; those left out are 1 for "B", else 128, or
                   ///< what the functions' checks allow where that is less
  int rounds = 15;
  int threads = 0; ///< of the session, 0: all processors
};

/// Median of `values`; 0 of none.
double medianOf(std::vector<double> values);

/// Median seconds of one execution of `call` over `rounds` rounds of `repeat` executions each.
Expected<double> timeLaunch(Device &device, const LaunchCall &call, int rounds, int repeat);

/// Made-up inputs of a function: numbers around 0, ids in their range, lengths as long as they may
/// be. Inputs with a default are left out.
Expected<NamedTensors> syntheticInputs(const Function &function, const Dimensions &dims);

/// Runs, measures and prints. `onCpu`: shares of the processor's peak make sense.
Status benchCommand(Session &session, const BenchCommand &command, bool onCpu, std::ostream &out);

} // namespace heddle
