//===- CpuRates.h - How fast this processor multiplies ---------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Among forms of code with equal results the faster one is taken, by rates that
// were measured on the processor at hand and never by its name: vdpbf16ps runs at
// twice the rate of multiply-adds on one processor and at half of it on another.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

/// Multiplications and additions of one core, in 10^9 a second; 0 where there is no such
/// instruction.
struct CpuRates {
  double multiplyAdd = 0; ///< f32, vectors of 512 bits
  double bf16Pairs = 0;   ///< vdpbf16ps
  double int8Quads = 0;   ///< vpdpbusd

  bool pairsPay() const { return bf16Pairs > multiplyAdd; }
  bool quadsPay() const { return int8Quads > multiplyAdd; }
  bool operator==(const CpuRates &) const = default;
};

/// Takes a millisecond.
CpuRates measureCpuRates();

/// The rates of this machine: measured by the first process that asks, and kept in
/// $XDG_CACHE_HOME/heddle (else ~/.cache/heddle) for the others.
const CpuRates &cpuRates();

/// The file's text, and back; rates that are not possible are measured anew.
std::string toText(const CpuRates &rates);
bool parseRates(const std::string &text, CpuRates &rates);

/// $XDG_CACHE_HOME/heddle or ~/.cache/heddle; empty where neither is known.
std::string cacheDirectory();

} // namespace heddle
