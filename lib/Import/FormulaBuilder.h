//===- FormulaBuilder.h - Formulas as regions ------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region of mask.where and bias.where.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Formula.h"
#include "FunctionBuilder.h"

namespace heddle {

/// Fills `region` with the formula. `offset`, which may be null, is added to i: in the dialect i
/// counts from this call's first query. `sentences` is the dimension that b counts.
void buildFormula(FunctionBuilder &f, const Formula &formula, mlir::Region &region,
                  mlir::Value offset, bool scoreRule, const std::string &sentences);

} // namespace heddle
