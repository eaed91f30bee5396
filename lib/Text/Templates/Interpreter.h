//===- Interpreter.h - Interpreter of templates -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interpreter of templates. Names are looked up from the innermost scope outwards: an iteration of
// a loop, a call of a macro and a captured block have their own scopes, `if` has not. A macro keeps
// the surrounding scopes. Objects that can contain themselves (scopes through their macros,
// namespaces) are emptied when a render ends.
#pragma once

#include "Functions.h"
#include "Syntax.h"

#include "heddle/Templates/Template.h"

namespace heddle::templates {

struct Scope {
  std::shared_ptr<Scope> around;
  std::map<std::string, Value, std::less<>> names = {};
  bool isKept = false; ///< a macro holds it
};

struct LoopObject : Object {
  Values items;
  size_t index = 0;
  std::optional<Values> lastSeen; ///< by `changed`
};

struct FunctionObject : Object {
  const Function *function = nullptr; ///< null: a macro
  Value self;
  const Statement *macro = nullptr;
  std::shared_ptr<Scope> scope;
};

class Interpreter {
public:
  Interpreter(const std::string &name, const RenderOptions &options);
  ~Interpreter();
  Interpreter(const Interpreter &) = delete;
  Interpreter &operator=(const Interpreter &) = delete;

  Expected<RenderedText> run(const Body &body, const nlohmann::ordered_json &own,
                             const nlohmann::ordered_json &given);

  // Services for functions.
  Budget &budgetOf() { return budget; }
  const std::tm &now() const { return time; }
  Expected<Value> filter(std::string_view filter, const Value &value, Arguments arguments);
  Expected<bool> test(std::string_view test, const Value &value, Arguments arguments);
  Expected<Value> item(const Value &object, const Value &key);
  Expected<Value> makeNamespace(std::vector<std::pair<std::string, Value>> attributes);

private:
  enum class Flow : uint8_t { On, Break, Continue };
  using ScopePtr = std::shared_ptr<Scope>;

  /// Counts the depth of evaluation: nested trees, and macros that call macros.
  class Level;
  /// Opens an inner scope for its lifetime.
  class Inner;

  Expected<Value> evaluate(const Expression &expression);
  Expected<Value> evaluateConstant(const Expression &expression);
  Expected<Value> evaluateName(const Expression &expression);
  Expected<Value> evaluateAttribute(const Expression &expression);
  Expected<Value> evaluateItem(const Expression &expression);
  Expected<Value> evaluateSlice(const Expression &expression);
  Expected<Value> evaluateCall(const Expression &expression);
  Expected<Value> evaluateFilter(const Expression &expression);
  Expected<Value> evaluateTest(const Expression &expression);
  Expected<Value> evaluateNot(const Expression &expression);
  Expected<Value> evaluateSign(const Expression &expression);
  Expected<Value> evaluateArithmetic(const Expression &expression);
  Expected<Value> evaluateConcat(const Expression &expression);
  Expected<Value> evaluateCompare(const Expression &expression);
  Expected<Value> evaluateLogic(const Expression &expression);
  Expected<Value> evaluateCondition(const Expression &expression);
  Expected<Value> evaluateSequence(const Expression &expression);
  Expected<Value> evaluateDict(const Expression &expression);
  Expected<Arguments> evaluateArguments(const Expression &expression);
  /// Applies the filters of a block to its text; the innermost filter has no operand.
  Expected<Value> filterBlock(const Expression &expression, Value text);
  Expected<bool> compare(const std::string &sign, const Value &a, const Value &b);

  Value lookup(const std::string &name) const;
  Expected<Value> attribute(const Value &object, const std::string &name);
  std::optional<Value> method(const Value &object, std::string_view name) const;
  std::optional<Value> loopAttribute(const LoopObject &loop, std::string_view name) const;
  Expected<Value> element(const Value &object, int64_t index);

  Expected<Value> call(const Value &function, Arguments arguments);
  Expected<Value> callMacro(const FunctionObject &object, Arguments arguments);
  Status bindParameters(const Statement &macro, Arguments &arguments);
  Value macroOf(const Statement &statement);

  Expected<Flow> execute(const Body &body);
  Expected<Flow> executeOne(const Statement &statement);
  Expected<Flow> executeIf(const Statement &statement);
  Expected<Flow> executeFor(const Statement &statement);
  Expected<Flow> executeScope(const Statement &statement);
  Status executeSet(const Statement &statement);
  Status executeCall(const Statement &statement);
  Status executeFilter(const Statement &statement);
  Expected<bool> isWanted(const Statement &loop, const Value &item);
  Status assign(const Expression &target, Value value);
  Status write(const Value &value);
  /// The text that a body writes, in its own scope.
  Expected<Value> capture(const Body &body);
  Status define(const nlohmann::ordered_json &variables, bool given);
  Error placed(Error error, int line);

  const std::string &name;
  Budget budget;
  std::tm time;
  int depth = 0;
  bool isPlaced = false; ///< the error already has its line
  ScopePtr scope;
  TextBuilder *out = nullptr;
  std::vector<ScopePtr> keptScopes;
  std::vector<std::shared_ptr<NamespaceObject>> namespaces;
};

} // namespace heddle::templates
