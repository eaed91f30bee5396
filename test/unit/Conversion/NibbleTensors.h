//===- NibbleTensors.h - Matrices of i4 for kernels ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random codes and scales, stored as Support/Program.h says, and the numbers they
// stand for.
#pragma once

#include "heddle/Support/Float.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace heddle::test {

/// An [n, k] matrix of codes; n is a multiple of 16.
struct NibbleMatrix {
  /// Features that are missing beside the last one have the code 0, whole groups of them the scale NaN:
  /// no product may meet those.
  NibbleMatrix(int64_t n, int64_t k, uint32_t seed)
      : n(n), k(k), blocks((k + 63) / 64), words(n / 16 * blocks * 144, 0x88888888u),
        numbers(n * k) {
    auto next = [state = seed]() mutable {
      state = state * 1664525u + 1013904223u;
      return state >> 12;
    };
    for (int64_t row = 0; row < n; ++row)
      for (int64_t group = 0; group < 2 * blocks; ++group) {
        // Numbers about 0.01; now and then 0, a denormal of f16, or its largest number.
        uint32_t kind = next() % 16;
        auto scale = static_cast<uint16_t>(kind == 0   ? 0
                                           : kind == 1 ? next() % 0x400
                                           : kind == 2 ? 0x7bff
                                                       : 0x2000 + next() % 0x800);
        scaleAt(row, group) = group * 32 < k ? scale : 0x7e00;
        for (int64_t column = group * 32; column < std::min(k, group * 32 + 32); ++column) {
          uint32_t code = next() % 16;
          int64_t shift = column % 8 * 4;
          uint32_t &word = wordAt(row, column);
          word = (word & ~(15u << shift)) | code << shift;
          numbers[row * k + column] =
              floatFromHalf(scale) * static_cast<float>(static_cast<int>(code) - 8);
        }
      }
  }
  uint32_t *block(int64_t row, int64_t column) {
    return &words[(row / 16 * blocks + column / 64) * 144];
  }
  uint32_t &wordAt(int64_t row, int64_t column) {
    return block(row, column)[column % 64 / 8 * 16 + row % 16];
  }
  uint16_t &scaleAt(int64_t row, int64_t group) {
    auto *scales = reinterpret_cast<uint16_t *>(block(row, group * 32) + 128);
    return scales[group % 2 * 16 + row % 16];
  }
  /// The numbers in panels of f32, `pitch` features each.
  std::vector<float> panels(int64_t pitch) const {
    std::vector<float> result(n * pitch);
    for (int64_t row = 0; row < n; ++row)
      for (int64_t column = 0; column < k; ++column)
        result[(row / 16 * pitch + column) * 16 + row % 16] = numbers[row * k + column];
    return result;
  }

  int64_t n, k, blocks;
  std::vector<uint32_t> words;
  std::vector<float> numbers; ///< rows at the pitch k
};

} // namespace heddle::test
