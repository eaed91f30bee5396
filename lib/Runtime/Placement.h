//===- Placement.h - Memory planning of buffers -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placement of buffers in one arena: buffers with disjoint lifetimes share memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Bytes of a buffer and its lifetime: launches first … last.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;
};

struct Placement {
  std::vector<int64_t> offsets; ///< multiples of memoryAlignment, in the order of the buffers
  int64_t bytes = 0;            ///< of the whole arena
};

/// Places the buffers by greedy best fit. Without `share`, buffers never overlap.
Placement placeBuffers(std::span<const Lifetime> buffers, bool share);

} // namespace heddle
