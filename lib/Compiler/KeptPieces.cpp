//===- KeptPieces.cpp - Hashes of a compiled folder's pieces --------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes of the pieces of kept files.
#include "KeptPieces.h"

#include "heddle/Support/Parallel.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <chrono>
#include <random>

using namespace heddle;

static constexpr size_t kPiece = 4 << 20, kMaxChecked = 512 << 20;

static std::span<const std::byte> pieceOf(std::span<const std::byte> bytes, size_t index) {
  return bytes.subspan(index * kPiece, std::min(kPiece, bytes.size() - index * kPiece));
}

static size_t piecesOf(size_t bytes) { return (bytes + kPiece - 1) / kPiece; }

/// Hashes of `count` pieces starting at `first`; wraps around after the last piece.
static std::vector<uint64_t> hashesOf(std::span<const std::byte> bytes, size_t first,
                                      size_t count) {
  constexpr int mostThreads = 8; // more do not increase memory bandwidth
  std::vector<uint64_t> hashes(count);
  const size_t pieces = piecesOf(bytes.size());
  parallelFor(
      static_cast<int64_t>(count), std::min(mostThreads, processorCount()), [&](int64_t i, int) {
        const auto piece = pieceOf(bytes, (first + static_cast<size_t>(i)) % pieces);
        hashes[static_cast<size_t>(i)] =
            llvm::xxh3_64bits({reinterpret_cast<const uint8_t *>(piece.data()), piece.size()});
      });
  return hashes;
}

std::vector<uint64_t> heddle::hashesOfPieces(std::span<const std::byte> bytes) {
  return hashesOf(bytes, 0, piecesOf(bytes.size()));
}

bool heddle::hasPieces(std::span<const std::byte> bytes, const std::vector<uint64_t> &written) {
  const size_t pieces = piecesOf(bytes.size()), count = std::min(pieces, kMaxChecked / kPiece);
  if (written.size() != pieces || pieces == 0)
    return false;
  const auto now =
      static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  const size_t first = count == pieces ? 0 : std::mt19937_64(now)() % pieces;
  const std::vector<uint64_t> found = hashesOf(bytes, first, count);
  for (size_t i = 0; i < count; ++i)
    if (found[i] != written[(first + i) % pieces])
      return false;
  return true;
}
