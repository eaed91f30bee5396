//===- BenchReport.h - What a benchmark measured, as text or JSON -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures of all rounds, and the two forms in which `bench` prints their medians.
#pragma once

#include "Bench.h"

#include <map>
#include <set>

namespace heddle {

/// Sizes of a call.
struct BenchSizes {
  Dimensions dims;
  std::set<std::string> limited; ///< dimensions below the default, as the functions require
};

/// Launches of one kernel in a call.
struct KernelFigures {
  std::string name;
  DType products = DType::F32; ///< type of its operands, which decides its peak
  int launches = 0;
  int64_t flops = 0, bytes = 0;
  std::vector<double> seconds; ///< sum over all launches, by round
};

struct BenchFigures {
  std::vector<KernelFigures> kernels;         ///< in the order of their first launch
  std::vector<double> calls, launches, reads; ///< reads: on Vulkan those of a copy, and its writes
  /// Peaks of f32 and of other types that kernels multiply, by round. What Vulkan's levels multiply as
  /// f32, level 0 all types, has none of its own.
  std::map<DType, std::vector<double>> peaks;
  std::map<DType, std::string> ways; ///< on Vulkan: how a peak's operations are done
  int64_t leastBytes = 0;            ///< bytes of inputs, weights and results, counted once

  /// Median peak for products of this type; 0 if none was measured.
  double peakOf(DType products) const {
    auto at = peaks.find(peaks.contains(products) ? products : DType::F32);
    return at == peaks.end() ? 0 : medianOf(at->second);
  }
};

/// What is measured, and where.
struct BenchSubject {
  const Session &session;
  const Function &function;
  const BenchSizes &sizes;
  const BenchCommand &command;
  bool onVulkan = false;
};

/// Threads of the session.
int threadsOf(const BenchCommand &command);

/// A table of the kernels below four lines about device and function.
std::string benchText(const BenchSubject &subject, const BenchFigures &figures);
/// The same as a line of JSON: seconds, bytes, operations, and rates a second.
std::string benchJson(const BenchSubject &subject, const BenchFigures &figures);

} // namespace heddle
