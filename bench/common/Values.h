//===- Values.h - Tensors as vectors of numbers -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as plain vectors, and the statistic of every table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace heddle::bench {

using Values = std::vector<float>;

inline double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace heddle::bench
