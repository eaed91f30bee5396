//===- Json.h - JSON without exceptions ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses JSON that may be damaged or hostile: bad text, bad UTF-8, keys that
// occur twice and absurd nesting are errors.
#pragma once

#include "heddle/Support/Error.h"

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace heddle {

/// The value of `text`; objects keep the order of their keys. `place` begins the error's text.
Expected<nlohmann::ordered_json> parseJson(std::string_view text, const std::string &place);

} // namespace heddle
