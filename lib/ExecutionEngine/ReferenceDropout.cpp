//===- ReferenceDropout.cpp - Reference dropout ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Factors of dropout.

#include "ReferenceDropout.h"

#include "heddle/Support/Philox.h"

#include <cmath>

namespace heddle::reference {

static uint32_t wordOf(double number) {
  return static_cast<uint32_t>(static_cast<int64_t>(number));
}

Dropout::Dropout(const RefTensor &key, const RefTensor &site, double probability)
    : key{wordOf(key.values[0]), wordOf(key.values[1])}, site(wordOf(site.values[0])),
      enabled(key.values[2] != 0), threshold(std::round(probability * 0x1p32)),
      kept(static_cast<float>(1 / (1 - probability))) {}

double Dropout::factor(int64_t column, int64_t position, int64_t example) const {
  if (!enabled)
    return 1;
  using Blocks = DropoutBlocks;
  auto block = static_cast<uint32_t>(column / Blocks::columns * Blocks::neighbors +
                                     column % Blocks::neighbors);
  const auto words =
      philox({block, static_cast<uint32_t>(position), static_cast<uint32_t>(example), site}, key);
  return words[column / Blocks::neighbors % 4] < threshold ? 0 : kept;
}

} // namespace heddle::reference
