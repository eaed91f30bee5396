//===- Broadcast.h - Broadcast inputs -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers may leave out dimensions that repeat, or give them as 1: a dense mask of
// [queries, keys] serves every sequence and head. Runtime and reference share these
// rules, which are close to those of NumPy.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Extends the shape `given` to the rank of `full` and writes it to `sizes`; each size is 1 or that
/// of `full` (-1 in `full`: any). Missing leading dimensions become 1, at most one of them for
/// ranks below 4. For rank 4 (sequences, heads, queries, keys) two may be missing; with one
/// missing, the first dimension is sequences or sequences * heads. Errors name the input and the
/// dimension.
Status broadcastSizes(const std::string &name, std::span<const int64_t> given,
                      std::span<const int64_t> full, std::vector<int64_t> &sizes);

/// Copies a dense tensor of sizes `from` into one of sizes `to`, repeating the dimensions of size
/// 1. All other sizes are equal.
void broadcastCopy(std::span<const int64_t> from, std::span<const int64_t> to, size_t elementBytes,
                   const std::byte *source, std::byte *target);

} // namespace heddle
