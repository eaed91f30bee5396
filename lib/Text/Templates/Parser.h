//===- Parser.h - Parser of expressions -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser of expressions, the base of the parser of statements. `nested` bounds the recursion and
// `make` the depth of trees: chains such as a + b + c are deep too.
#pragma once

#include "Syntax.h"

namespace heddle::templates {

class ExpressionParser {
public:
  ExpressionParser(std::vector<Token> tokens, const std::string &name)
      : name(name), tokens(std::move(tokens)) {}

protected:
  using Result = Expected<ExpressionPtr>;

  const Token &token() const { return tokens[at]; }
  const Token &nextToken() const { return tokens[std::min(at + 1, tokens.size() - 1)]; }
  bool takeSign(std::string_view sign);
  bool takeName(std::string_view word);
  Status expectSign(std::string_view sign);
  Expected<std::string> expectName(const std::string &what);
  Error expected(const std::string &what) const;
  Error errorAt(int line, const std::string &text) const;

  /// One level of nesting, for the lifetime of the guard.
  class Guard {
  public:
    explicit Guard(int &levels) : levels(levels) { ++levels; }
    ~Guard() { --levels; }

  private:
    int &levels;
  };
  Status checkNesting() const;
  Result make(Expression::Kind kind, int line, std::vector<ExpressionPtr> parts,
              std::string text = "");
  Status setDepth(Expression &expression) const;

  Result parseExpression(bool withCondition = true);
  /// Expressions separated by commas: a tuple, or one expression.
  Result parseTuple(bool withCondition = true);
  Result parseUnary(bool withFilter = true);
  Result parsePrimary();
  Result parsePostfix(ExpressionPtr object);
  /// Repeated `|name(…)`; `first`: the first one starts at the name, without the bar.
  Result parseFilters(ExpressionPtr value, bool first = false);
  /// Target of an assignment: a name, a tuple of names, `space.name`.
  Result parseTarget();

  const std::string &name;
  std::vector<Token> tokens;
  size_t at = 0;
  int levels = 0;
  /// Macros around the current token, innermost last. They record which arguments they name.
  std::vector<Statement *> macros;
  int loopNames = 0; ///< number of occurrences of `loop`

private:
  Result parseChain(const char *word, Expression::Kind kind, Result (ExpressionParser::*part)());
  Result parseOr();
  Result parseAnd();
  Result parseNot();
  Result parseCompare();
  Result parseArithmetic(size_t level);
  Result parseConcat();
  Result parseFiltersAndTests(ExpressionPtr value);
  Result parseTest(ExpressionPtr value);
  Result parseNamed();
  Result parseSubscript(ExpressionPtr object);
  Result parseKey(ExpressionPtr object, int line);
  Result parseList();
  Result parseDict();
  Result parseTargetPart();
  Status parseArguments(Expression &call);
  Expected<Argument> parseArgument();
  bool endsTuple() const;
};

} // namespace heddle::templates
