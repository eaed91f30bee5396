//===- MatrixStacks.cpp - Views of stacked matrices -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of tensors that hold a matrix for each expert.

#include "heddle/Pack/TensorView.h"

#include <numeric>

namespace heddle {

TensorViewRef transposedMatrices(TensorViewRef from) {
  const std::vector<int64_t> shape = from->shape();
  if (shape.size() != 3 || from->elements() == 0)
    return transposed(std::move(from));
  const int64_t rows = shape[1];
  TensorViewRef all = reshaped(std::move(from), {shape[0] * rows, shape[2]});
  std::vector<TensorViewRef> matrices;
  for (int64_t n = 0; n < shape[0]; ++n) {
    std::vector<int64_t> taken(static_cast<size_t>(rows));
    std::iota(taken.begin(), taken.end(), n * rows);
    matrices.push_back(transposed(gathered(all, std::move(taken))));
  }
  return concatenated(std::move(matrices));
}

} // namespace heddle
