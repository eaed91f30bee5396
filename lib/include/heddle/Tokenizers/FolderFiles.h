//===- FolderFiles.h - Files next to a model -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers that tokenizers, chat templates and folder import share.
#pragma once

#include "heddle/Support/JsonField.h"
#include "heddle/Support/MappedBytes.h"

#include <filesystem>
#include <string>

namespace heddle::tokenizers {

using Json = nlohmann::ordered_json;

inline constexpr const char *tokenizerConfigName = "tokenizer_config.json";

Expected<std::string> readText(const std::filesystem::path &path);
/// Reads a JSON object from a file; empty if the file does not exist.
Expected<Json> readObject(const std::filesystem::path &path);

/// Content of a special token, which is a text or an object with `content`; null if it is neither.
const std::string *tokenText(const Json &value);

} // namespace heddle::tokenizers
