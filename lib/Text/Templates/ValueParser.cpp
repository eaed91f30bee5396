//===- ValueParser.cpp - Parser of operands and targets -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parser of operands (names, numbers, texts, lists, tuples and dictionaries) and of the targets of
// `set` and `for`.
#include "Parser.h"

namespace heddle::templates {

//===- Values --------------------------------------------------------------===//

/// Whether a tuple ends after a comma.
bool ExpressionParser::endsTuple() const {
  return token().kind == Token::CloseOutput || token().kind == Token::CloseTag ||
         token().isSign(")") || token().isName("in") || token().isName("recursive");
}

ExpressionParser::Result ExpressionParser::parseTuple(bool withCondition) {
  const int line = token().line;
  std::vector<ExpressionPtr> parts;
  bool isTuple = false;
  do {
    parts.push_back(HEDDLE_TRY(parseExpression(withCondition)));
    if (!takeSign(","))
      break;
    isTuple = true;
  } while (!endsTuple());
  if (!isTuple)
    return std::move(parts[0]);
  return make(Expression::Tuple, line, std::move(parts));
}

ExpressionParser::Result ExpressionParser::parseNamed() {
  static constexpr std::pair<const char *, int> constants[] = {
      {"true", 1}, {"True", 1}, {"false", 0}, {"False", 0}, {"none", -1}, {"None", -1}};
  const Token &word = tokens[at++];
  ExpressionPtr made = HEDDLE_TRY(make(Expression::Name, word.line, {}, word.text));
  for (auto [text, meaning] : constants)
    if (word.text == text) {
      made->kind = Expression::Constant;
      made->value = meaning < 0 ? Value::none() : Value(meaning == 1);
    }
  if (!macros.empty() && made->kind == Expression::Name) {
    macros.back()->takesMore |= word.text == "varargs";
    macros.back()->takesNamed |= word.text == "kwargs";
    macros.back()->takesCaller |= word.text == "caller";
  }
  loopNames += word.text == "loop";
  return made;
}

ExpressionParser::Result ExpressionParser::parsePrimary() {
  const int line = token().line;
  if (token().kind == Token::Name)
    return parseNamed();
  if (token().isSign("["))
    return parseList();
  if (token().isSign("{"))
    return parseDict();
  if (takeSign("(")) {
    ExpressionPtr value;
    if (token().isSign(")"))
      value = HEDDLE_TRY(make(Expression::Tuple, line, {}));
    else
      value = HEDDLE_TRY(parseTuple());
    HEDDLE_TRY(expectSign(")"));
    return value;
  }
  ExpressionPtr constant = HEDDLE_TRY(make(Expression::Constant, line, {}));
  if (token().kind == Token::Integer) {
    constant->value = Value(tokens[at++].integer);
  } else if (token().kind == Token::Float) {
    constant->value = Value(tokens[at++].real);
  } else if (token().kind == Token::Text) {
    std::string text; // adjacent string literals are joined
    while (token().kind == Token::Text)
      text += tokens[at++].text;
    constant->value = Value::text(std::move(text));
  } else {
    return expected("an expression");
  }
  return constant;
}

ExpressionParser::Result ExpressionParser::parseList() {
  const int line = token().line;
  ++at;
  std::vector<ExpressionPtr> parts;
  while (!takeSign("]")) {
    if (!parts.empty()) {
      HEDDLE_TRY(expectSign(","));
      if (takeSign("]"))
        break;
    }
    parts.push_back(HEDDLE_TRY(parseExpression()));
  }
  return make(Expression::List, line, std::move(parts));
}

ExpressionParser::Result ExpressionParser::parseDict() {
  const int line = token().line;
  ++at;
  std::vector<ExpressionPtr> parts;
  while (!takeSign("}")) {
    if (!parts.empty()) {
      HEDDLE_TRY(expectSign(","));
      if (takeSign("}"))
        break;
    }
    parts.push_back(HEDDLE_TRY(parseExpression()));
    HEDDLE_TRY(expectSign(":"));
    parts.push_back(HEDDLE_TRY(parseExpression()));
  }
  return make(Expression::Dict, line, std::move(parts));
}

//===- Targets -------------------------------------------------------------===//

ExpressionParser::Result ExpressionParser::parseTargetPart() {
  Guard guard(levels);
  HEDDLE_TRY(checkNesting());
  const int line = token().line;
  if (takeSign("(")) {
    ExpressionPtr inner = HEDDLE_TRY(parseTarget());
    HEDDLE_TRY(expectSign(")"));
    return inner;
  }
  for (const char *word : {"true", "True", "false", "False", "none", "None"})
    if (token().isName(word))
      return expected("a name to assign to");
  const std::string word = HEDDLE_TRY(expectName("a name to assign to"));
  ExpressionPtr target = HEDDLE_TRY(make(Expression::Name, line, {}, word));
  if (!takeSign("."))
    return target;
  const std::string attribute = HEDDLE_TRY(expectName("a name after the dot"));
  return make(Expression::Attribute, line, listOf(std::move(target)), attribute);
}

ExpressionParser::Result ExpressionParser::parseTarget() {
  const int line = token().line;
  std::vector<ExpressionPtr> parts;
  bool isTuple = false;
  do {
    if (isTuple && (endsTuple() || token().isSign("=")))
      break;
    parts.push_back(HEDDLE_TRY(parseTargetPart()));
    isTuple |= token().isSign(",");
  } while (takeSign(","));
  return isTuple ? make(Expression::Tuple, line, std::move(parts)) : Result(std::move(parts[0]));
}

} // namespace heddle::templates
