//===- Broadcast.h - Broadcast inputs -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broadcasting of inputs. Callers may omit dimensions that repeat, or give them as 1: a dense mask
// of [queries, keys] applies to every sequence and head. Runtime and reference share these rules,
// which are close to NumPy's.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Extends the shape `given` to the rank of `full` and writes it to `sizes`. Each size is 1 or
/// equals the size in `full` (-1 in `full`: any). Missing leading dimensions become 1. For ranks
/// below 4, at most one may be missing. For rank 4 (sequences, heads, queries, keys), two may be
/// missing; if one is missing, the first dimension is sequences or sequences * heads. Errors name
/// the input and the dimension.
Status broadcastSizes(const std::string &name, std::span<const int64_t> given,
                      std::span<const int64_t> full, std::vector<int64_t> &sizes);

/// Copies a dense tensor of sizes `from` to one of sizes `to`, repeating dimensions of size 1. All
/// other sizes are equal.
void broadcastCopy(std::span<const int64_t> from, std::span<const int64_t> to, size_t elementBytes,
                   const std::byte *source, std::byte *target);

} // namespace heddle
