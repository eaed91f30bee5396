//===- ReferenceLosses.cpp - Losses of the reference interpreter ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses: the cross entropy of each row with its id, and the mean over the rows that count.
#include "ReferenceOps.h"

#include <algorithm>
#include <cmath>

namespace heddle::reference {

RefTensor crossEntropyRows(const RefTensor &logits, const RefTensor &ids,
                           std::optional<uint64_t> padding) {
  int64_t features = logits.shape.back();
  std::vector<int64_t> shape = logits.shape;
  shape.back() = 2;
  RefTensor result = make(shape);
  for (int64_t row = 0; row < rowCount(logits); ++row) {
    int64_t id = static_cast<int64_t>(ids.values[row]);
    if (padding && static_cast<int64_t>(*padding) == id)
      continue;
    const double *x = logits.values.data() + row * features;
    double largest = *std::max_element(x, x + features), sum = 0;
    for (int64_t e = 0; e < features; ++e)
      sum += std::exp(x[e] - largest);
    result.values[2 * row] = largest + std::log(sum) - x[id];
    result.values[2 * row + 1] = 1;
  }
  return result;
}

RefTensor crossEntropyMean(const RefTensor &rows) {
  RefTensor result = make({1});
  double count = 0;
  for (int64_t row = 0; row < rowCount(rows); ++row) {
    result.values[0] += rows.values[2 * row];
    count += rows.values[2 * row + 1];
  }
  if (count != 0)
    result.values[0] /= count;
  return result;
}

} // namespace heddle::reference
