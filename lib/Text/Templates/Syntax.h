//===- Syntax.h - Tokens and syntax trees -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens and syntax trees. Trees are traversed by recursion, so the parser bounds their depth.
#pragma once

#include "Value.h"

namespace heddle::templates {

struct Token {
  enum Kind : uint8_t {
    Data,       ///< text between tags, without the whitespace that the tags strip
    OpenOutput, ///< {{
    CloseOutput,
    OpenTag, ///< {%
    CloseTag,
    Name,
    Text, ///< a string literal
    Integer,
    Float,
    Sign, ///< an operator, bracket, comma, …
    End,
  };
  Kind kind = End;
  int line = 1;
  std::string text = ""; ///< of a string literal: its value
  int64_t integer = 0;
  double real = 0;

  bool isSign(std::string_view sign) const { return kind == Sign && text == sign; }
  bool isName(std::string_view name) const { return kind == Name && text == name; }
};

/// Splits a template into tokens, ending with one of kind End. Errors begin with `name` and the
/// line.
Expected<std::vector<Token>> tokensOf(std::string_view text, const std::string &name);

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Argument {
  enum Spread : uint8_t { One, List, Dict }; ///< `*list` or `**mapping`
  Spread spread = One;
  std::string name; ///< empty: positional
  ExpressionPtr value;
};

struct Expression {
  enum Kind : uint8_t {
    Constant,
    Name,
    Attribute, ///< parts: object
    Item,      ///< parts: object, key
    Slice,     ///< parts: object, begin, end, step; each except the object may be null
    Call,      ///< parts: function
    Filter,    ///< parts: value; null for the block that is filtered
    Test,      ///< parts: value
    Not,
    Sign,       ///< name: + or -
    Arithmetic, ///< name: the operator; parts: left, right
    Concat,
    Compare, ///< operators, one less than parts
    And,
    Or,
    Condition, ///< parts: condition, value, otherwise (may be null)
    List,
    Tuple,
    Dict, ///< parts: key, value, key, value, …
  };
  Kind kind;
  int line;
  int depth = 1; ///< of the tree
  std::string name = "";
  Value value = {}; ///< of a constant
  std::vector<ExpressionPtr> parts = {};
  std::vector<std::string> operators = {};
  std::vector<Argument> arguments = {};
};

struct Statement;
using Body = std::vector<Statement>;

struct Parameter {
  std::string name;
  ExpressionPtr otherwise; ///< null: undefined
};

struct Statement {
  enum Kind : uint8_t {
    Text,
    Output,   ///< parts: values
    If,       ///< parts: one condition per body; one more body: else
    For,      ///< parts: target, list, condition (may be null); bodies: loop, else
    Set,      ///< parts: target, value
    SetBlock, ///< parts: target, filter (may be null)
    Macro,
    CallBlock,   ///< parts: call
    FilterBlock, ///< parts: filter
    With,        ///< parts: target, value, target, value, …
    Scope,       ///< generation
    Break,
    Continue,
  };
  Kind kind;
  int line;
  std::string text = ""; ///< or a macro's name
  std::vector<ExpressionPtr> parts = {};
  std::vector<Body> bodies = {};
  std::vector<Parameter> parameters = {};
  /// Whether a macro's body names `varargs`, `kwargs`, `caller`; the macro then takes such
  /// arguments.
  bool takesMore = false, takesNamed = false, takesCaller = false;
  /// Whether the body of a loop names `loop`, which needs to know the next element.
  bool usesLoop = false;
};

/// Parses a template. Errors begin with `name` and the line.
Expected<Body> parseTemplate(std::string_view text, const std::string &name);

/// List of expressions; a braced list would copy them, but they are move-only.
template <typename... Parts>
std::vector<ExpressionPtr> listOf(Parts... parts) {
  std::vector<ExpressionPtr> list;
  (list.push_back(std::move(parts)), ...);
  return list;
}

} // namespace heddle::templates
