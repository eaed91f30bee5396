//===- SettingsJson.h - Search settings as JSON ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/TextFacts.h"

#include <nlohmann/json_fwd.hpp>

namespace heddle {

/// Reads search settings from the object `generation` of a model description. A key that is missing
/// or null has its default. Errors begin with `place`.
Expected<SearchSettings> searchSettingsFromJson(const nlohmann::ordered_json &json,
                                                const std::string &place);

} // namespace heddle
