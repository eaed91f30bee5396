//===- KeptPieces.h - Hashes of a compiled folder's pieces ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detects damage of kept files. A file is hashed in pieces, so that opening a large file checks
// only a part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Hashes of all pieces of a file, in order.
std::vector<uint64_t> hashesOfPieces(std::span<const std::byte> bytes);
/// Whether a file has the pieces that were written. Checks all of a small file, and 512 MiB of a
/// larger one, starting at a random piece.
bool hasPieces(std::span<const std::byte> bytes, const std::vector<uint64_t> &written);

} // namespace heddle
