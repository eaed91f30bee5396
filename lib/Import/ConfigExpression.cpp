//===- ConfigExpression.cpp - Expressions over a configuration ------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand that short-circuiting skips is parsed, so that its syntax is checked, and not evaluated.

#include "ConfigExpression.h"

#include "Expression.h"
#include "Schema.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

namespace {
constexpr double exact = 9007199254740992.0; ///< doubles represent all integers up to this one

constexpr ExpressionFunction functions[] = {{"abs", "e"},  {"count", "e"}, {"has", "ee"},
                                            {"int", "e"},  {"max", "ee"},  {"min", "ee"},
                                            {"pow", "ee"}, {"sqrt", "e"}};
constexpr ExpressionGrammar grammar = {
    .operators = arithmeticOperators,
    .functions = functions,
    .prefixes = "-!",
    .texts = true,
    .operand = "a number, a text, a name or '('",
    .function = "abs, count, has, int, max, min, pow or sqrt",
};

class Evaluator : public ExpressionEvaluator<Json> {
public:
  Evaluator(ExpressionCursor &in, const ConfigNames &names)
      : ExpressionEvaluator(in), names(names) {}

private:
  Json leaf(const Expression &e) override;
  Json call(const Expression &e) override;
  Json element(const Expression &e) override;
  Json prefix(const Expression &e, Json x) override;
  Json choice(const Expression &e) override;
  bool decides(const ExpressionOperator &op, const Json &left, size_t place) override;
  Json join(const ExpressionOperator &op, Json x, Json y, size_t left, size_t right) override;
  Json arithmetic(llvm::StringRef word, const Json &x, const Json &y, size_t where);
  Json holds(const Json &x, const Json &y, size_t where);

  /// Reports a value of the wrong kind.
  bool expect(bool holds, const char *what, const Json &found, size_t where) {
    if (!holds)
      in.report(std::string("expected ") + what + ", found " + shown(found), where);
    return holds;
  }
  bool truth(const Json &x, size_t where) {
    return expect(x.is_boolean(), "true or false", x, where) && x.get<bool>();
  }

  const ConfigNames &names;
};
} // namespace

Json Evaluator::choice(const Expression &e) {
  const Json condition = evaluate(e.operands[0]);
  return evaluate(e.operands[truth(condition, e.operands[0].begin) ? 1 : 2]);
}

bool Evaluator::decides(const ExpressionOperator &op, const Json &left, size_t place) {
  return op.level <= conjunctionLevel && truth(left, place) == (op.level == disjunctionLevel);
}

Json Evaluator::join(const ExpressionOperator &op, Json x, Json y, size_t left, size_t right) {
  if (in.failed())
    return {};
  if (op.level <= conjunctionLevel)
    return truth(y, right);
  if (op.word == "==" || op.word == "!=")
    return (x == y) == (op.word == "==");
  if (!expect(x.is_number(), "a number", x, left) || !expect(y.is_number(), "a number", y, left))
    return {};
  if (op.level != comparisonLevel)
    return arithmetic(op.word, x, y, left);
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

Json Evaluator::prefix(const Expression &e, Json x) {
  if (e.word == "!")
    return !truth(x, e.place);
  return expect(x.is_number(), "a number", x, e.place) ? arithmetic("-", 0, x, e.place) : Json();
}

/// Looks up `list[index]` or `object['key']`.
Json Evaluator::element(const Expression &e) {
  const Json list = evaluate(e.operands[0]), index = evaluate(e.operands[1]);
  const size_t where = e.operands[1].begin;
  if (in.failed())
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

Json Evaluator::leaf(const Expression &e) {
  if (e.kind == Expression::Kind::Number)
    return e.isReal ? Json(e.number) : Json(static_cast<int64_t>(e.number));
  if (e.kind == Expression::Kind::Text)
    return e.word;
  if (e.word == "null")
    return nullptr;
  if (e.word == "true" || e.word == "false")
    return e.word == "true";
  Expected<Json> value = names(e.word);
  if (value)
    return std::move(*value);
  in.report(value.takeError().message, e.place);
  return {};
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

Json Evaluator::call(const Expression &e) {
  const Json x = evaluate(e.operands[0]);
  const Json y = e.operands.size() > 1 ? evaluate(e.operands[1]) : Json(0);
  if (in.failed())
    return {};
  const std::string &word = e.word;
  if (word == "has")
    return holds(x, y, e.place);
  if (word == "count")
    return expect(x.is_structured(), "a list or an object", x, e.place) ? Json(x.size()) : Json();
  if (!expect(x.is_number(), "a number", x, e.place) ||
      !expect(y.is_number(), "a number", y, e.place))
    return {};
  if (e.operands.size() > 1)
    return arithmetic(word, x, y, e.place);
  const auto number = x.get<double>();
  if (word == "sqrt" && !expect(number >= 0, "a number of at least 0", x, e.place))
    return {};
  if (word == "int")
    return expect(std::abs(number) <= exact, "a number up to 2^53", x, e.place)
               ? Json(static_cast<int64_t>(std::trunc(number)))
               : Json();
  if (word == "abs")
    return number < 0 ? arithmetic("-", 0, x, e.place) : x;
  return std::sqrt(number);
}

Expected<Json> heddle::evaluateConfig(std::string_view text, const ConfigNames &names) {
  ExpressionCursor in(text);
  const Expression parsed = parseExpression(in, grammar);
  Json value = Evaluator(in, names).evaluate(parsed);
  if (!in.failed())
    return value;
  // The key of the data file names the place, so the text with its caret is cut.
  const std::string message = in.takeError().message;
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
