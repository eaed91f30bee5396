//===- Expression.cpp - Parser of expressions -----------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recursive-descent parser. Only brackets, prefixes and choices nest; a chain of operators of one
// level is one node.

#include "Expression.h"

#include <algorithm>

using namespace heddle;
using Kind = Expression::Kind;

namespace {

class ExpressionParser {
public:
  ExpressionParser(ExpressionCursor &in, const ExpressionGrammar &grammar)
      : in(in), grammar(&grammar) {}

  Expression choice();
  bool atOperator();

private:
  /// Parses by `parse` inside a bracket or after a prefix.
  template <typename Parse>
  Expression nested(Parse parse) {
    ExpressionCursor::Level level(in);
    return in.failed() ? Expression() : parse();
  }
  Expression inside() {
    return nested([&] { return choice(); });
  }
  Expression chain(size_t level);
  Expression prefix();
  Expression operand();
  Expression named();
  Expression call(Expression name);
  Expression argument(char kind);
  Expression formula();
  Expression number();

  ExpressionCursor &in;
  const ExpressionGrammar *grammar;
};

} // namespace

Expression ExpressionParser::choice() {
  Expression condition = chain(0);
  if (in.failed() || !grammar->choices || !in.take("?"))
    return condition;
  Expression choice{.kind = Kind::Choice, .place = condition.place, .begin = condition.begin};
  choice.operands.push_back(std::move(condition));
  choice.operands.push_back(inside());
  in.expect(":");
  choice.operands.push_back(inside());
  return choice;
}

/// Parses operands joined by the operators from index `first` of the table on.
Expression ExpressionParser::chain(size_t first) {
  const auto operators = grammar->operators.subspan(first);
  if (operators.empty())
    return prefix();
  const int level = operators.front().level;
  const auto ofLevel = operators.first(static_cast<size_t>(
      std::ranges::find_if(operators, [&](const auto &op) { return op.level != level; }) -
      operators.begin()));
  Expression left = chain(first + ofLevel.size());
  Expression joined{.kind = Kind::Chain, .place = left.place, .begin = left.begin};
  while (!in.failed()) {
    const auto op = std::ranges::find_if(ofLevel, [&](const auto &op) { return in.take(op.word); });
    if (op == ofLevel.end())
      break;
    joined.operators.push_back(*op);
    joined.operands.push_back(chain(first + ofLevel.size()));
    if (level == comparisonLevel)
      break;
  }
  if (joined.operators.empty())
    return left;
  joined.operands.insert(joined.operands.begin(), std::move(left));
  return joined;
}

Expression ExpressionParser::prefix() {
  in.skip();
  const size_t place = in.place();
  for (const char &word : grammar->prefixes)
    if (in.take({&word, 1})) {
      Expression made{.kind = Kind::Prefix, .place = place, .begin = place};
      made.word = word;
      made.operands.push_back(nested([&] { return prefix(); }));
      return made;
    }
  Expression value = operand();
  while (!in.failed() && grammar->indices > 0 && in.take("[")) {
    Expression element{.kind = Kind::Element, .place = value.place};
    element.operands.push_back(std::move(value));
    do
      element.operands.push_back(inside());
    while (!in.failed() && element.operands.size() <= grammar->indices && in.take(","));
    in.expect("]");
    value = std::move(element);
  }
  value.begin = place;
  return value;
}

Expression ExpressionParser::operand() {
  if (grammar->parentheses && in.take("(")) {
    Expression inner = inside();
    in.expect(")");
    return inner;
  }
  if (grammar->values && in.atNumber())
    return number();
  const size_t place = in.place();
  if (grammar->texts && in.peek() == '\'')
    return {.kind = Kind::Text, .place = place, .word = in.quoted('\'')};
  if (in.atName())
    return named();
  in.fail(std::string(grammar->operand));
  return {};
}

Expression ExpressionParser::number() {
  in.skip();
  Expression made{.kind = Kind::Number, .place = in.place()};
  made.number = in.number(made.isReal);
  return made;
}

/// Parses a name, or a call of a function.
Expression ExpressionParser::named() {
  Expression name{.kind = Kind::Name, .place = in.place(), .word = in.name(grammar->dashes)};
  in.skip();
  return in.peek() == '(' || !grammar->values ? call(std::move(name)) : name;
}

Expression ExpressionParser::call(Expression name) {
  const auto function = std::ranges::find(grammar->functions, name.word, &ExpressionFunction::word);
  if (function == grammar->functions.end()) {
    in.report("expected " + std::string(grammar->function) + ", found " + quotedText(name.word),
              name.place);
    return {};
  }
  name.kind = Kind::Call;
  const std::string_view kinds = function->arguments;
  const size_t least = kinds.size() - (function->lastIsOptional ? 1 : 0);
  if (kinds.empty() || (least == 0 && !in.take("(")))
    return name;
  if (least > 0)
    in.expect("(");
  for (size_t i = 0; i < kinds.size() && !in.failed(); ++i) {
    if (i >= least && i > 0 && !in.take(","))
      break;
    if (i < least && i > 0)
      in.expect(",");
    if (!in.failed())
      name.operands.push_back(argument(kinds[i]));
  }
  in.expect(")");
  return name;
}

Expression ExpressionParser::argument(char kind) {
  if (kind == 'e')
    return inside();
  if (kind == 'w')
    return formula();
  in.skip();
  const size_t place = in.place();
  const bool isInteger = kind == 'i' || (kind == 'o' && (in.atNumber() || in.peek() == '-'));
  if (isInteger)
    return {.kind = Kind::Number, .place = place, .number = static_cast<double>(in.integer())};
  if (kind == 'f')
    return number();
  if (kind == 'o' && !in.atName())
    in.fail("an integer or the name of an input");
  return {.kind = Kind::Name, .place = place, .word = in.name()};
}

/// Parses an expression of the inner language.
Expression ExpressionParser::formula() {
  ExpressionParser parser(in, *grammar->inner);
  Expression made = parser.inside();
  if (!in.failed() && !in.atEnd() && in.peek() != ')' && !parser.atOperator())
    in.fail("an operator or ')'");
  return made;
}

/// Returns whether an operator comes next.
bool ExpressionParser::atOperator() {
  ExpressionCursor ahead = in;
  return std::ranges::any_of(grammar->operators,
                             [&](const auto &op) { return ahead.take(op.word); });
}

Expression heddle::parseExpression(ExpressionCursor &in, const ExpressionGrammar &grammar) {
  Expression made = ExpressionParser(in, grammar).choice();
  if (!in.failed() && !in.atEnd())
    in.fail("an operator or the end");
  return made;
}
