//===- Formula.cpp - Formulas of where(...) -------------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recursive descent. A table's type follows from where it stands, so tables are
// made with the type of their surroundings: `integers` says that only integers
// will do.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include <initializer_list>

using namespace heddle;
using Kind = Formula::Kind;
using Type = Formula::Type;

namespace {
class FormulaParser {
public:
  FormulaParser(ExpressionCursor &in, bool scoreRule) : in(in), scoreRule(scoreRule) {}

  Formula choice(bool integers);

private:
  using Rule = Formula (FormulaParser::*)(bool integers);
  Formula chain(std::initializer_list<const char *> words, Rule next, bool integers);
  Formula disjunction(bool integers);
  Formula conjunction(bool integers);
  Formula comparison(bool integers);
  Formula sum(bool integers) { return chain({"+", "-"}, &FormulaParser::product, integers); }
  Formula product(bool integers) { return chain({"*", "/", "%"}, &FormulaParser::unary, integers); }
  Formula unary(bool integers);
  Formula primary(bool integers);
  Formula number();
  Formula named(bool integers);
  Formula call(const std::string &word, bool integers);
  Formula table(const std::string &word, bool integers);

  Formula make(std::string word, Type type, std::vector<Formula> operands) {
    Formula f;
    f.kind = Kind::Operator;
    f.word = std::move(word);
    f.type = type;
    f.operands = std::move(operands);
    if (++count > 2000)
      in.report("expected at most 2000 operations in one formula");
    return f;
  }
  static const char *text(Type type) {
    return type == Type::Integer ? "an integer" : type == Type::Real ? "a real number" : "a truth";
  }
  void want(const Formula &f, Type type, size_t where) {
    if (f.type != type)
      in.report(std::string("expected ") + text(type) + ", found " + text(f.type), where);
  }
  void wantNumber(const Formula &f, size_t where) {
    if (f.type == Type::Truth)
      in.report("expected a number, found a truth", where);
  }
  static Type joined(const Formula &a, const Formula &b) {
    return a.type == Type::Real || b.type == Type::Real ? Type::Real : Type::Integer;
  }

  ExpressionCursor &in;
  bool scoreRule;
  int count = 0;
};
} // namespace

Formula FormulaParser::choice(bool integers) {
  ExpressionCursor::Level level(in);
  if (in.failed())
    return {};
  in.skip();
  size_t start = in.place();
  Formula condition = disjunction(integers);
  if (in.failed() || !in.take("?"))
    return condition;
  want(condition, Type::Truth, start);
  Formula yes = choice(integers);
  in.expect(":");
  if (in.failed())
    return yes;
  size_t second = in.place();
  Formula no = choice(integers);
  if ((yes.type == Type::Truth) != (no.type == Type::Truth))
    in.report("expected two numbers or two truths", second);
  Type type = yes.type == Type::Truth ? Type::Truth : joined(yes, no);
  return make("?", type, {std::move(condition), std::move(yes), std::move(no)});
}

/// Left-associative operators of numbers.
Formula FormulaParser::chain(std::initializer_list<const char *> words, Rule next, bool integers) {
  in.skip();
  size_t start = in.place();
  Formula left = (this->*next)(integers);
  while (!in.failed()) {
    const char *found = nullptr;
    for (const char *word : words)
      if (!found && in.take(word))
        found = word;
    if (!found)
      return left;
    bool remainder = *found == '%';
    in.skip();
    size_t where = in.place();
    Formula right = (this->*next)(integers || remainder);
    wantNumber(left, start);
    wantNumber(right, where);
    if (remainder && joined(left, right) == Type::Real)
      in.report("expected integers around '%'", start);
    Type type = joined(left, right);
    left = make(found, type, {std::move(left), std::move(right)});
  }
  return left;
}

Formula FormulaParser::disjunction(bool integers) {
  in.skip();
  size_t start = in.place();
  Formula left = conjunction(integers);
  while (!in.failed() && in.take("||")) {
    in.skip();
    size_t where = in.place();
    Formula right = conjunction(integers);
    want(left, Type::Truth, start);
    want(right, Type::Truth, where);
    left = make("||", Type::Truth, {std::move(left), std::move(right)});
  }
  return left;
}

Formula FormulaParser::conjunction(bool integers) {
  in.skip();
  size_t start = in.place();
  Formula left = comparison(integers);
  while (!in.failed() && in.take("&&")) {
    in.skip();
    size_t where = in.place();
    Formula right = comparison(integers);
    want(left, Type::Truth, start);
    want(right, Type::Truth, where);
    left = make("&&", Type::Truth, {std::move(left), std::move(right)});
  }
  return left;
}

Formula FormulaParser::comparison(bool integers) {
  in.skip();
  size_t start = in.place();
  Formula left = sum(integers);
  if (in.failed())
    return left;
  for (const char *word : {"<=", ">=", "==", "!=", "<", ">"})
    if (in.take(word)) {
      in.skip();
      size_t where = in.place();
      Formula right = sum(integers);
      wantNumber(left, start);
      wantNumber(right, where);
      return make(word, Type::Truth, {std::move(left), std::move(right)});
    }
  return left;
}

Formula FormulaParser::unary(bool integers) {
  ExpressionCursor::Level level(in);
  if (in.failed())
    return {};
  in.skip();
  size_t where = in.place();
  if (in.take("-")) {
    Formula operand = unary(integers);
    wantNumber(operand, where);
    Type type = operand.type;
    return make("neg", type, {std::move(operand)});
  }
  if (in.peek() == '!') {
    in.take("!");
    Formula operand = unary(integers);
    want(operand, Type::Truth, where);
    return make("not", Type::Truth, {std::move(operand)});
  }
  return primary(integers);
}

Formula FormulaParser::primary(bool integers) {
  if (in.take("(")) {
    Formula inner = choice(integers);
    in.expect(")");
    return inner;
  }
  if (in.atNumber())
    return number();
  if (in.atName())
    return named(integers);
  in.fail("a number, b, h, i, j, a table or '('");
  return {};
}

Formula FormulaParser::number() {
  size_t where = in.place();
  Formula f;
  bool isReal = false;
  f.value = in.number(isReal);
  f.type = isReal ? Type::Real : Type::Integer;
  if (isReal && !scoreRule)
    in.report("expected integers in the formula of a mask, found a real number", where);
  return f;
}

Formula FormulaParser::named(bool integers) {
  size_t where = in.place();
  std::string word = in.name(/*dashes=*/false);
  in.skip();
  if (in.peek() == '[')
    return table(word, integers);
  if (in.peek() == '(')
    return call(word, integers);
  if (word == "b" || word == "h" || word == "i" || word == "j") {
    Formula f;
    f.kind = Kind::Index;
    f.word = word;
    return f;
  }
  in.report("expected b, h, i, j or a table such as " + word.substr(0, 60) + "[j], found " +
                quotedText(word),
            where);
  return {};
}

Formula FormulaParser::call(const std::string &word, bool integers) {
  size_t where = in.place();
  bool two = word == "min" || word == "max", real = word == "exp" || word == "log";
  if (!two && !real && word != "abs") {
    in.report("expected min, max, abs, exp or log, found " + quotedText(word), where);
    return {};
  }
  if (real && !scoreRule)
    in.report("expected integers in the formula of a mask, found " + word, where);
  in.expect("(");
  std::vector<Formula> operands;
  operands.push_back(choice(integers));
  if (two) {
    in.expect(",");
    operands.push_back(choice(integers));
  }
  in.expect(")");
  for (const Formula &operand : operands)
    wantNumber(operand, where);
  Type type = real ? Type::Real : joined(operands.front(), operands.back());
  return make(word, type, std::move(operands));
}

Formula FormulaParser::table(const std::string &word, bool integers) {
  in.expect("[");
  Formula f;
  f.kind = Kind::Table;
  f.word = word;
  f.type = scoreRule && !integers ? Type::Real : Type::Integer;
  in.skip();
  size_t where = in.place();
  Formula index = choice(/*integers=*/true);
  if (!in.failed() && in.take(",")) {
    if (index.kind != Kind::Index || index.word != "b")
      in.report("expected b as the first of two indices", where);
    f.perBatch = true;
    in.skip();
    where = in.place();
    index = choice(/*integers=*/true);
  }
  want(index, Type::Integer, where);
  f.operands.push_back(std::move(index));
  in.expect("]");
  return f;
}

Formula heddle::parseFormula(ExpressionCursor &in, bool scoreRule) {
  in.skip();
  size_t start = in.place();
  Formula f = FormulaParser(in, scoreRule).choice(/*integers=*/false);
  in.skip();
  if (in.failed() || scoreRule != (f.type == Type::Truth))
    return f;
  if (!in.atEnd() && in.peek() != ')') // a stray sign is what is wrong, not the type before it
    in.fail("an operator or ')'");
  else
    in.report(scoreRule ? "expected a number, found a truth" : "expected a truth, found a number",
              start);
  return f;
}
