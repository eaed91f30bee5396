//===- KeptPieces.h - Hashes of a compiled folder's pieces ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guards kept files against damage. A file is hashed in pieces, so that opening a
// large one checks a part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Hashes of all pieces of a file, in order.
std::vector<uint64_t> hashesOfPieces(std::span<const std::byte> bytes);
/// Whether a file has the pieces that were written: all of a small file are checked, and 512 MiB of a
/// larger one, from another piece on each time.
bool hasPieces(std::span<const std::byte> bytes, const std::vector<uint64_t> &written);

} // namespace heddle
