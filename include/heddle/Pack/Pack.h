//===- Pack.h - From checkpoint tensors to stored weights ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carries out a program's pack list: each entry turns one tensor into a vector,
// into padded rows, or into panels of 16 rows, with groups (heads) padded to 16,
// in the type that the entry asks for.
// Weights are written once, into the place where they stay: a mapped file or
// the JIT's memory.
#pragma once

#include "heddle/Pack/WeightSource.h"
#include "heddle/Support/Program.h"

#include <cstddef>

namespace heddle {

/// All tensors that the list names are there, with the shapes it expects and types that can be
/// read.
Status checkTensors(std::span<const PackEntry> entries, const WeightSource &source);

/// Writes packedElements(entry) elements of 4 bytes, padding included, on at most `threads` threads
/// (0: all processors).
Status pack(const PackEntry &entry, const WeightSource &source, std::byte *destination,
            int threads = 1);

/// The whole list into `weights`, Program::weightBytes zeroed bytes; entries run in parallel (0:
/// all processors).
Status packAll(const Program &program, const WeightSource &source, std::span<std::byte> weights,
               int threads = 0);

} // namespace heddle
