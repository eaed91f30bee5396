//===- VerifyJoins.cpp - Results that are compared together ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "VerifyJoins.h"

#include "ReferenceOps.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/ExecutionEngine/Reference.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace heddle;

const NumberFormat &heddle::formatOf(transformer::QuantizeOp op) {
  DType codes = dtypeOf(op.getCodes().getType());
  int64_t features = op.getCodes().getType().getShape().back(),
          scales = op.getScales().getType().getShape().back();
  auto *found = std::ranges::find_if(numberFormats, [&](const NumberFormat &format) {
    return format.rows == codes && format.rowScales(features) == scales;
  });
  return found == std::end(numberFormats) ? formatOfRows(codes) : *found;
}

/// Combines maximum and sum to one log2-sum-exp per row, since rounding may move a power of two
/// from one to the other.
static void joinStatistics(std::vector<double> &maximum, const std::vector<double> &sum) {
  for (size_t i = 0; i < maximum.size(); ++i)
    maximum[i] = sum[i] > 0 ? maximum[i] + std::log2(sum[i]) : -INFINITY;
}

/// Dequantizes codes, since a code has no meaning if its scale is NaN, and a maximum near a power
/// of two may be scaled by either neighbor. Further numbers next to the scales are compared
/// through the products that use them.
static Join joinOfCodes(transformer::QuantizeOp op) {
  return [op](std::vector<double> &codes, const std::vector<double> &scales) mutable {
    int64_t features = op.getCodes().getType().getShape().back(),
            perRow = op.getScales().getType().getShape().back(),
            rows = static_cast<int64_t>(codes.size()) / features;
    RefTensor factors{DType::F32, {rows, perRow}, scales};
    codes = reference::decodedRows(
                formatOf(op), {dtypeOf(op.getCodes().getType()), {rows, features}, codes}, &factors)
                .values;
  };
}

static Join joinOfCodes(transformer::CacheQuantizeOp op) {
  return [op](std::vector<double> &codes, const std::vector<double> &scales) mutable {
    auto rows = static_cast<int64_t>(scales.size());
    RefTensor factors{DType::F32, {rows}, scales};
    codes = reference::entering(
                DType::F32, {DType::I8, {rows, op.getCodes().getType().getShape().back()}, codes},
                &factors)
                .values;
  };
}

Join heddle::joinOf(Value first, Value second) {
  Operation *op = first.getDefiningOp();
  if (!op || op != second.getDefiningOp())
    return nullptr;
  if (isa<transformer::AttentionStatisticsOp>(op))
    return joinStatistics;
  if (auto quantize = dyn_cast<transformer::QuantizeOp>(op))
    return joinOfCodes(quantize);
  if (auto quantize = dyn_cast<transformer::CacheQuantizeOp>(op))
    return joinOfCodes(quantize);
  return nullptr;
}
