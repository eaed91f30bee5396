//===- Expression.h - Expressions as trees ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One grammar for masks, score rules, formulas of where(...) and values of architecture files:
//
//   choice  := chain ['?' choice ':' choice]
//   chain   := prefix (OPERATOR prefix)*            by levels, the loosest first
//   prefix  := ('-' | '!') prefix | operand ('[' choice (',' choice)* ']')*
//   operand := NUMBER | 'TEXT' | NAME | NAME '(' argument (',' argument)* ')' | '(' choice ')'
//
// A language is an ExpressionGrammar, which selects operators, functions and operands, and an
// ExpressionEvaluator, which gives the nodes of the tree a meaning.
#pragma once

#include "ExpressionCursor.h"

#include <span>
#include <vector>

namespace heddle {

struct ExpressionOperator {
  std::string_view word;
  int level; ///< higher levels bind more tightly
};
/// Levels of `||`, `&&` and comparisons. Comparisons do not associate; other operators associate to
/// the left.
inline constexpr int disjunctionLevel = 1, conjunctionLevel = 2, comparisonLevel = 3;
/// Operators of numbers and truths, in the order of their levels.
inline constexpr ExpressionOperator arithmeticOperators[] = {{"||", disjunctionLevel},
                                                             {"&&", conjunctionLevel},
                                                             {"<=", comparisonLevel},
                                                             {">=", comparisonLevel},
                                                             {"==", comparisonLevel},
                                                             {"!=", comparisonLevel},
                                                             {"<", comparisonLevel},
                                                             {">", comparisonLevel},
                                                             {"+", 4},
                                                             {"-", 4},
                                                             {"*", 5},
                                                             {"/", 5},
                                                             {"%", 5}};

/// A function of a language. `arguments` has a letter per argument: 'e' an expression of the same
/// language, 'w' one of the inner language, 'n' a name, 'i' an integer, 'o' an integer or a name,
/// 'f' a number.
struct ExpressionFunction {
  std::string_view word, arguments;
  bool lastIsOptional = false; ///< without any argument, parentheses are optional too
};

struct ExpressionGrammar {
  std::span<const ExpressionOperator> operators;
  std::span<const ExpressionFunction> functions;
  std::string_view prefixes; ///< operators before an operand, a character each
  bool parentheses = true;   ///< an operand may be in parentheses
  bool values = true;        ///< numbers and names are operands; false: function calls only
  bool texts = false;        ///< texts in ' are operands
  bool dashes = false;       ///< names may contain '-'
  bool choices = true;       ///< '?' and ':' choose between two values
  size_t indices = 1;        ///< maximum indices in brackets; 0: no brackets
  std::string_view operand;  ///< "expected …" in place of an operand
  std::string_view function; ///< "expected …" in place of an unknown function
  const ExpressionGrammar *inner = nullptr; ///< language of arguments 'w'
};

/// A node of an expression.
struct Expression {
  enum class Kind : uint8_t {
    Number,
    Text,
    Name,
    Call,    ///< `word` is the function, `operands` are its arguments
    Element, ///< the first operand is indexed by the others
    Prefix,  ///< `word` is the operator
    Chain,   ///< operators[i] joins operands[i + 1] to the result before it
    Choice,  ///< condition, value if it holds, other value
  } kind = Kind::Name;
  size_t place = 0; ///< its first byte
  size_t begin = 0; ///< the same, parentheses around it included
  std::string word; ///< a name, a text, a function or an operator
  double number = 0;
  bool isReal = false; ///< a number with a fraction or an exponent
  std::vector<Expression> operands = {};
  std::vector<ExpressionOperator> operators = {};
};

/// Parses a whole text; the first error remains in `in`.
Expression parseExpression(ExpressionCursor &in, const ExpressionGrammar &grammar);

/// Computes a value per node. The first error remains in `in`; after it, values have no meaning.
template <typename Value>
class ExpressionEvaluator {
public:
  explicit ExpressionEvaluator(ExpressionCursor &in) : in(in) {}
  virtual ~ExpressionEvaluator() = default;

  Value evaluate(const Expression &e) {
    if (in.failed())
      return {};
    switch (e.kind) {
    case Expression::Kind::Call:
      return call(e);
    case Expression::Kind::Element:
      return element(e);
    case Expression::Kind::Prefix:
      return prefix(e, evaluate(e.operands[0]));
    case Expression::Kind::Chain:
      return chain(e);
    case Expression::Kind::Choice:
      return choice(e);
    default:
      return leaf(e);
    }
  }

protected:
  /// Resolves a number, a text or a name.
  virtual Value leaf(const Expression &) { return {}; }
  virtual Value call(const Expression &e) = 0;
  virtual Value element(const Expression &) { return {}; }
  virtual Value prefix(const Expression &, Value x) { return x; }
  virtual Value choice(const Expression &) { return {}; }
  /// Returns whether the value before an operator is the result, so that the value after it is not
  /// computed.
  virtual bool decides(const ExpressionOperator &, const Value &, size_t) { return false; }
  /// Computes the value after an operator.
  virtual Value operand(const ExpressionOperator &, const Expression &e) { return evaluate(e); }
  /// Joins the values before and after an operator.
  virtual Value join(const ExpressionOperator &op, Value left, Value right, size_t leftPlace,
                     size_t rightPlace) = 0;

  ExpressionCursor &in;

private:
  Value chain(const Expression &e) {
    const size_t first = e.operands[0].begin;
    Value left = evaluate(e.operands[0]);
    for (size_t i = 0; i < e.operators.size() && !in.failed(); ++i) {
      const ExpressionOperator &op = e.operators[i];
      const Expression &next = e.operands[i + 1];
      if (!decides(op, left, first))
        left = join(op, std::move(left), operand(op, next), first, next.begin);
    }
    return left;
  }
};

} // namespace heddle
