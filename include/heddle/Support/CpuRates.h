//===- CpuRates.h - How fast this processor multiplies ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that measures what the processor could reach. The denominators of
// every share stand in each round beside what they are compared with. And among
// forms of code with equal results the faster one is taken, by rates that
// were measured once on the processor at hand and never by its name: vdpbf16ps runs
// at twice the rate of multiply-adds on one processor and at half of it on another.
#pragma once

#include "heddle/Support/Formats.h"

#include <cstdint>
#include <string>

namespace heddle {

const char *toString(Arithmetic arithmetic); ///< "f32", "bf16", "int8", "f16"

/// The instruction that `measureRate` counts, on the widest vectors that the processor has:
/// "vfmadd231ps, 16 lanes"; empty where it has none.
std::string rateInstruction(Arithmetic arithmetic);

/// Operations a second (a multiply-add is two) of `threads` threads together on registers alone;
/// 0 where the processor lacks the instruction. By default it takes a few milliseconds.
double measureRate(Arithmetic arithmetic, int threads, int64_t steps = 2'000'000);

/// Operations of one core, in 10^9 a second; 0 where there is no such instruction.
struct CpuRates {
  double multiplyAdd = 0;   ///< f32
  double bf16Dot2 = 0;      ///< vdpbf16ps
  double int8Dot4 = 0;      ///< vpdpbusd
  double f16Accumulate = 0; ///< multiply-adds of f16 into f16

  bool dot2Pays() const { return bf16Dot2 > multiplyAdd; }
  bool operator==(const CpuRates &) const = default;
};

/// Takes a millisecond.
CpuRates measureCpuRates();

/// The rates of this machine: measured by the first process that asks, and kept in the cache folder
/// for the others.
const CpuRates &cpuRates();

/// The file's text, and back; rates that are not possible are measured anew.
std::string toText(const CpuRates &rates);
bool parseRates(const std::string &text, CpuRates &rates);

} // namespace heddle
