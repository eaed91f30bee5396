//===- BenchReport.h - Report of a benchmark --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measurements of all rounds, and their medians as text or JSON.
#pragma once

#include "Bench.h"

#include <map>
#include <set>

namespace heddle {

/// Dimensions of a call.
struct BenchSizes {
  Dimensions dims;
  std::set<std::string> limited; ///< dimensions that the functions limit below the default
};

/// All launches of one kernel in a call.
struct KernelFigures {
  std::string name;
  DType products = DType::F32; ///< type of its operands, which determines its peak
  int launches = 0;
  int64_t flops = 0, bytes = 0;
  std::vector<double> seconds; ///< sum over all launches, per round
};

/// Measurements of a benchmark, one element per round.
struct BenchFigures {
  std::vector<KernelFigures> kernels;  ///< in order of first launch
  std::vector<double> calls, launches; ///< seconds of calls and of their launches
  std::vector<double> reads, copies;   ///< bytes per second; copies on Vulkan only
  std::vector<CallTime> callTimes;     ///< of devices with a clock
  /// Peak rates per type of operands, by round. Types that a Vulkan level multiplies as f32 have no
  /// entry; level 0 does so for all types.
  std::map<DType, std::vector<double>> peaks;
  std::map<DType, std::string> ways; ///< on Vulkan: description of how a peak was reached
  int64_t leastBytes = 0;            ///< bytes of inputs, weights and results, each once

  /// Median peak for products of this type, or else of f32; 0 if none was measured.
  double peakOf(DType products) const {
    auto at = peaks.find(peaks.contains(products) ? products : DType::F32);
    return at == peaks.end() ? 0 : medianOf(at->second);
  }
  /// Medians of the calls' times; none without a clock. Counts are the last call's.
  std::optional<CallTime> callTime() const;
};

/// The measured function and its environment.
struct BenchSubject {
  const Session &session;
  const Function &function;
  const BenchSizes &sizes;
  const BenchCommand &command;
  bool onVulkan = false;
};

/// Number of threads of the session.
int threadsOf(const BenchCommand &command);

/// Four lines about device and function, and a table of the kernels.
std::string benchText(const BenchSubject &subject, const BenchFigures &figures);
/// As above, as a line of JSON: seconds, bytes, operations, and rates per second.
std::string benchJson(const BenchSubject &subject, const BenchFigures &figures);

} // namespace heddle
