//===- FolderFiles.h - Files of a folder beside its model ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tokenizers, chat templates and the import of folders read alike.
#pragma once

#include "JsonField.h"

#include "heddle/Support/MappedBytes.h"

#include <filesystem>
#include <string>

namespace heddle::tokenizers {

inline constexpr const char *tokenizerConfigName = "tokenizer_config.json";

Expected<std::string> readText(const std::filesystem::path &path);
/// An object in a file; an empty one where there is no such file.
Expected<Json> readObject(const std::filesystem::path &path);

/// The text of a special token: it is one, or an object with its content; null: neither.
const std::string *tokenText(const Json &value);

} // namespace heddle::tokenizers
