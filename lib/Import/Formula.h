//===- Formula.h - Formulas of where(...) ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are b, h, i, j, numbers, and entries of tables, t[index] or t[b, index]. The grammar is
// in Expression.h. Types are checked here: integers (i32), reals (f32) and truths. Reals, `exp` and
// `log` are allowed in score rules only. '/' and '%' of integers are floored. An integer next to a
// real is converted. Tables become inputs.
#pragma once

#include "Expression.h"
#include "FunctionBuilder.h"

namespace heddle {

/// Insertion point of a formula's ops: the block of a mask.where or bias.where, in which `f`
/// inserts. If `f` is null, the formula is only checked.
struct FormulaSite {
  FunctionBuilder *f = nullptr;
  mlir::Value
      offset; ///< added to i, one number per sequence, or null: i then counts from this call
  std::string sequences; ///< the dimension of b
};

/// The language of formulas.
extern const ExpressionGrammar formulaGrammar;

/// Checks a formula, and creates its ops at a site. A mask's formula is a truth. A score rule's is a
/// number, and its tables are f32 unless an integer is required. `tables` receives the names of
/// tables; the first error remains in `in`.
void evaluateFormula(ExpressionCursor &in, const Expression &formula, bool scoreRule,
                     std::vector<std::string> &tables, const FormulaSite &site);

} // namespace heddle
