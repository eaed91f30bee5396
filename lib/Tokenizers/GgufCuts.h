//===- GgufCuts.h - Names of pre-tokenizers in GGUF files ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "JsonField.h"

#include "heddle/Support/Gguf.h"

#include <span>

namespace heddle::tokenizers {

enum class CutKind : uint8_t { Split, EachDigit, Digits, Punctuation, Bytes, WordsAndBytes };
struct CutStep {
  CutKind kind;
  const char *regex = nullptr; ///< of a split, whose matches and gaps are pieces
};

/// How a text is cut before the merges of byte-level BPE.
struct GgufCut {
  std::string_view name;
  std::span<const CutStep> steps;
  bool composes = false;   ///< the text is brought to NFC first
  bool wholeWords = false; ///< a word that is a token takes no merges
  bool separates = false;  ///< two texts as RoBERTa has them
};

/// The cut that tokenizer.ggml.pre names.
Expected<GgufCut> ggufCut(const Gguf &file);
/// It as the pre_tokenizer of a tokenizer.json; `prefix`: a blank is put in front of the text.
Json cutJson(const GgufCut &cut, bool prefix);

} // namespace heddle::tokenizers
