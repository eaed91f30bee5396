//===- Functions.h - Filters, tests, methods, globals -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of filters, tests, methods and global functions, one row per function. The parameters in a
// row are checked in one place, so that a function reads its arguments by number.
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

/// One call: the function, the object of a method or value of a filter or test, and arguments.
struct Call {
  const Function &function;
  Interpreter &interpreter;
  Budget &budget;
  Value self = {};
  std::vector<std::optional<Value>> given = {}; ///< one per parameter
  Arguments rest = {};                          ///< for functions that take any arguments

  /// Whether an argument is given and is not none.
  bool has(size_t parameter) const;
  Value value(size_t parameter, Value otherwise = Value::none()) const;
  /// The argument as a text or a number. Error if it has another type.
  Expected<std::string> text(size_t parameter, const std::string &otherwise = "") const;
  Expected<int64_t> integer(size_t parameter, int64_t otherwise = 0) const;
  bool flag(size_t parameter, bool otherwise = false) const;
  Error error(const std::string &expected, const Value &found) const;
};

struct Function {
  const char *name;
  /// Names of parameters, separated by blanks. `=` after a name: optional; `*`: any further
  /// arguments.
  const char *parameters;
  Expected<Value> (*apply)(Call &call); ///< null: unsupported; `otherwise` says why
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
/// Subsets of filters() for texts and for lists.
std::span<const Function> textFilters();
std::span<const Function> listFilters();

/// The function with this name; null if there is none.
const Function *findFunction(std::span<const Function> table, std::string_view name);

/// Binds the arguments to parameters and calls the function.
Expected<Value> applyFunction(const Function &function, Interpreter &interpreter, Value self,
                              Arguments arguments);

/// Evaluates a binary operator, given its text: a + b, a - b, ….
Expected<Value> arithmetic(std::string_view sign, const Value &a, const Value &b, Budget &budget);
/// a % b for a string: "%s and %d" % (a, b).
Expected<Value> formatText(const Value &form, const Values &values, Budget &budget);
/// Replaces the first `most` occurrences of `old` by `with`; -1: all.
Expected<Value> replacedText(const Value &text, const std::string &old, const Value &with,
                             int64_t most, Budget &budget);
/// round(value, places) as in Python.
double rounded(double value, int64_t places);

} // namespace heddle::templates
