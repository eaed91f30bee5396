//===- GgufCuts.h - Names of pre-tokenizers in GGUF files ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include "heddle/Support/Gguf.h"

#include <span>

namespace heddle::tokenizers {

/// The expression that cuts words in Qwen's tokenizers.
inline constexpr const char *qwenWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

enum class CutKind : uint8_t { Split, EachDigit, Digits, Punctuation, Bytes, WordsAndBytes };
struct CutStep {
  CutKind kind;
  const char *regex = nullptr; ///< of a split, whose matches and gaps are pieces
};

/// What a cut brings with it, as bits.
enum CutTraits : uint8_t {
  composes = 1,   ///< the text is brought to NFC first
  wholeWords = 2, ///< a word that is a token takes no merges
  starts = 4,     ///< a text begins with the start where no key says otherwise
  separates = 8   ///< two texts as RoBERTa has them
};

/// How a text is cut before the merges of byte-level BPE.
struct GgufCut {
  std::string_view name;
  std::span<const CutStep> steps;
  uint8_t traits = 0;
  bool has(CutTraits trait) const { return (traits & trait) != 0; }
};

/// Pre-tokenizers of a tokenizer.json: by an expression, and the bytes of words.
Json splitJson(const char *regex, const char *behavior = "Isolated", bool inverts = false);
Json byteLevelJson(bool prefix, bool cutsWords);

/// The cut that tokenizer.ggml.pre names. Without a name, or with "default", it is llama.cpp's, with
/// a warning.
Expected<GgufCut> ggufCut(const Gguf &file, std::vector<std::string> &warnings);
/// It as the pre_tokenizer of a tokenizer.json; `prefix`: a blank is put in front of the text.
Json cutJson(const GgufCut &cut, bool prefix);

} // namespace heddle::tokenizers
