//===- Formula.h - Formulas of where(...) ----------------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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
// log stand in score rules only. '/' and '%' of integers are floored.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ExpressionCursor.h"

#include <vector>

namespace heddle {

struct Formula {
  enum class Type { Integer, Real, Truth };
  enum class Kind { Number, Index, Table, Operator } kind = Kind::Number;
  Type type = Type::Integer;
  double value = 0; ///< of a number
  /// "i", the table's name, or the operator: "+", "<=", "&&", "?", "min", "neg", "not", …
  std::string word;
  bool perBatch = false; ///< table[b, x]
  std::vector<Formula> operands;
};

/// Parses a formula up to what cannot continue it. A mask's formula is a truth; a score rule's is a
/// number, and its tables are f32 except where an integer is needed.
Formula parseFormula(ExpressionCursor &in, bool scoreRule);

} // namespace heddle
