//===- ConfigExpression.h - Expressions over a configuration ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes values of architecture files (docs/architectures.md) from a model's configuration. The
// grammar is in Expression.h. Values are JSON values. A quotient of integers is an integer if it is
// exact, '%' is floored, and `int` rounds towards 0. `count` is the number of elements of a list or
// an object; `has` tells whether a list has an element, or a text a substring. '&&', '||' and '?:'
// short-circuit, so `x != null && x > 3` is safe.
#pragma once

#include "heddle/Support/Error.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace heddle {

using Json = nlohmann::ordered_json;

/// Looks up the value of a name, or returns an error.
using ConfigNames = std::function<Expected<Json>(const std::string &name)>;

/// Evaluates `text`. A parse error marks the place with a caret.
Expected<Json> evaluateConfig(std::string_view text, const ConfigNames &names);

/// Replaces each `{expression}` in `text` by its value; integral numbers are printed without a
/// fraction.
Expected<std::string> expandConfig(std::string_view text, const ConfigNames &names);

} // namespace heddle
