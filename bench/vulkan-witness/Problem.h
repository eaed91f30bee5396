//===- Problem.h - Benchmark problems and expected results ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two problems of the comparison with seeded inputs, and their results in f64. Both contenders
// get equal inputs and are compared with the same results.
#pragma once

#include "Values.h"

#include <cstdint>

namespace heddle::bench {

/// y = x w^T + bias, all matrices `size` x `size`.
struct Product {
  static constexpr int64_t size = 512;
  static constexpr double flops = 2.0 * size * size * size;
  Values x, weight, bias;

  Product();
  std::vector<double> expected() const;
};

/// Softmax attention without a mask over [heads][length][head size].
struct Attention {
  static constexpr int64_t heads = 8, length = 512, headSize = 64;
  static constexpr int64_t elements = heads * length * headSize;
  /// Operations of both products; the softmax is not counted, as is usual.
  static constexpr double flops = 4.0 * heads * length * length * headSize;
  Values q, k, v;

  Attention();
  /// Expected output, in the order of the inputs.
  std::vector<double> expected() const;
};

/// [rows, columns] as panels of 16 rows, [rows / 16][columns][16].
Values panelsOf(const Values &matrix, int64_t columns);

/// max |a - b| / max |b|
double relativeError(const Values &found, const std::vector<double> &expected);

} // namespace heddle::bench
