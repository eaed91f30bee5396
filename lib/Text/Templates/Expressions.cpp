//===- Expressions.cpp - Evaluation of expressions ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of expressions. An attribute is looked up first among methods and then among keys, an
// item in the opposite order: message.items is a method, message['items'] may be a value.
#include "InterpreterScopes.h"
#include "heddle/Templates/Strings.h"

namespace heddle::templates {

Expected<Value> Interpreter::evaluate(const Expression &expression) {
  using Evaluate = Expected<Value> (Interpreter::*)(const Expression &);
  static constexpr Evaluate kinds[] = {
      &Interpreter::evaluateConstant,   &Interpreter::evaluateName,
      &Interpreter::evaluateAttribute,  &Interpreter::evaluateItem,
      &Interpreter::evaluateSlice,      &Interpreter::evaluateCall,
      &Interpreter::evaluateFilter,     &Interpreter::evaluateTest,
      &Interpreter::evaluateNot,        &Interpreter::evaluateSign,
      &Interpreter::evaluateArithmetic, &Interpreter::evaluateConcat,
      &Interpreter::evaluateCompare,    &Interpreter::evaluateLogic,
      &Interpreter::evaluateLogic,      &Interpreter::evaluateCondition,
      &Interpreter::evaluateSequence,   &Interpreter::evaluateSequence,
      &Interpreter::evaluateDict};
  static_assert(std::size(kinds) == Expression::Dict + 1);
  Level level(depth);
  Status status = level.check();
  if (status)
    status = budget.step();
  if (!status)
    return placed(status.takeError(), expression.line);
  Expected<Value> value = (this->*kinds[expression.kind])(expression);
  if (!value)
    return placed(value.takeError(), expression.line);
  return value;
}

Expected<Value> Interpreter::evaluateConstant(const Expression &expression) {
  return expression.value;
}

//===- Names and parts -----------------------------------------------------===//

Value Interpreter::lookup(const std::string &wanted) const {
  for (const Scope *at = scope.get(); at; at = at->around.get())
    if (auto found = at->names.find(wanted); found != at->names.end())
      return found->second;
  if (const Function *function = findFunction(globals(), wanted)) {
    auto object = std::make_shared<FunctionObject>();
    object->function = function;
    return Value::object(Kind::Function, std::move(object));
  }
  return Value::undefined("the undefined variable " + quotedText(wanted));
}

Expected<Value> Interpreter::evaluateName(const Expression &expression) {
  return lookup(expression.name);
}

std::optional<Value> Interpreter::method(const Value &object, std::string_view wanted) const {
  std::span<const Function> table;
  if (object.isText())
    table = textMethods();
  else if (object.is(Kind::List))
    table = listMethods();
  else if (object.is(Kind::Tuple))
    table = tupleMethods();
  else if (object.is(Kind::Dict))
    table = dictMethods();
  else if (object.is(Kind::Loop))
    table = loopMethods();
  const Function *found = findFunction(table, wanted);
  if (!found)
    return std::nullopt;
  if (!found->apply)
    return Value::undefined("the method " + quotedText(wanted) + ", " + found->otherwise);
  auto function = std::make_shared<FunctionObject>();
  function->function = found;
  function->self = object;
  return Value::object(Kind::Function, std::move(function));
}

std::optional<Value> Interpreter::loopAttribute(const LoopObject &loop,
                                                std::string_view wanted) const {
  const auto index = static_cast<int64_t>(loop.index),
             size = static_cast<int64_t>(loop.items.size());
  const std::pair<std::string_view, int64_t> numbers[] = {{"index", index + 1},
                                                          {"index0", index},
                                                          {"revindex", size - index},
                                                          {"revindex0", size - index - 1},
                                                          {"length", size},
                                                          {"depth", 1},
                                                          {"depth0", 0}};
  for (auto [attribute, number] : numbers)
    if (wanted == attribute)
      return Value(number);
  if (wanted == "first")
    return Value(index == 0);
  if (wanted == "last")
    return Value(index + 1 == size);
  if (wanted == "previtem")
    return index > 0 ? loop.items[loop.index - 1] : Value::undefined("no item before the first");
  if (wanted == "nextitem")
    return index + 1 < size ? loop.items[loop.index + 1]
                            : Value::undefined("no item after the last");
  return std::nullopt;
}

Expected<Value> Interpreter::attribute(const Value &object, const std::string &wanted) {
  auto missing = [&] {
    return Value::undefined(quotedText(wanted) + ", which " + describe(object) + " has not");
  };
  if (object.isUndefined())
    return inputError("expected a value to take " + quotedText(wanted) + " of, found " +
                      object.note());
  if (std::optional<Value> found = method(object, wanted))
    return *found;
  if (object.is(Kind::Loop))
    return loopAttribute(object.as<LoopObject>(), wanted).value_or(missing());
  if (object.is(Kind::Namespace)) {
    const auto &attributes = object.as<NamespaceObject>().attributes;
    auto found = attributes.find(wanted);
    return found == attributes.end() ? missing() : found->second;
  }
  if (object.is(Kind::Dict))
    if (const Value *found = HEDDLE_TRY(findKey(object, Value::text(wanted), budget)))
      return *found;
  return missing();
}

Expected<Value> Interpreter::evaluateAttribute(const Expression &expression) {
  const Value object = HEDDLE_TRY(evaluate(*expression.parts[0]));
  return attribute(object, expression.name);
}

Expected<Value> Interpreter::element(const Value &object, int64_t index) {
  if (object.isText())
    HEDDLE_TRY(budget.step(object.text().size() / 16));
  const auto size =
      static_cast<int64_t>(object.isText() ? lengthOf(object.text()) : object.items().size());
  const int64_t place = index < 0 ? index + size : index;
  if (place < 0 || place >= size)
    return Value::undefined("element " + std::to_string(index) + " of " + describe(object) +
                            " of " + std::to_string(size));
  if (!object.isText())
    return object.items()[static_cast<size_t>(place)];
  HEDDLE_TRY(budget.allocate(16 * object.text().size()));
  return partOfText(object, charactersOf(object.text())[static_cast<size_t>(place)]);
}

Expected<Value> Interpreter::item(const Value &object, const Value &key) {
  if (object.isUndefined())
    return inputError("expected a value to take an item of, found " + object.note());
  if ((object.isText() || object.isIndexed()) && key.isWhole())
    return element(object, key.integer());
  if (object.is(Kind::Dict) && checkKey(key))
    if (const Value *found = HEDDLE_TRY(findKey(object, key, budget)))
      return *found;
  if (!key.isText())
    return Value::undefined(HEDDLE_TRY(shownText(key, budget)) + ", which " + describe(object) +
                            " has not");
  return attribute(object, key.text());
}

Expected<Value> Interpreter::evaluateItem(const Expression &expression) {
  const Value object = HEDDLE_TRY(evaluate(*expression.parts[0]));
  return item(object, HEDDLE_TRY(evaluate(*expression.parts[1])));
}

namespace {

/// Indices of a slice, as in Python: bounds beyond the ends are clamped.
Expected<std::vector<size_t>> slicePlaces(const std::optional<int64_t> (&bounds)[3], int64_t size) {
  const int64_t step = bounds[2].value_or(1);
  if (step == 0)
    return inputError("expected a step other than 0 in a slice, found 0");
  const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
  auto placeOf = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound)
      return otherwise;
    return *bound < 0 ? std::max(least, *bound + size) : std::min(most, *bound);
  };
  const int64_t first = placeOf(bounds[0], step > 0 ? 0 : size - 1);
  const int64_t end = placeOf(bounds[1], step > 0 ? size : -1);
  std::vector<size_t> places;
  // The sum may overflow if the step is large.
  for (int64_t at = first; step > 0 ? at < end : at > end; at += step) {
    places.push_back(static_cast<size_t>(at));
    if (step > 0 ? step >= end - at : step <= end - at)
      break;
  }
  return places;
}

} // namespace

Expected<Value> Interpreter::evaluateSlice(const Expression &expression) {
  const Value object = HEDDLE_TRY(evaluate(*expression.parts[0]));
  std::optional<int64_t> bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!expression.parts[i + 1])
      continue;
    const Value bound = HEDDLE_TRY(evaluate(*expression.parts[i + 1]));
    if (!bound.isWhole() && !bound.isNone())
      return inputError("expected whole numbers in a slice, found " + describe(bound));
    if (bound.isWhole())
      bounds[i] = bound.integer();
  }
  if (!object.isText() && !object.isIndexed())
    return inputError("expected a string or a list to cut, found " + describe(object));
  if (object.isText()) {
    HEDDLE_TRY(budget.allocate(24 * object.text().size()));
    const std::vector<std::string_view> characters = charactersOf(object.text());
    TextBuilder text;
    const auto places = HEDDLE_TRY(slicePlaces(bounds, static_cast<int64_t>(characters.size())));
    for (size_t place : places)
      text.addPart(object, characters[place]);
    return std::move(text).value();
  }
  Values items;
  const auto places = HEDDLE_TRY(slicePlaces(bounds, static_cast<int64_t>(object.items().size())));
  HEDDLE_TRY(budget.step(places.size()));
  for (size_t place : places)
    items.push_back(object.items()[place]);
  return Value::sequence(object.is(Kind::Tuple) ? Kind::Tuple : Kind::List, std::move(items),
                         budget);
}

//===- Calls ---------------------------------------------------------------===//

Expected<Arguments> Interpreter::evaluateArguments(const Expression &expression) {
  Arguments arguments;
  for (const Argument &argument : expression.arguments) {
    Value value = HEDDLE_TRY(evaluate(*argument.value));
    if (argument.spread == Argument::List) {
      Values values = HEDDLE_TRY(elementsOf(value, budget));
      HEDDLE_TRY(budget.allocate(48 * values.size()));
      arguments.byPlace.insert(arguments.byPlace.end(), values.begin(), values.end());
    } else if (argument.spread == Argument::Dict) {
      if (!value.is(Kind::Dict))
        return inputError("expected a mapping after **, found " + describe(value));
      HEDDLE_TRY(budget.allocate(96 * value.entries().size()));
      for (const auto &[key, element] : value.entries()) {
        if (!key.isText())
          return inputError("expected strings as keys after **, found " + describe(key));
        arguments.byName.emplace_back(key.text(), element);
      }
    } else if (!argument.name.empty()) {
      arguments.byName.emplace_back(argument.name, std::move(value));
    } else {
      arguments.byPlace.push_back(std::move(value));
    }
  }
  HEDDLE_TRY(budget.step(arguments.byName.size() * arguments.byName.size() / 16));
  for (size_t i = 0; i < arguments.byName.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (arguments.byName[i].first == arguments.byName[j].first)
        return inputError("expected each argument once, found " +
                          quotedText(arguments.byName[i].first) + " twice");
  return arguments;
}

Expected<Value> Interpreter::call(const Value &function, Arguments arguments) {
  if (!function.is(Kind::Function))
    return inputError("expected a function to call, found " + describe(function));
  // Held, because a macro may assign another value to its name.
  auto object = std::static_pointer_cast<FunctionObject>(function.sharedObject());
  if (object->macro)
    return callMacro(*object, std::move(arguments));
  return applyFunction(*object->function, *this, object->self, std::move(arguments));
}

Expected<Value> Interpreter::evaluateCall(const Expression &expression) {
  const Value function = HEDDLE_TRY(evaluate(*expression.parts[0]));
  Arguments arguments = HEDDLE_TRY(evaluateArguments(expression));
  return call(function, std::move(arguments));
}

Expected<Value> Interpreter::filter(std::string_view wanted, const Value &value,
                                    Arguments arguments) {
  const Function *function = findFunction(filters(), wanted);
  if (!function)
    return inputError("expected a filter that is built, found " + quotedText(wanted));
  return applyFunction(*function, *this, value, std::move(arguments));
}

Expected<bool> Interpreter::test(std::string_view wanted, const Value &value, Arguments arguments) {
  const Function *function = findFunction(tests(), wanted);
  if (!function)
    return inputError("expected a test that is built, found " + quotedText(wanted));
  return isTrue(HEDDLE_TRY(applyFunction(*function, *this, value, std::move(arguments))));
}

Expected<Value> Interpreter::evaluateFilter(const Expression &expression) {
  const Value value = HEDDLE_TRY(evaluate(*expression.parts[0]));
  return filter(expression.name, value, HEDDLE_TRY(evaluateArguments(expression)));
}

Expected<Value> Interpreter::evaluateTest(const Expression &expression) {
  const Value value = HEDDLE_TRY(evaluate(*expression.parts[0]));
  return Value(HEDDLE_TRY(test(expression.name, value, HEDDLE_TRY(evaluateArguments(expression)))));
}

//===- Operators -----------------------------------------------------------===//

Expected<Value> Interpreter::evaluateNot(const Expression &expression) {
  return Value(!isTrue(HEDDLE_TRY(evaluate(*expression.parts[0]))));
}

Expected<Value> Interpreter::evaluateSign(const Expression &expression) {
  const Value value = HEDDLE_TRY(evaluate(*expression.parts[0]));
  if (!value.isNumber())
    return inputError("expected a number after " + expression.name + ", found " + describe(value));
  return value.is(Kind::Float) && expression.name == "-"
             ? Expected<Value>(Value(-value.real()))
             : arithmetic(expression.name, Value(int64_t{0}), value, budget);
}

Expected<Value> Interpreter::evaluateArithmetic(const Expression &expression) {
  const Value left = HEDDLE_TRY(evaluate(*expression.parts[0]));
  const Value right = HEDDLE_TRY(evaluate(*expression.parts[1]));
  return arithmetic(expression.name, left, right, budget);
}

Expected<Value> Interpreter::evaluateConcat(const Expression &expression) {
  TextBuilder text;
  for (const ExpressionPtr &part : expression.parts)
    text.add(HEDDLE_TRY(textValueOf(HEDDLE_TRY(evaluate(*part)), budget)));
  return std::move(text).value();
}

Expected<bool> Interpreter::compare(const std::string &sign, const Value &a, const Value &b) {
  if (sign == "in" || sign == "not in")
    return HEDDLE_TRY(contains(b, a, budget)) == (sign == "in");
  if (sign == "==" || sign == "!=")
    return HEDDLE_TRY(areEqual(a, b, budget)) == (sign == "==");
  return isOrdered(sign, a, b, budget);
}

Expected<Value> Interpreter::evaluateCompare(const Expression &expression) {
  Value left = HEDDLE_TRY(evaluate(*expression.parts[0]));
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = HEDDLE_TRY(evaluate(*expression.parts[i + 1]));
    if (!HEDDLE_TRY(compare(expression.operators[i], left, right)))
      return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

/// Value of `and` and `or`, as in Python the operand that decides: none or 'x' is 'x'.
Expected<Value> Interpreter::evaluateLogic(const Expression &expression) {
  Value value;
  for (const ExpressionPtr &part : expression.parts) {
    value = HEDDLE_TRY(evaluate(*part));
    if (isTrue(value) == (expression.kind == Expression::Or))
      break;
  }
  return value;
}

Expected<Value> Interpreter::evaluateCondition(const Expression &expression) {
  const bool holds = isTrue(HEDDLE_TRY(evaluate(*expression.parts[0])));
  if (!holds && !expression.parts[2])
    return Value::undefined("a condition without else");
  return evaluate(*expression.parts[holds ? 1 : 2]);
}

//===- Lists and mappings --------------------------------------------------===//

Expected<Value> Interpreter::evaluateSequence(const Expression &expression) {
  Values items;
  for (const ExpressionPtr &part : expression.parts)
    items.push_back(HEDDLE_TRY(evaluate(*part)));
  return Value::sequence(expression.kind == Expression::Tuple ? Kind::Tuple : Kind::List,
                         std::move(items), budget);
}

Expected<Value> Interpreter::evaluateDict(const Expression &expression) {
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i < expression.parts.size(); i += 2) {
    Value key = HEDDLE_TRY(evaluate(*expression.parts[i]));
    Value value = HEDDLE_TRY(evaluate(*expression.parts[i + 1]));
    HEDDLE_TRY(setEntry(entries, std::move(key), std::move(value), budget));
  }
  return Value::dict(std::move(entries), budget);
}

} // namespace heddle::templates
