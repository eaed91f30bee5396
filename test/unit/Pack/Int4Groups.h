//===- Int4Groups.h - Single int4 groups -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to single groups for tests. Packing processes 16 groups at once.
#pragma once

#include "../../../lib/Pack/Int4.h"

#include <span>

namespace heddle::test {

inline GroupCodes groupOf(const Int4Block &block, int64_t row) {
  GroupCodes group{block.scales[row], block.minimums[row], {}};
  for (size_t k = 0; k < group.codes.size(); ++k)
    group.codes[k] =
        static_cast<int8_t>(block.lines[k / 8][row] >> (k % 4 * 8 + k / 4 % 2 * 4) & 15);
  return group;
}

/// The codes of a group of numbers, computed together with 15 copies of the group.
inline GroupCodes int4CodesOf(std::span<const float> numbers) {
  const float *rows[16];
  std::fill_n(rows, 16, numbers.data());
  Int4Block block;
  findInt4(rows, static_cast<int64_t>(numbers.size()), block);
  return groupOf(block, static_cast<int64_t>(numbers.size()) % 16);
}

} // namespace heddle::test
