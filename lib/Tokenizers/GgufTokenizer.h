//===- GgufTokenizer.h - Tokenizers in GGUF files --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include "heddle/Support/Gguf.h"

namespace heddle::tokenizers {

/// What a tokenizer.json would say of the tokenizer in a file's metadata. Appends to `warnings`, if
/// it is not null, what the metadata says and is not followed.
Expected<Json> ggufTokenizerJson(const Gguf &file, std::vector<std::string> *warnings = nullptr);

} // namespace heddle::tokenizers
