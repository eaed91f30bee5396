//===- ReferenceDropout.cpp - Reference dropout ---------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10 as Salmon et al. describe it in Parallel Random Numbers: As
// Easy as 1, 2, 3 (2011), and the factors of dropout.

#include "ReferenceDropout.h"

#include <cmath>

namespace heddle::reference {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * c[0], second = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(second >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(second),
         static_cast<uint32_t>(first >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(first)};
    k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
  }
  return c;
}

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
  auto block = static_cast<uint32_t>(column / 64 * 16 + column % 16);
  const auto words =
      philox({block, static_cast<uint32_t>(position), static_cast<uint32_t>(example), site}, key);
  return words[column / 16 % 4] < threshold ? 0 : kept;
}

} // namespace heddle::reference
