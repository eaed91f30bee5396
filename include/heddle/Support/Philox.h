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

/// Four random words for a counter and a key.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * c[0], second = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(second >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(second),
         static_cast<uint32_t>(first >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(first)};
    k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
  }
  return c;
}

/// Last word of the counter in each use outside of dropout. Sites of dropout are small numbers, so
/// no two uses share a word.
enum class RandomUse : uint32_t {
  Examples = 0xFFFF0001, ///< order of the examples of an epoch
  Batches,               ///< order of the batches of an epoch
  Words,                 ///< words that the unknown word replaces
  Weights,               ///< initial weights
};

} // namespace heddle
