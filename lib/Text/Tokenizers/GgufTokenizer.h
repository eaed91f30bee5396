//===- GgufTokenizer.h - Tokenizers in GGUF files --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include "heddle/Support/Gguf.h"

namespace heddle::tokenizers {

/// Translates the tokenizer in a file's metadata to a tokenizer.json. Appends metadata that is not
/// followed to `warnings`, unless it is null.
Expected<Json> ggufTokenizerJson(const Gguf &file, std::vector<std::string> *warnings = nullptr);

} // namespace heddle::tokenizers
