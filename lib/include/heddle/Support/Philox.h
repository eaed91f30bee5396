//===- Philox.h - Counter-based random words -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10 as Salmon et al. describe it in Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
// A random word is a function of a counter and a key, so its value depends neither on threads nor
// on the order of calls. Kernels compute the same words by code of their own.
#pragma once

#include <array>
#include <cstdint>

namespace heddle {

inline constexpr int philoxRounds = 10;
/// Factors of the words 0 and 2 of the counter, and what a round adds to the words of the key.
inline constexpr std::array<uint32_t, 2> philoxFactors = {0xD2511F53, 0xCD9E8D57},
                                         philoxKeySteps = {0x9E3779B9, 0xBB67AE85};

/// Four random words for a counter and a key.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < philoxRounds; ++round) {
    const uint64_t first = uint64_t{philoxFactors[0]} * c[0],
                   second = uint64_t{philoxFactors[1]} * c[2];
    c = {static_cast<uint32_t>(second >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(second),
         static_cast<uint32_t>(first >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(first)};
    k = {k[0] + philoxKeySteps[0], k[1] + philoxKeySteps[1]};
  }
  return c;
}

/// Dropout takes the word `column / neighbors % 4` of the block `column / columns * neighbors +
/// column % neighbors`, so that a vector of neighbors takes one word of all its blocks.
struct DropoutBlocks {
  static constexpr int64_t neighbors = 16, columns = 4 * neighbors;
};

/// Last word of the counter in each use outside of dropout. Sites of dropout are small numbers, so
/// no two uses share a word.
enum class RandomUse : uint32_t {
  Examples = 0xFFFF0001, ///< order of the examples of an epoch
  Batches,               ///< order of the batches of an epoch
  Words,                 ///< words that the unknown word replaces
  Weights,               ///< initial weights
};

} // namespace heddle
