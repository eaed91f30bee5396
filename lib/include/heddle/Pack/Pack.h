//===- Pack.h - Weight packing ---------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts a checkpoint's tensors to stored weights: vectors, padded rows, or panels of 16 rows,
// with groups (heads) padded to 16, in the entry's type. Weights are written once, directly to a
// mapped file or to the JIT compiler's memory.
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/Program.h"

#include <cstddef>

namespace heddle {

/// Checks that `source` has all tensors of the entries, with their shapes and in readable types.
Status checkTensors(std::span<const PackEntry> entries, const WeightSource &source);

/// Writes the packedElements(entry) elements of 4 bytes of a weight, padding included, on at most
/// `threads` threads (0: all processors).
Status pack(const PackEntry &entry, const WeightSource &source, std::byte *destination,
            int threads = 1);

/// Packs all entries of a program into `weights`, Program::weightBytes zeroed bytes, on at most
/// `threads` threads (0: all processors).
Status packAll(const Program &program, const WeightSource &source, std::span<std::byte> weights,
               int threads = 0);

} // namespace heddle
