//===- GgufVocabulary.h - Tokens of GGUF files -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vocabulary of a GGUF file. The metadata has a list of tokens and their kinds. Keys name some
// tokens by their ids; llama.cpp recognizes others, such as ends of turns, only by their texts.
#pragma once

#include "heddle/Support/Gguf.h"

namespace heddle {

/// Kinds of tokens, with the numbers of tokenizer.ggml.token_type.
enum class GgufTokenKind : uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

struct GgufVocabulary {
  std::vector<std::string_view> texts; ///< by id
  std::vector<GgufTokenKind> kinds;    ///< by id; tokens that llama.cpp knows by name override the
                                       ///< file
  std::optional<int64_t> start, end, unknown, separator, classes, padding, mask;
  std::vector<int64_t> ends; ///< tokens that end a decoder's output; eos_token_id is first

  /// Reads the tokens and their ids. For a file without tokens, returns `rows` tokens with empty
  /// texts. A kind or an id that does not exist is an error that names its key.
  static Expected<GgufVocabulary> read(const Gguf &file, size_t rows = 0);
};

/// The id given by tokenizer.ggml.WORD_token_id, which must be below `tokens`. Files of models
/// without the token may have -1.
Expected<std::optional<int64_t>> ggufTokenId(const Gguf &file, std::string_view word,
                                             size_t tokens);

} // namespace heddle
