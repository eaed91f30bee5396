//===- ReferenceLosses.cpp - Losses of the reference interpreter ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses: the cross entropy of each row with its id, and the mean over the rows that count.
#include "ReferenceOps.h"

#include <algorithm>
#include <cmath>

namespace heddle::reference {

std::vector<double> targetOf(int64_t classes, int64_t id, std::optional<uint64_t> padding,
                             double smoothing, transformer::SmoothingOver over) {
  using enum transformer::SmoothingOver;
  auto shares = [&](int64_t n) {
    bool isPadding = padding && n == static_cast<int64_t>(*padding);
    return over == All || (n != id && !(over == OthersButPadding && isPadding));
  };
  int64_t count = 0;
  for (int64_t n = 0; n < classes; ++n)
    count += shares(n);
  std::vector<double> target(classes, 0.0);
  for (int64_t n = 0; n < classes; ++n)
    target[n] = shares(n) ? smoothing / static_cast<double>(count) : 0;
  target[id] += 1 - smoothing;
  return target;
}

RefTensor crossEntropyRows(const RefTensor &logits, const RefTensor &ids,
                           std::optional<uint64_t> padding, double smoothing,
                           transformer::SmoothingOver over) {
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
    if (smoothing == 0) {
      result.values[2 * row] = largest + std::log(sum) - x[id];
    } else {
      std::vector<double> target = targetOf(features, id, padding, smoothing, over);
      for (int64_t e = 0; e < features; ++e)
        result.values[2 * row] += target[e] * (largest + std::log(sum) - x[e]);
    }
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
