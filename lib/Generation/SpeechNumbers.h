//===- SpeechNumbers.h - Numbers of a speech model's settings --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/JsonField.h"

#include <cstdint>
#include <optional>

namespace heddle {

/// True if a JSON value can be a token.
bool isToken(const nlohmann::ordered_json &value);
Expected<int32_t> tokenOf(const JsonField &field);
/// A token, or a number of tokens; none if the key is missing or null.
Expected<std::optional<int32_t>> maybeNumber(const JsonField &keys, const char *key);

} // namespace heddle
