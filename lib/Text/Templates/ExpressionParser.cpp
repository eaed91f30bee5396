//===- ExpressionParser.cpp - Parser of expressions -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser of expressions. Precedence from lowest to highest: if else, or, and, not, comparisons, +
// -, ~, * / // %, **, signs, then filters and tests. A sign binds more tightly than a filter:
// -1|abs is (-1)|abs.
#include "Parser.h"

namespace heddle::templates {

//===- Tokens --------------------------------------------------------------===//

namespace {

std::string tokenText(const Token &token) {
  switch (token.kind) {
  case Token::Data:
    return "text";
  case Token::OpenOutput:
    return "`{{`";
  case Token::CloseOutput:
    return "`}}`";
  case Token::OpenTag:
    return "`{%`";
  case Token::CloseTag:
    return "`%}`";
  case Token::End:
    return "the end";
  default:
    return quotedText(token.text);
  }
}

} // namespace

Error ExpressionParser::errorAt(int line, const std::string &text) const {
  return inputError(name + ":" + std::to_string(line) + ": " + text);
}

Error ExpressionParser::expected(const std::string &what) const {
  return errorAt(token().line, "expected " + what + ", found " + tokenText(token()));
}

bool ExpressionParser::takeSign(std::string_view sign) {
  if (!token().isSign(sign))
    return false;
  ++at;
  return true;
}

bool ExpressionParser::takeName(std::string_view word) {
  if (!token().isName(word))
    return false;
  ++at;
  return true;
}

Status ExpressionParser::expectSign(std::string_view sign) {
  if (takeSign(sign))
    return {};
  return expected("`" + std::string(sign) + "`");
}

Expected<std::string> ExpressionParser::expectName(const std::string &what) {
  if (token().kind != Token::Name)
    return expected(what);
  return tokens[at++].text;
}

Status ExpressionParser::checkNesting() const {
  constexpr int most = 100;
  if (levels > most)
    return errorAt(token().line,
                   "expected at most " + std::to_string(most) + " levels of nesting, found more");
  return {};
}

Status ExpressionParser::setDepth(Expression &expression) const {
  constexpr int most = 250;
  for (const ExpressionPtr &part : expression.parts)
    expression.depth = std::max(expression.depth, part ? part->depth + 1 : 1);
  for (const Argument &argument : expression.arguments)
    expression.depth = std::max(expression.depth, argument.value->depth + 1);
  if (expression.depth > most)
    return errorAt(expression.line, "expected an expression of at most " + std::to_string(most) +
                                        " levels, found more");
  return {};
}

ExpressionParser::Result ExpressionParser::make(Expression::Kind kind, int line,
                                                std::vector<ExpressionPtr> parts,
                                                std::string text) {
  auto made = std::make_unique<Expression>(
      Expression{.kind = kind, .line = line, .name = std::move(text), .parts = std::move(parts)});
  HEDDLE_TRY(setDepth(*made));
  return made;
}

//===- Operators -----------------------------------------------------------===//

ExpressionParser::Result ExpressionParser::parseExpression(bool withCondition) {
  Guard guard(levels);
  HEDDLE_TRY(checkNesting());
  int line = token().line;
  ExpressionPtr value = HEDDLE_TRY(parseOr());
  while (withCondition && takeName("if")) {
    ExpressionPtr condition = HEDDLE_TRY(parseOr()), otherwise;
    if (takeName("else"))
      otherwise = HEDDLE_TRY(parseExpression());
    value = HEDDLE_TRY(make(Expression::Condition, line,
                            listOf(std::move(condition), std::move(value), std::move(otherwise))));
    line = token().line;
  }
  return value;
}

ExpressionParser::Result ExpressionParser::parseChain(const char *word, Expression::Kind kind,
                                                      Result (ExpressionParser::*part)()) {
  const int line = token().line;
  ExpressionPtr left = HEDDLE_TRY((this->*part)());
  if (!token().isName(word))
    return left;
  std::vector<ExpressionPtr> parts = listOf(std::move(left));
  while (takeName(word))
    parts.push_back(HEDDLE_TRY((this->*part)()));
  return make(kind, line, std::move(parts));
}

ExpressionParser::Result ExpressionParser::parseOr() {
  return parseChain("or", Expression::Or, &ExpressionParser::parseAnd);
}

ExpressionParser::Result ExpressionParser::parseAnd() {
  return parseChain("and", Expression::And, &ExpressionParser::parseNot);
}

ExpressionParser::Result ExpressionParser::parseNot() {
  Guard guard(levels);
  HEDDLE_TRY(checkNesting());
  const int line = token().line;
  if (takeName("not"))
    return make(Expression::Not, line, listOf(HEDDLE_TRY(parseNot())));
  return parseCompare();
}

ExpressionParser::Result ExpressionParser::parseCompare() {
  const int line = token().line;
  std::vector<ExpressionPtr> parts = listOf(HEDDLE_TRY(parseArithmetic(0)));
  std::vector<std::string> operators;
  auto takeOperator = [&]() -> bool {
    for (const char *sign : {"==", "!=", "<=", ">=", "<", ">"})
      if (takeSign(sign)) {
        operators.emplace_back(sign);
        return true;
      }
    const bool isNot = token().isName("not") && nextToken().isName("in");
    at += isNot;
    if (!takeName("in"))
      return false;
    operators.emplace_back(isNot ? "not in" : "in");
    return true;
  };
  while (takeOperator())
    parts.push_back(HEDDLE_TRY(parseArithmetic(0)));
  if (operators.empty())
    return std::move(parts[0]);
  ExpressionPtr compare = HEDDLE_TRY(make(Expression::Compare, line, std::move(parts)));
  compare->operators = std::move(operators);
  return compare;
}

ExpressionParser::Result ExpressionParser::parseConcat() {
  const int line = token().line;
  std::vector<ExpressionPtr> parts = listOf(HEDDLE_TRY(parseArithmetic(1)));
  while (takeSign("~"))
    parts.push_back(HEDDLE_TRY(parseArithmetic(1)));
  if (parts.size() == 1)
    return std::move(parts[0]);
  return make(Expression::Concat, line, std::move(parts));
}

/// Level 0: sums, with operands joined by ~; 1: products; 2: powers, from left to right.
ExpressionParser::Result ExpressionParser::parseArithmetic(size_t level) {
  static constexpr std::initializer_list<const char *> signs[] = {
      {"+", "-"}, {"*", "/", "//", "%"}, {"**"}};
  auto parsePart = [&]() -> Result {
    return level == 0 ? parseConcat() : level == 1 ? parseArithmetic(2) : parseUnary();
  };
  int line = token().line;
  ExpressionPtr left = HEDDLE_TRY(parsePart());
  while (true) {
    const char *found = nullptr;
    for (const char *sign : signs[level])
      if (!found && takeSign(sign))
        found = sign;
    if (!found)
      return left;
    ExpressionPtr right = HEDDLE_TRY(parsePart());
    left = HEDDLE_TRY(
        make(Expression::Arithmetic, line, listOf(std::move(left), std::move(right)), found));
    line = token().line;
  }
}

ExpressionParser::Result ExpressionParser::parseUnary(bool withFilter) {
  Guard guard(levels);
  HEDDLE_TRY(checkNesting());
  const int line = token().line;
  const bool isSign = token().isSign("-") || token().isSign("+");
  ExpressionPtr value;
  if (isSign) {
    const std::string sign = tokens[at++].text;
    value = HEDDLE_TRY(make(Expression::Sign, line, listOf(HEDDLE_TRY(parseUnary(false))), sign));
  } else {
    value = HEDDLE_TRY(parsePrimary());
  }
  value = HEDDLE_TRY(parsePostfix(std::move(value)));
  return withFilter ? parseFiltersAndTests(std::move(value)) : Result(std::move(value));
}

//===- Filters and tests ---------------------------------------------------===//

ExpressionParser::Result ExpressionParser::parseFiltersAndTests(ExpressionPtr value) {
  while (true) {
    if (token().isSign("|")) {
      value = HEDDLE_TRY(parseFilters(std::move(value)));
    } else if (takeName("is")) {
      value = HEDDLE_TRY(parseTest(std::move(value)));
    } else if (token().isSign("(")) {
      value = HEDDLE_TRY(parsePostfix(std::move(value)));
    } else {
      return value;
    }
  }
}

ExpressionParser::Result ExpressionParser::parseFilters(ExpressionPtr value, bool first) {
  while (first || takeSign("|")) {
    first = false;
    const int line = token().line;
    const std::string filter = HEDDLE_TRY(expectName("the name of a filter"));
    auto made = std::make_unique<Expression>(
        Expression{.kind = Expression::Filter, .line = line, .name = filter});
    made->parts.push_back(std::move(value));
    if (token().isSign("("))
      HEDDLE_TRY(parseArguments(*made));
    HEDDLE_TRY(setDepth(*made));
    value = std::move(made);
  }
  return value;
}

ExpressionParser::Result ExpressionParser::parseTest(ExpressionPtr value) {
  const int line = token().line;
  const bool isNot = takeName("not");
  auto made = std::make_unique<Expression>(
      Expression{.kind = Expression::Test,
                 .line = line,
                 .name = HEDDLE_TRY(expectName("the name of a test"))});
  made->parts.push_back(std::move(value));
  const bool isWord = token().isName("else") || token().isName("or") || token().isName("and");
  if (token().isName("is"))
    return expected("one test; `and` joins two");
  if (token().isSign("(")) {
    HEDDLE_TRY(parseArguments(*made));
  } else if (((token().kind >= Token::Name && token().kind <= Token::Float) && !isWord) ||
             token().isSign("[") || token().isSign("{")) {
    // As in `x is divisibleby 3`. Names of operators are arguments too, which fails as in Jinja.
    Guard guard(levels);
    HEDDLE_TRY(checkNesting());
    ExpressionPtr primary = HEDDLE_TRY(parsePrimary());
    made->arguments.emplace_back();
    made->arguments.back().value = HEDDLE_TRY(parsePostfix(std::move(primary)));
  }
  HEDDLE_TRY(setDepth(*made));
  if (!isNot)
    return made;
  return make(Expression::Not, line, listOf(ExpressionPtr(std::move(made))));
}

//===- Calls and parts -----------------------------------------------------===//

ExpressionParser::Result ExpressionParser::parsePostfix(ExpressionPtr object) {
  while (true) {
    if (token().isSign(".") || token().isSign("[")) {
      object = HEDDLE_TRY(parseSubscript(std::move(object)));
    } else if (token().isSign("(")) {
      auto call =
          std::make_unique<Expression>(Expression{.kind = Expression::Call, .line = token().line});
      call->parts.push_back(std::move(object));
      HEDDLE_TRY(parseArguments(*call));
      HEDDLE_TRY(setDepth(*call));
      object = std::move(call);
    } else {
      return object;
    }
  }
}

ExpressionParser::Result ExpressionParser::parseSubscript(ExpressionPtr object) {
  const int line = token().line;
  if (takeSign("["))
    return parseKey(std::move(object), line);
  ++at; // the dot
  if (token().kind == Token::Name)
    return make(Expression::Attribute, line, listOf(std::move(object)), tokens[at++].text);
  if (token().kind != Token::Integer)
    return expected("a name or a number after the dot");
  ExpressionPtr key = HEDDLE_TRY(make(Expression::Constant, line, {}));
  key->value = Value(tokens[at++].integer);
  return make(Expression::Item, line, listOf(std::move(object), std::move(key)));
}

/// After `[`: a key, or a slice with one or two colons.
ExpressionParser::Result ExpressionParser::parseKey(ExpressionPtr object, int line) {
  ExpressionPtr bounds[3];
  size_t colons = 0;
  while (!token().isSign("]")) {
    if (takeSign(":")) {
      if (++colons > 2)
        return expected("at most two colons in a slice");
      continue;
    }
    if (bounds[colons])
      return expected(token().isSign(",") ? "one key; several are not built" : "`]`");
    bounds[colons] = HEDDLE_TRY(parseExpression());
  }
  if (colons == 0 && !bounds[0])
    return expected("a key");
  ++at;
  if (colons == 0)
    return make(Expression::Item, line, listOf(std::move(object), std::move(bounds[0])));
  return make(
      Expression::Slice, line,
      listOf(std::move(object), std::move(bounds[0]), std::move(bounds[1]), std::move(bounds[2])));
}

Status ExpressionParser::parseArguments(Expression &call) {
  HEDDLE_TRY(expectSign("("));
  while (!takeSign(")")) {
    if (!call.arguments.empty()) {
      HEDDLE_TRY(expectSign(","));
      if (takeSign(")"))
        return {};
    }
    const bool byPlace = call.arguments.empty() || (call.arguments.back().name.empty() &&
                                                    call.arguments.back().spread == Argument::One);
    Argument argument = HEDDLE_TRY(parseArgument());
    if (!byPlace && argument.name.empty() && argument.spread == Argument::One)
      return errorAt(argument.value->line, "expected arguments without a name before those with "
                                           "one, found one after them");
    call.arguments.push_back(std::move(argument));
  }
  return {};
}

Expected<Argument> ExpressionParser::parseArgument() {
  Argument argument;
  if (takeSign("**"))
    argument.spread = Argument::Dict;
  else if (takeSign("*"))
    argument.spread = Argument::List;
  else if (token().kind == Token::Name && nextToken().isSign("=")) {
    argument.name = token().text;
    at += 2;
  }
  argument.value = HEDDLE_TRY(parseExpression());
  return argument;
}

} // namespace heddle::templates
