//===- ConfigExpression.cpp - Expressions over a configuration ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A precedence-climbing parser that evaluates while it parses. An operand that short-circuiting
// skips is parsed with `skipping` set: its syntax is checked, its value ignored.

#include "ConfigExpression.h"

#include "ExpressionCursor.h"
#include "Schema.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SaveAndRestore.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

namespace {
struct Operator {
  llvm::StringLiteral word;
  int level; ///< higher levels bind more tightly
};
constexpr double exact = 9007199254740992.0; ///< doubles represent all integers up to this one
constexpr int disjunction = 1, conjunction = 2, comparison = 3, product = 5;
constexpr Operator operators[] = {{"||", disjunction},
                                  {"&&", conjunction},
                                  {"<=", comparison},
                                  {">=", comparison},
                                  {"==", comparison},
                                  {"!=", comparison},
                                  {"<", comparison},
                                  {">", comparison},
                                  {"+", 4},
                                  {"-", 4},
                                  {"*", product},
                                  {"/", product},
                                  {"%", product}};

class Evaluator {
public:
  Evaluator(std::string_view text, const ConfigNames &names) : in(text), names(names) {}

  Expected<Json> run() {
    Json value = choice();
    if (!in.failed() && !in.atEnd())
      in.fail("an operator or the end");
    if (in.failed())
      return in.takeError();
    return value;
  }

private:
  Json choice();
  Json chain(int least);
  Json joined(const Operator &op, const Json &x, const Json &y, size_t where);
  Json arithmetic(llvm::StringRef word, const Json &x, const Json &y, size_t where);
  Json unary();
  Json value();
  Json named();
  Json call(const std::string &word, size_t where);
  Json element(const Json &list);
  Json holds(const Json &x, const Json &y, size_t where);

  size_t here() {
    in.skip();
    return in.place();
  }
  /// Reports a value of the wrong kind, unless it is skipped.
  bool expect(bool holds, const char *what, const Json &found, size_t where) {
    if (!holds && !skipping)
      in.report(std::string("expected ") + what + ", found " + shown(found), where);
    return holds && !skipping;
  }
  bool truth(const Json &x, size_t where) {
    return expect(x.is_boolean(), "true or false", x, where) && x.get<bool>();
  }

  ExpressionCursor in;
  const ConfigNames &names;
  bool skipping = false;
};
} // namespace

Json Evaluator::choice() {
  ExpressionCursor::Level level(in);
  if (in.failed())
    return {};
  size_t where = here();
  Json condition = chain(disjunction);
  if (in.failed() || !in.take("?"))
    return condition;
  bool first = truth(condition, where);
  auto side = [&](bool counts) {
    llvm::SaveAndRestore skip(skipping, skipping || !counts);
    return choice();
  };
  Json yes = side(first);
  in.expect(":");
  Json no = side(!first);
  return first ? yes : no;
}

/// Parses a left-associative chain of operators with a level of at least `least`; comparisons do
/// not associate.
Json Evaluator::chain(int least) {
  size_t where = here();
  Json left = unary();
  for (int most = product; !in.failed();) {
    auto op = llvm::find_if(operators, [&](const Operator &op) {
      return op.level >= least && op.level <= most && in.take(op.word);
    });
    if (op == std::end(operators))
      break;
    most = op->level - (op->level == comparison);
    if (op->level <= conjunction) {
      bool decided = truth(left, where) == (op->level == disjunction);
      llvm::SaveAndRestore skip(skipping, skipping || decided);
      size_t second = here();
      Json right = chain(op->level + 1);
      if (!skipping)
        left = truth(right, second);
      continue;
    }
    Json right = chain(op->level + 1);
    left = joined(*op, left, right, where);
  }
  return left;
}

Json Evaluator::joined(const Operator &op, const Json &x, const Json &y, size_t where) {
  if (in.failed() || skipping)
    return {};
  if (op.word == "==" || op.word == "!=")
    return (x == y) == (op.word == "==");
  if (!expect(x.is_number(), "a number", x, where) || !expect(y.is_number(), "a number", y, where))
    return {};
  if (op.level != comparison)
    return arithmetic(op.word, x, y, where);
  return op.word == "<" ? x < y : op.word == "<=" ? x <= y : op.word == ">" ? x > y : x >= y;
}

Json Evaluator::arithmetic(llvm::StringRef word, const Json &x, const Json &y, size_t where) {
  auto a = x.get<double>(), b = y.get<double>();
  bool divides = word == "/" || word == "%";
  if (divides && b == 0) {
    in.report("expected a divisor that is not 0, found 0", where);
    return {};
  }
  double result = word == "+"     ? a + b
                  : word == "-"   ? a - b
                  : word == "*"   ? a * b
                  : word == "/"   ? a / b
                  : word == "%"   ? a - std::floor(a / b) * b
                  : word == "min" ? std::min(a, b)
                  : word == "max" ? std::max(a, b)
                                  : std::pow(a, b);
  // Integer results must be exact in a double.
  bool whole = x.is_number_integer() && y.is_number_integer() && result == std::floor(result);
  if (!std::isfinite(result) || (whole && std::abs(result) > exact)) {
    in.report("expected a result that is finite and below 2^53, found " + formatted("%g", result),
              where);
    return {};
  }
  return whole ? Json(static_cast<int64_t>(result)) : Json(result);
}

Json Evaluator::unary() {
  ExpressionCursor::Level level(in);
  if (in.failed())
    return {};
  size_t where = here();
  if (in.take("-")) {
    Json x = unary();
    return expect(x.is_number(), "a number", x, where) ? arithmetic("-", 0, x, where) : Json();
  }
  if (in.take("!"))
    return !truth(unary(), where);
  Json x = value();
  while (!in.failed() && in.take("["))
    x = element(x);
  return x;
}

Json Evaluator::value() {
  if (in.take("(")) {
    Json inner = choice();
    in.expect(")");
    return inner;
  }
  if (in.atNumber()) {
    bool isReal = false;
    double number = in.number(isReal);
    if (in.failed()) // the number may be out of range
      return {};
    return isReal ? Json(number) : Json(static_cast<int64_t>(number));
  }
  if (in.peek() == '\'')
    return in.quoted('\'');
  if (in.atName())
    return named();
  in.fail("a number, a text, a name or '('");
  return {};
}

/// Parses the rest of `list[index]` or `object['key']` after the bracket.
Json Evaluator::element(const Json &list) {
  size_t where = here();
  Json index = choice();
  in.expect("]");
  if (in.failed() || skipping)
    return {};
  if (list.is_object()) {
    if (index.is_string() && list.contains(index.get<std::string>()))
      return list[index.get<std::string>()];
    std::string keys;
    for (const auto &[key, ignored] : list.items())
      keys += (keys.empty() ? "" : ", ") + key;
    in.report("expected one of " + keys + ", found " + shown(index), where);
    return {};
  }
  if (!expect(list.is_array(), "a list or an object in front of '['", list, where))
    return {};
  bool inside = index.is_number_integer() && index >= 0 && index < list.size();
  if (!inside)
    in.report("expected an index below " + std::to_string(list.size()) + ", found " + shown(index),
              where);
  return inside ? list[index.get<size_t>()] : Json();
}

Json Evaluator::named() {
  size_t where = in.place();
  std::string word = in.name(/*dashes=*/false);
  if (word == "null")
    return nullptr;
  if (word == "true" || word == "false")
    return word == "true";
  in.skip();
  if (in.peek() == '(')
    return call(word, where);
  if (skipping)
    return {};
  Expected<Json> value = names(word);
  if (!value) {
    in.report(value.takeError().message, where);
    return {};
  }
  return std::move(*value);
}

/// Returns whether a list contains an element, or a text a substring.
Json Evaluator::holds(const Json &x, const Json &y, size_t where) {
  if (x.is_string() && expect(y.is_string(), "a text in a text", y, where))
    return x.get_ref<const std::string &>().find(y.get_ref<const std::string &>()) !=
           std::string::npos;
  if (!expect(x.is_array(), "a list or a text", x, where))
    return {};
  return llvm::any_of(x, [&](const Json &element) { return element == y; }); // not Json::contains
}

Json Evaluator::call(const std::string &word, size_t where) {
  bool two = word == "min" || word == "max" || word == "pow" || word == "has";
  if (!two && word != "abs" && word != "sqrt" && word != "int" && word != "count") {
    in.report("expected abs, count, has, int, max, min, pow or sqrt, found " + quotedText(word),
              where);
    return {};
  }
  in.expect("(");
  Json x = choice(), y = 0;
  if (two) {
    in.expect(",");
    y = choice();
  }
  in.expect(")");
  if (in.failed() || skipping)
    return {};
  if (word == "has")
    return holds(x, y, where);
  if (word == "count")
    return expect(x.is_structured(), "a list or an object", x, where) ? Json(x.size()) : Json();
  if (!expect(x.is_number(), "a number", x, where) || !expect(y.is_number(), "a number", y, where))
    return {};
  if (two)
    return arithmetic(word, x, y, where);
  auto number = x.get<double>();
  if (word == "sqrt" && !expect(number >= 0, "a number of at least 0", x, where))
    return {};
  if (word == "int")
    return expect(std::abs(number) <= exact, "a number up to 2^53", x, where)
               ? Json(static_cast<int64_t>(std::trunc(number)))
               : Json();
  if (word == "abs")
    return number < 0 ? arithmetic("-", 0, x, where) : x;
  return std::sqrt(number);
}

Expected<Json> heddle::evaluateConfig(std::string_view text, const ConfigNames &names) {
  Expected<Json> value = Evaluator(text, names).run();
  if (value)
    return value;
  // The key of the data file names the place, so the text with its caret is cut.
  const std::string message = value.takeError().message;
  return inputError(message.substr(0, message.find('\n')));
}

Expected<std::string> heddle::expandConfig(std::string_view text, const ConfigNames &names) {
  std::string result;
  while (true) {
    size_t open = text.find('{'), close = text.find('}', open);
    result += text.substr(0, open);
    if (open == std::string_view::npos)
      return result;
    if (close == std::string_view::npos)
      return inputError("expected '}' after '{', found the end");
    Json value = HEDDLE_TRY(evaluateConfig(text.substr(open + 1, close - open - 1), names));
    if (value.is_number_float() && value == std::trunc(value.get<double>()) &&
        std::abs(value.get<double>()) <= exact)
      value = value.get<int64_t>();
    result += value.is_string() ? value.get<std::string>() : value.dump();
    text.remove_prefix(close + 1);
  }
}
