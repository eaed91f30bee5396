//===- GgufCuts.h - Names of pre-tokenizers in GGUF files ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include "heddle/Support/Gguf.h"

#include <span>

namespace heddle::tokenizers {

/// The expression that splits words in Qwen's tokenizers.
inline constexpr const char *qwenWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class CutKind : uint8_t { Split, EachDigit, Digits, Punctuation, Bytes, WordsAndBytes };
struct CutStep {
  CutKind kind;
  const char *regex = nullptr; ///< of Split; matches and gaps become pieces
};

/// Properties of a pre-tokenizer, as bits.
enum CutTraits : uint8_t {
  composes = 1,   ///< normalizes the text to NFC first
  wholeWords = 2, ///< does not merge a word that is a token
  starts = 4,     ///< begins a text with the start token unless a key says otherwise
  separates = 8   ///< joins two texts as RoBERTa does
};

/// A pre-tokenizer of byte-level BPE.
struct GgufCut {
  std::string_view name;
  std::span<const CutStep> steps;
  uint8_t traits = 0;
  bool has(CutTraits trait) const { return (traits & trait) != 0; }
};

/// The pre-tokenizer that tokenizer.ggml.pre names. Without a name, or for "default", it is
/// llama.cpp's, with a warning.
Expected<GgufCut> ggufCut(const Gguf &file, std::vector<std::string> &warnings);
/// The `pre_tokenizer` section of a tokenizer.json; `prefix` puts a blank in front of the text.
Json cutJson(const GgufCut &cut, bool prefix);

} // namespace heddle::tokenizers
