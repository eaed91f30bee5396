//===- Placement.h - Buffers in one arena -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places buffers that live at different times in the same memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Bytes needed while launches first … last run.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

struct Placement {
  std::vector<int64_t> offsets; ///< multiples of memoryAlignment, in the order of the buffers
  int64_t bytes = 0;            ///< of the whole arena
};

/// Best fit, largest buffer first. Without `share`, every buffer has memory of its own.
Placement placeBuffers(std::span<const Lifetime> buffers, bool share);

} // namespace heddle
