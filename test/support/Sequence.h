//===- Sequence.h - Deterministic numbers for tests -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace heddle::test {

/// Deterministic pseudorandom numbers of 24 bits, the same on every machine.
struct Sequence {
  uint32_t state = 5;
  uint32_t operator()() { return (state = state * 1664525u + 1013904223u) >> 8; }
  /// A number from -1 to 1.
  float unit() { return static_cast<float>((*this)()) * 0x1p-23f - 1; }
};

} // namespace heddle::test
