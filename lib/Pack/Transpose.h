//===- Transpose.h - Transposition of 16 rows -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes 16 rows into the columns of a panel. Checkpoints store rows; panels store columns of
// 16 rows. Words of four bytes are transposed four by four in registers: an f32, two 16-bit numbers
// or four 8-bit codes. Callers may be compiled for several vector widths.
#pragma once

#include "heddle/Support/WideClones.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle {

constexpr int64_t panelRows = 16;

/// Four words: a vector register of SSE and of NEON.
using Four = uint32_t __attribute__((vector_size(16)));

HEDDLE_IN_CLONE Four loadFour(const void *row, int64_t word) {
  Four value;
  std::memcpy(&value, static_cast<const std::byte *>(row) + word * 4, sizeof value);
  return value;
}

/// Transposes four words of four rows.
template <typename Element>
HEDDLE_IN_CLONE void transposeFour(const Element *const *rows, int64_t word, uint32_t *to) {
  Four a = loadFour(rows[0], word), b = loadFour(rows[1], word);
  Four c = loadFour(rows[2], word), d = loadFour(rows[3], word);
  Four low01 = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  Four high01 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  Four low23 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  Four high23 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four turned[] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                         __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                         __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                         __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int64_t w = 0; w < 4; ++w)
    std::memcpy(to + w * panelRows, &turned[w], sizeof(Four));
}

/// Writes `words` words of each of 16 rows, interleaved by word.
template <typename Element>
HEDDLE_IN_CLONE void transposePanel(const Element *const *rows, int64_t words, void *to) {
  auto *out = static_cast<uint32_t *>(to);
  int64_t word = 0;
  for (; word + 4 <= words; word += 4)
    for (int64_t r = 0; r < panelRows; r += 4)
      transposeFour(rows + r, word, out + word * panelRows + r);
  for (; word < words; ++word)
    for (int64_t r = 0; r < panelRows; ++r)
      std::memcpy(out + word * panelRows + r,
                  reinterpret_cast<const std::byte *>(rows[r]) + word * 4, 4);
}

} // namespace heddle
