//===- Broadcast.h - Inputs that stand for larger ones ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense mask of [queries, keys] holds for every sequence and head, one number
// for every sequence: callers leave out what repeats. Runtime and reference view
// such inputs in their full rank by the same rules.
#pragma once

#include "heddle/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Makes `sizes` those, in full rank, of a tensor of shape `given` where `full` is wanted: each is
/// 1 or that of `full` (-1 there: any). Leading dimensions may be missing; of four, the last two may
/// not. Of four, three are [full 0, ...] or [full 0 * full 1, ...]. Errors name the input and the
/// dimension.
Status broadcastSizes(const std::string &name, std::span<const int64_t> given,
                      std::span<const int64_t> full, std::vector<int64_t> &sizes);

/// Copies a tensor of sizes `from` into one of sizes `to`; each size of `from` is 1, which repeats,
/// or that of `to`.
void broadcastCopy(std::span<const int64_t> from, std::span<const int64_t> to, size_t elementBytes,
                   const std::byte *source, std::byte *target);

} // namespace heddle
