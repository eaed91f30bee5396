//===- GgufVocabulary.h - Tokens of GGUF files -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metadata has a list of tokens and their kinds. Keys name some tokens by their
// ids; llama.cpp knows others, ends of turns among them, by their texts alone.
#pragma once

#include "heddle/Support/Gguf.h"

namespace heddle {

/// Kinds of tokens, with the numbers of tokenizer.ggml.token_type.
enum class GgufTokenKind : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

struct GgufVocabulary {
  std::vector<std::string_view> texts; ///< by id
  std::vector<GgufTokenKind> kinds;    ///< by id; names that llama.cpp knows rule over the file
  std::optional<int64_t> start, end, unknown, separator, classes, padding, mask;
  std::vector<int64_t> ends; ///< each ends what a decoder writes; the one of eos_token_id first

  /// Reads the tokens and their ids. A file without tokens has `rows` of them, whose texts are
  /// empty. A kind or an id that does not exist is an error that names its key.
  static Expected<GgufVocabulary> read(const Gguf &file, size_t rows = 0);
};

/// The id that tokenizer.ggml.WORD_token_id gives of so many tokens; files of models without such a
/// token may say -1.
Expected<std::optional<int64_t>> ggufTokenId(const Gguf &file, std::string_view word,
                                             size_t tokens);

} // namespace heddle
