//===- Formula.h - Formulas of where(...) ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   choice  := or ['?' choice ':' choice]
//   or      := and ('||' and)*           and := compare ('&&' compare)*
//   compare := sum [('<' | '<=' | '>' | '>=' | '==' | '!=') sum]
//   sum     := product (('+' | '-') product)*
//   product := unary (('*' | '/' | '%') unary)*
//   unary   := ('-' | '!') unary | NUMBER | '(' choice ')' | 'b' | 'h' | 'i' | 'j'
//            | ('min' | 'max') '(' choice ',' choice ')' | ('abs' | 'exp' | 'log') '(' choice ')'
//            | NAME '[' ['b' ','] choice ']'
//
// Types are checked here: integers (i32), reals (f32) and truths. Reals, `exp` and `log` are
// allowed in score rules only. '/' and '%' of integers are floored. An integer next to a real is
// converted. Tables become inputs.
#pragma once

#include "ExpressionCursor.h"
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

/// Parses a formula up to the first character that cannot continue it. A mask's formula is a truth.
/// A score rule's is a number, and its tables are f32 unless an integer is required. `tables`
/// receives the names of tables.
void parseFormula(ExpressionCursor &in, bool scoreRule, std::vector<std::string> &tables,
                  const FormulaSite &site);

} // namespace heddle
