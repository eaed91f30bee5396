//===- VerifyJoins.h - Results that are compared together -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of results of one op that have a meaning together: codes and their scales, the maximum and
// the sum of a row of scores.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include <functional>
#include <vector>

namespace heddle {

/// Function that combines two results of one op before the comparison; null: results are compared
/// separately.
using Join = std::function<void(std::vector<double> &, const std::vector<double> &)>;

Join joinOf(mlir::Value first, mlir::Value second);
/// Number format of a quantize op, identified by its code type and its number of scales per row.
const NumberFormat &formatOf(transformer::QuantizeOp op);

} // namespace heddle
