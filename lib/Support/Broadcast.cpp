//===- Broadcast.cpp - Broadcast inputs --------------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broadcasting: adds missing dimensions, then compares each size with the full one.

#include "heddle/Support/Broadcast.h"

#include "heddle/Support/Program.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace heddle {

static std::string sizesText(std::span<const int64_t> sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? ", " : "") + (sizes[i] < 0 ? std::string("any") : std::to_string(sizes[i]));
  return text + "]";
}

/// Splits the first of three dimensions, sequences or sequences * heads, into two. PyTorch's
/// MultiheadAttention has the second form of attn_mask.
static Status ofThree(const std::string &name, std::span<const int64_t> given,
                      std::span<const int64_t> full, std::vector<int64_t> &sizes) {
  int64_t first = given[0], sequences = full[0], heads = full[1];
  if (first == 1 || first == sequences)
    sizes = {first, 1, given[1], given[2]};
  else if (first == sequences * heads)
    sizes = {sequences, heads, given[1], given[2]};
  else
    return inputError(name + ": dimension 0: expected 1, " + std::to_string(sequences) + " or " +
                      std::to_string(sequences) + " * " + std::to_string(heads) + ", found " +
                      std::to_string(first));
  return {};
}

Status broadcastSizes(const std::string &name, std::span<const int64_t> given,
                      std::span<const int64_t> full, std::vector<int64_t> &sizes) {
  size_t rank = full.size(), least = rank == 4 ? 2 : rank - 1;
  if (given.size() > rank || given.size() < least)
    return inputError(name + ": expected a rank of " + std::to_string(least) + " to " +
                      std::to_string(rank) + ", sizes of 1 or " + sizesText(full) +
                      ", found shape " + shapeText(given));
  sizes.assign(rank - given.size(), 1);
  sizes.insert(sizes.end(), given.begin(), given.end());
  if (rank == 4 && given.size() == 3)
    HEDDLE_TRY(ofThree(name, given, full, sizes));
  for (size_t i = 0; i < rank; ++i)
    if (full[i] >= 0 && sizes[i] != 1 && sizes[i] != full[i])
      return inputError(name + ": dimension " + std::to_string(i - (rank - given.size())) +
                        ": expected " + (full[i] == 1 ? "" : "1 or ") + std::to_string(full[i]) +
                        ", found " + std::to_string(sizes[i]));
  return {};
}

void broadcastCopy(std::span<const int64_t> from, std::span<const int64_t> to, size_t elementBytes,
                   const std::byte *source, std::byte *target) {
  auto bytesOf = [&](std::span<const int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), elementBytes,
                           [](size_t n, int64_t size) { return n * static_cast<size_t>(size); });
  };
  size_t whole = bytesOf(to);
  if (whole == 0)
    return;
  if (std::ranges::equal(from, to)) {
    std::memcpy(target, source, whole);
    return;
  }
  size_t read = from[0] == 1 ? 0 : bytesOf(from.subspan(1)), written = bytesOf(to.subspan(1));
  for (size_t i = 0; i < static_cast<size_t>(to[0]); ++i)
    broadcastCopy(from.subspan(1), to.subspan(1), elementBytes, source + i * read,
                  target + i * written);
}

} // namespace heddle
