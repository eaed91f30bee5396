//===- Json.h - JSON without exceptions ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing of JSON from files, which may be damaged or hostile: invalid text, invalid UTF-8,
// duplicate keys and nesting deeper than 64 levels are errors.
#pragma once

#include "heddle/Support/Error.h"

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace heddle {

/// Origin of a JSON text: a whole file, or one line of a file, which its place names.
enum class JsonText : uint8_t { File, Line };

/// Parses `text`; objects keep the order of their keys. Errors begin with `place`, and with line
/// and column if the text is not JSON.
Expected<nlohmann::ordered_json> parseJson(std::string_view text, const std::string &place,
                                           JsonText of = JsonText::File);

} // namespace heddle
