//===- CpuRates.h - Peak arithmetic rates of this processor ----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured peak rates of the processor. Benchmarks measure a peak in each round, next to the kernel
// that they compare with it. The runtime uses rates, measured once per machine, to choose among
// code members with equal results. A processor's name is not sufficient: vdpbf16ps runs at twice
// the rate of multiply-adds on one processor and at half of it on another.
#pragma once

#include "heddle/Support/Formats.h"

#include <cstdint>
#include <string>

namespace heddle {

const char *toString(Arithmetic arithmetic); ///< "f32", "bf16", "int8", "f16"

/// Instruction that `measureRate` times, on the processor's widest vectors: "vfmadd231ps, 16
/// lanes"; empty if the processor has none.
std::string rateInstruction(Arithmetic arithmetic);

/// Operations per second (a multiply-add is two) of `threads` threads together, on registers only;
/// 0 if the processor lacks the instruction. The default `steps` take some milliseconds.
double measureRate(Arithmetic arithmetic, int threads, int64_t steps = 2'000'000);

/// Rates of one core in 10^9 operations per second; 0 if the processor lacks the instruction.
struct CpuRates {
  double multiplyAdd = 0;   ///< f32
  double bf16Dot2 = 0;      ///< vdpbf16ps
  double int8Dot4 = 0;      ///< vpdpbusd
  double f16Accumulate = 0; ///< multiply-adds of f16 into f16

  bool dot2Pays() const { return bf16Dot2 > multiplyAdd; }
  bool operator==(const CpuRates &) const = default;
};

/// Measures the rates in about a millisecond.
CpuRates measureCpuRates();

/// Rates of this machine, from the cache folder. The first process measures and stores them.
const CpuRates &cpuRates();

/// Text of the rates for the cache file.
std::string toText(const CpuRates &rates);
/// Reads toText's result; false, and `rates` unchanged, if the text is damaged.
bool parseRates(const std::string &text, CpuRates &rates);

} // namespace heddle
