//===- Interpreter.cpp - Execution of statements --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Execution of statements, loops and macros.
#include "Interpreter.h"

#include "InterpreterScopes.h"

namespace heddle::templates {

namespace {

std::tm currentTime() {
  const std::time_t seconds = std::time(nullptr);
  std::tm time{};
  localtime_r(&seconds, &time);
  return time;
}

} // namespace

Interpreter::Interpreter(const std::string &name, const RenderOptions &options)
    : name(name), budget(options.steps, options.bytes),
      time(options.now ? *options.now : currentTime()) {}

Interpreter::~Interpreter() {
  for (const ScopePtr &kept : keptScopes)
    kept->names.clear();
  for (const auto &space : namespaces)
    space->attributes.clear();
}

Error Interpreter::placed(Error error, int line) {
  if (!isPlaced)
    error.message = name + ":" + std::to_string(line) + ": " + error.message;
  isPlaced = true;
  return error;
}

Status Interpreter::define(const nlohmann::ordered_json &variables, bool given) {
  if (!variables.is_object())
    return inputError(name + ": expected an object of variables, found another value");
  for (const auto &[key, json] : variables.items()) {
    Expected<Value> value = fromJson(json, given, budget);
    if (!value)
      return inputError(name + ": " + printable(key) + ": " + value.error().message);
    scope->names.insert_or_assign(key, std::move(*value));
  }
  return {};
}

Expected<RenderedText> Interpreter::run(const Body &body, const nlohmann::ordered_json &own,
                                        const nlohmann::ordered_json &given) {
  scope = std::make_shared<Scope>();
  HEDDLE_TRY(define(own, /*given=*/false));
  HEDDLE_TRY(define(given, /*given=*/true));
  TextBuilder text;
  out = &text;
  HEDDLE_TRY(execute(body));
  return RenderedText{std::move(text.text()), std::move(text.given())};
}

//===- Bodies --------------------------------------------------------------===//

Expected<Interpreter::Flow> Interpreter::execute(const Body &body) {
  Level level(depth);
  for (const Statement &statement : body) {
    Expected<Flow> flow =
        level.check() ? executeOne(statement) : Expected<Flow>(level.check().takeError());
    if (!flow)
      return placed(flow.takeError(), statement.line);
    if (*flow != Flow::On)
      return *flow;
  }
  return Flow::On;
}

Expected<Interpreter::Flow> Interpreter::executeOne(const Statement &statement) {
  HEDDLE_TRY(budget.step());
  switch (statement.kind) {
  case Statement::Text:
    HEDDLE_TRY(budget.allocate(statement.text.size()));
    out->add(std::string_view(statement.text));
    return Flow::On;
  case Statement::Output:
    for (const ExpressionPtr &part : statement.parts)
      HEDDLE_TRY(write(HEDDLE_TRY(evaluate(*part))));
    return Flow::On;
  case Statement::If:
    return executeIf(statement);
  case Statement::For:
    return executeFor(statement);
  case Statement::Set:
  case Statement::SetBlock:
    HEDDLE_TRY(executeSet(statement));
    return Flow::On;
  case Statement::Macro:
    scope->names.insert_or_assign(statement.text, macroOf(statement));
    return Flow::On;
  case Statement::CallBlock:
    HEDDLE_TRY(executeCall(statement));
    return Flow::On;
  case Statement::FilterBlock:
    HEDDLE_TRY(executeFilter(statement));
    return Flow::On;
  case Statement::With:
  case Statement::Scope:
    return executeScope(statement);
  case Statement::Break:
    return Flow::Break;
  case Statement::Continue:
    return Flow::Continue;
  }
  return Flow::On;
}

Status Interpreter::write(const Value &value) {
  out->add(HEDDLE_TRY(textValueOf(value, budget)));
  return {};
}

Expected<Value> Interpreter::capture(const Body &body) {
  TextBuilder text;
  TextBuilder *around = std::exchange(out, &text);
  Inner inner(scope);
  Expected<Flow> flow = execute(body);
  out = around;
  if (!flow)
    return flow.takeError();
  return std::move(text).value();
}

Expected<Interpreter::Flow> Interpreter::executeIf(const Statement &statement) {
  for (size_t i = 0; i < statement.parts.size(); ++i)
    if (isTrue(HEDDLE_TRY(evaluate(*statement.parts[i]))))
      return execute(statement.bodies[i]);
  if (statement.bodies.size() > statement.parts.size())
    return execute(statement.bodies.back());
  return Flow::On;
}

/// Executes `with` and `generation`: names that are set inside are local.
Expected<Interpreter::Flow> Interpreter::executeScope(const Statement &statement) {
  Values values; // evaluated in the surrounding scope
  for (size_t i = 1; i < statement.parts.size(); i += 2)
    values.push_back(HEDDLE_TRY(evaluate(*statement.parts[i])));
  Inner inner(scope);
  for (size_t i = 0; i < values.size(); ++i)
    HEDDLE_TRY(assign(*statement.parts[2 * i], std::move(values[i])));
  return execute(statement.bodies[0]);
}

//===- Loops ---------------------------------------------------------------===//

namespace {
/// Clears the values that `loop.changed` keeps, since they may contain the loop itself.
struct Forgetting {
  LoopObject &loop;
  ~Forgetting() { loop.lastSeen.reset(); }
};
} // namespace

Expected<bool> Interpreter::isWanted(const Statement &loop, const Value &item) {
  if (!loop.parts[2])
    return true;
  Inner inner(scope);
  HEDDLE_TRY(assign(*loop.parts[0], item));
  return isTrue(HEDDLE_TRY(evaluate(*loop.parts[2])));
}

Expected<Interpreter::Flow> Interpreter::executeFor(const Statement &statement) {
  const Value list = HEDDLE_TRY(evaluate(*statement.parts[1]));
  auto loop = std::make_shared<LoopObject>();
  const Forgetting forgetting{*loop};
  const Values all = HEDDLE_TRY(elementsOf(list, budget));
  // `loop` knows its next element, so the condition is evaluated for all elements before the first
  // iteration.
  for (const Value &item : all)
    if (!statement.usesLoop || HEDDLE_TRY(isWanted(statement, item)))
      loop->items.push_back(item);
  bool isEmpty = true;
  for (; loop->index < loop->items.size(); ++loop->index) {
    HEDDLE_TRY(budget.step());
    const Value &item = loop->items[loop->index];
    if (!statement.usesLoop && !HEDDLE_TRY(isWanted(statement, item)))
      continue;
    isEmpty = false;
    Inner inner(scope);
    HEDDLE_TRY(assign(*statement.parts[0], item));
    scope->names.insert_or_assign("loop", Value::object(Kind::Loop, loop));
    if (HEDDLE_TRY(execute(statement.bodies[0])) == Flow::Break)
      break;
  }
  if (!isEmpty || statement.bodies.size() < 2)
    return Flow::On;
  Inner inner(scope);
  return execute(statement.bodies[1]);
}

//===- Names ---------------------------------------------------------------===//

Status Interpreter::assign(const Expression &target, Value value) {
  if (target.kind == Expression::Name) {
    scope->names.insert_or_assign(target.name, std::move(value));
    return {};
  }
  if (target.kind == Expression::Attribute) {
    const Value space = lookup(target.parts[0]->name);
    if (!space.is(Kind::Namespace))
      return inputError("expected a namespace to set " + quotedText(target.name) + " of, found " +
                        describe(space));
    auto &object = space.as<NamespaceObject>();
    if (object.attributes.insert_or_assign(target.name, std::move(value)).second) {
      HEDDLE_TRY(budget.allocate(2 * target.name.size() + 128));
      object.order.push_back(target.name);
    }
    return {};
  }
  Values values = HEDDLE_TRY(elementsOf(value, budget));
  if (values.size() != target.parts.size())
    return inputError("expected " + std::to_string(target.parts.size()) +
                      " values for as many names, found " + std::to_string(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    HEDDLE_TRY(assign(*target.parts[i], std::move(values[i])));
  return {};
}

Status Interpreter::executeSet(const Statement &statement) {
  if (statement.kind == Statement::Set)
    return assign(*statement.parts[0], HEDDLE_TRY(evaluate(*statement.parts[1])));
  Value text = HEDDLE_TRY(capture(statement.bodies[0]));
  if (statement.parts[1])
    text = HEDDLE_TRY(filterBlock(*statement.parts[1], std::move(text)));
  return assign(*statement.parts[0], std::move(text));
}

Status Interpreter::executeFilter(const Statement &statement) {
  Value text = HEDDLE_TRY(capture(statement.bodies[0]));
  return write(HEDDLE_TRY(filterBlock(*statement.parts[0], std::move(text))));
}

Expected<Value> Interpreter::filterBlock(const Expression &expression, Value text) {
  Value value = std::move(text);
  if (expression.parts[0])
    value = HEDDLE_TRY(filterBlock(*expression.parts[0], std::move(value)));
  return filter(expression.name, value, HEDDLE_TRY(evaluateArguments(expression)));
}

//===- Macros --------------------------------------------------------------===//

Value Interpreter::macroOf(const Statement &statement) {
  auto object = std::make_shared<FunctionObject>();
  object->macro = &statement;
  object->scope = scope;
  if (!scope->isKept) {
    scope->isKept = true;
    keptScopes.push_back(scope);
  }
  return Value::object(Kind::Function, std::move(object));
}

Status Interpreter::executeCall(const Statement &statement) {
  HEDDLE_TRY(budget.allocate(256)); // kept until the end of the render
  const Expression &call = *statement.parts[0];
  const Value function = HEDDLE_TRY(evaluate(*call.parts[0]));
  Arguments arguments = HEDDLE_TRY(evaluateArguments(call));
  arguments.byName.emplace_back("caller", macroOf(statement));
  return write(HEDDLE_TRY(this->call(function, std::move(arguments))));
}

Expected<Value> Interpreter::callMacro(const FunctionObject &object, Arguments arguments) {
  const ScopePtr around = std::exchange(scope, std::make_shared<Scope>(Scope{object.scope}));
  TextBuilder text;
  TextBuilder *outAround = std::exchange(out, &text);
  Status status = bindParameters(*object.macro, arguments);
  if (status)
    if (Expected<Flow> flow = execute(object.macro->bodies[0]); !flow)
      status = flow.takeError();
  scope = around;
  out = outAround;
  if (!status)
    return status.takeError();
  return std::move(text).value();
}

/// Sets the parameters in the macro's scope. Excess arguments are assigned to varargs and kwargs if
/// the macro names them.
Status Interpreter::bindParameters(const Statement &macro, Arguments &arguments) {
  const size_t byPlace = std::min(arguments.byPlace.size(), macro.parameters.size());
  const std::string place = "macro " + quotedText(macro.text) + ": ";
  auto takeNamed = [&](std::string_view wanted) -> std::optional<Value> {
    for (auto it = arguments.byName.begin(); it != arguments.byName.end(); ++it)
      if (it->first == wanted) {
        Value value = std::move(it->second);
        arguments.byName.erase(it);
        return value;
      }
    return std::nullopt;
  };
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter &parameter = macro.parameters[i];
    std::optional<Value> value;
    if (i < byPlace)
      value = std::move(arguments.byPlace[i]);
    else
      value = takeNamed(parameter.name);
    if (!value)
      value = parameter.otherwise ? HEDDLE_TRY(evaluate(*parameter.otherwise))
                                  : Value::undefined("the parameter " + quotedText(parameter.name) +
                                                     ", which was not given");
    scope->names.insert_or_assign(parameter.name, std::move(*value));
  }
  if (macro.takesCaller && !scope->names.contains("caller"))
    scope->names.insert_or_assign(
        "caller", takeNamed("caller").value_or(Value::undefined("a caller, which was not given")));
  if (arguments.byPlace.size() > byPlace && !macro.takesMore)
    return inputError(place + "expected at most " + std::to_string(byPlace) + " arguments, found " +
                      std::to_string(arguments.byPlace.size()));
  if (!arguments.byName.empty() && !macro.takesNamed)
    return inputError(place + "expected no argument of that name, found " +
                      quotedText(arguments.byName[0].first));
  if (macro.takesMore) {
    Values rest(arguments.byPlace.begin() + static_cast<ptrdiff_t>(byPlace),
                arguments.byPlace.end());
    scope->names.insert_or_assign(
        "varargs", HEDDLE_TRY(Value::sequence(Kind::Tuple, std::move(rest), budget)));
  }
  if (macro.takesNamed) {
    std::vector<std::pair<Value, Value>> entries;
    for (auto &[key, value] : arguments.byName)
      entries.emplace_back(Value::text(key), std::move(value));
    scope->names.insert_or_assign("kwargs", HEDDLE_TRY(Value::dict(std::move(entries), budget)));
  }
  return {};
}

Expected<Value> Interpreter::makeNamespace(std::vector<std::pair<std::string, Value>> attributes) {
  HEDDLE_TRY(budget.allocate(256 + 128 * attributes.size()));
  auto space = std::make_shared<NamespaceObject>();
  for (auto &[attribute, value] : attributes)
    if (space->attributes.insert_or_assign(attribute, std::move(value)).second)
      space->order.push_back(attribute);
  namespaces.push_back(space);
  return Value::object(Kind::Namespace, std::move(space));
}

} // namespace heddle::templates
