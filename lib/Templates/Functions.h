//===- Functions.h - Filters, tests, methods, globals -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row a function. What a row says of parameters is checked in one place, so
// that a function reads its arguments by number.
#pragma once

#include "Value.h"

#include <span>

namespace heddle::templates {

class Interpreter;

struct Arguments {
  Values byPlace;
  std::vector<std::pair<std::string, Value>> byName;
};

struct Function;

/// One call: the object of a method, the value of a filter or test, and arguments.
struct Call {
  const Function &function;
  Interpreter &interpreter;
  Budget &budget;
  Value self = {};
  std::vector<std::optional<Value>> given = {}; ///< one a parameter
  Arguments rest = {};                          ///< for rows that take any

  /// An argument that is there and not none.
  bool has(size_t parameter) const;
  Value value(size_t parameter, Value otherwise = Value::none()) const;
  /// An error where the argument has another type.
  Expected<std::string> text(size_t parameter, const std::string &otherwise = "") const;
  Expected<int64_t> integer(size_t parameter, int64_t otherwise = 0) const;
  bool flag(size_t parameter, bool otherwise = false) const;
  Error error(const std::string &expected, const Value &found) const;
};

struct Function {
  const char *name;
  /// Names of parameters, a blank between them; with `=`: may be left out; `*`: any further ones.
  const char *parameters;
  Expected<Value> (*apply)(Call &call); ///< null: `otherwise` says why
  const char *otherwise = nullptr;
};

std::span<const Function> filters();
std::span<const Function> tests();
std::span<const Function> globals();
std::span<const Function> textMethods();
std::span<const Function> listMethods();
std::span<const Function> tupleMethods();
std::span<const Function> dictMethods();
std::span<const Function> loopMethods();
/// Of filters(), which are the two.
std::span<const Function> textFilters();
std::span<const Function> listFilters();

/// The row of a name; null where there is none.
const Function *findFunction(std::span<const Function> table, std::string_view name);

/// Gives the arguments their parameters, and applies.
Expected<Value> applyFunction(const Function &function, Interpreter &interpreter, Value self,
                              Arguments arguments);

/// a + b and its like, by the operator's text.
Expected<Value> arithmetic(std::string_view sign, const Value &a, const Value &b, Budget &budget);
/// a % b of a string: "%s and %d" % (a, b).
Expected<Value> formatText(const Value &form, const Values &values, Budget &budget);
/// The text with `with` in place of the first `most` places of `old`; -1: of all.
Expected<Value> replacedText(const Value &text, const std::string &old, const Value &with,
                             int64_t most, Budget &budget);
/// round(value, places) as Python rounds.
double rounded(double value, int64_t places);

} // namespace heddle::templates
