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
// Types are checked here: integers (i32), reals (f32) and truths. Reals, exp and
// log stand in score rules only. '/' and '%' of integers are floored. Integers
// become reals where a real stands beside them, tables become inputs.
#pragma once

#include "ExpressionCursor.h"
#include "FunctionBuilder.h"

namespace heddle {

/// Where a formula's ops are written: in the block of a mask.where or bias.where, in which `f`
/// inserts. Without `f` a formula is only checked.
struct FormulaSite {
  FunctionBuilder *f = nullptr;
  mlir::Value
      offset; ///< added to i, a number a sequence, if there is one: in the dialect i counts from this call
  std::string sequences; ///< the dimension that b counts
};

/// Parses a formula up to what cannot continue it. A mask's formula is a truth; a score rule's is a
/// number, and its tables are f32 except where an integer is needed. `tables` receives their names.
void parseFormula(ExpressionCursor &in, bool scoreRule, std::vector<std::string> &tables,
                  const FormulaSite &site);

} // namespace heddle
