//===- GgufTokenizer.h - Tokenizers in GGUF files --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include "heddle/Support/Gguf.h"

namespace heddle::tokenizers {

/// What a tokenizer.json would say of the tokenizer in a file's metadata.
Expected<Json> ggufTokenizerJson(const Gguf &file);

/// The id that tokenizer.ggml.WORD_token_id gives of so many tokens; files of models without such a
/// token may say -1.
Expected<std::optional<int64_t>> ggufTokenId(const Gguf &file, const char *word, size_t tokens);

} // namespace heddle::tokenizers
