//===- Functions.cpp - Calls of template functions ------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding of arguments to the parameters of filters, tests, methods and global functions.
#include "Interpreter.h"

#include <algorithm>

namespace heddle::templates {

namespace {

struct ParameterText {
  std::string_view name;
  bool isOptional;
};

/// Splits "old new count=" into parameters; a last "*" sets `any`.
std::vector<ParameterText> parametersOf(std::string_view text, bool &any) {
  std::vector<ParameterText> parameters;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    any |= word == "*";
    const bool isOptional = word.ends_with('=');
    if (isOptional)
      word.remove_suffix(1);
    if (word != "*")
      parameters.push_back({word, isOptional});
  }
  return parameters;
}

std::string placeOf(const Function &function) { return std::string(function.name) + ": "; }

Status bind(const std::vector<ParameterText> &parameters, bool any, Arguments arguments,
            Call &call) {
  const size_t byPlace = std::min(arguments.byPlace.size(), parameters.size());
  call.given.resize(parameters.size());
  std::move(arguments.byPlace.begin(), arguments.byPlace.begin() + static_cast<ptrdiff_t>(byPlace),
            call.given.begin());
  call.rest.byPlace.assign(arguments.byPlace.begin() + static_cast<ptrdiff_t>(byPlace),
                           arguments.byPlace.end());
  for (auto &[name, value] : arguments.byName) {
    const auto at = std::ranges::find(parameters, name, &ParameterText::name);
    if (at == parameters.end())
      call.rest.byName.emplace_back(name, std::move(value));
    else if (call.given[static_cast<size_t>(at - parameters.begin())])
      return inputError(placeOf(call.function) + "expected " + name + " once, found it twice");
    else
      call.given[static_cast<size_t>(at - parameters.begin())] = std::move(value);
  }
  if (!any && !call.rest.byPlace.empty())
    return inputError(placeOf(call.function) + "expected at most " +
                      std::to_string(parameters.size()) + " arguments, found " +
                      std::to_string(parameters.size() + call.rest.byPlace.size()));
  if (!any && !call.rest.byName.empty())
    return inputError(placeOf(call.function) + "expected an argument that is built, found " +
                      quotedText(call.rest.byName[0].first));
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!call.given[i] && !parameters[i].isOptional)
      return inputError(placeOf(call.function) + "expected an argument " +
                        std::string(parameters[i].name) + ", found none");
  return {};
}

} // namespace

bool Call::has(size_t parameter) const { return given[parameter] && !given[parameter]->isNone(); }

Value Call::value(size_t parameter, Value otherwise) const {
  return given[parameter].value_or(std::move(otherwise));
}

Error Call::error(const std::string &expected, const Value &found) const {
  return inputError(placeOf(function) + "expected " + expected + ", found " + describe(found));
}

Expected<std::string> Call::text(size_t parameter, const std::string &otherwise) const {
  if (!has(parameter))
    return otherwise;
  if (!given[parameter]->isText())
    return error("a string", *given[parameter]);
  HEDDLE_TRY(budget.allocate(given[parameter]->text().size()));
  return given[parameter]->text();
}

Expected<int64_t> Call::integer(size_t parameter, int64_t otherwise) const {
  if (!has(parameter))
    return otherwise;
  if (!given[parameter]->isWhole())
    return error("a whole number", *given[parameter]);
  return given[parameter]->integer();
}

bool Call::flag(size_t parameter, bool otherwise) const {
  return given[parameter] ? isTrue(*given[parameter]) : otherwise;
}

const Function *findFunction(std::span<const Function> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Function::name);
  return found == table.end() ? nullptr : &*found;
}

std::span<const Function> filters() {
  static const std::vector<Function> all = [] {
    std::vector<Function> both(textFilters().begin(), textFilters().end());
    both.insert(both.end(), listFilters().begin(), listFilters().end());
    return both;
  }();
  return all;
}

Expected<Value> applyFunction(const Function &function, Interpreter &interpreter, Value self,
                              Arguments arguments) {
  if (!function.apply)
    return inputError(placeOf(function) +
                      "expected a function that is built, found one that is not");
  if (self.isText()) // all functions read the text, few keep it
    HEDDLE_TRY(interpreter.budgetOf().step(self.text().size() / 64));
  bool any = false;
  const std::vector<ParameterText> parameters = parametersOf(function.parameters, any);
  Call call{function, interpreter, interpreter.budgetOf(), std::move(self)};
  HEDDLE_TRY(bind(parameters, any, std::move(arguments), call));
  return function.apply(call);
}

} // namespace heddle::templates
