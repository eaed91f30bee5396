//===- ConfigExpression.h - Expressions over a configuration ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of architecture files (docs/architectures.md) are computed from a model's
// configuration:
//
//   choice  := or ['?' choice ':' choice]
//   or      := and ('||' and)*           and := compare ('&&' compare)*
//   compare := sum [('<' | '<=' | '>' | '>=' | '==' | '!=') sum]
//   sum     := product (('+' | '-') product)*
//   product := unary (('*' | '/' | '%') unary)*
//   unary   := ('-' | '!') unary | value ('[' choice ']')*
//   value   := NUMBER | 'TEXT' | true | false | null | NAME | '(' choice ')'
//            | ('min' | 'max' | 'pow') '(' choice ',' choice ')'
//            | ('abs' | 'sqrt' | 'int' | 'count') '(' choice ')'
//
// Values are JSON's. A quotient of integers is an integer where it is exact, '%' is floored, `int`
// rounds towards 0, `count` is the number of elements of a list or an object. '&&', '||' and '?:'
// leave out the side that does not decide, so `x != null && x > 3` is safe.
#pragma once

#include "heddle/Support/Error.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace heddle {

using Json = nlohmann::ordered_json;

/// The value of a name, or an error that says what is wrong with it.
using ConfigNames = std::function<Expected<Json>(const std::string &name)>;

/// The value of `text`. A parse error shows the place with a caret.
Expected<Json> evaluateConfig(std::string_view text, const ConfigNames &names);

/// `text` with each `{expression}` replaced by its value; numbers that are whole have no fraction.
Expected<std::string> expandConfig(std::string_view text, const ConfigNames &names);

} // namespace heddle
