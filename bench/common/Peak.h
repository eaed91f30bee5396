//===- Peak.h - The rate that the processor could reach --------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The denominator of every share: fused multiply-adds on registers alone, on
// the widest vectors that the processor has.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace heddle::bench {

/// What the loop runs on: "AVX-512, 16 lanes"; empty where there is no fused multiply-add.
std::string peakVectors();

/// Operations a second (a multiply-add is two) of `threads` threads together, over a few
/// milliseconds. Short, so that it can stand in every round beside what it is compared with.
double measurePeak(int threads);

} // namespace heddle::bench
