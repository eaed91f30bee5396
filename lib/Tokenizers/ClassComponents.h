//===- ClassComponents.h - Components that a class makes -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transformers 5 takes the vocabulary, the merges and the added tokens of a
// tokenizer.json. Most of its classes make the other components themselves, from
// tokenizer_config.json.
#pragma once

#include "TokenizerSettings.h"

namespace heddle::tokenizers {

/// A member without a value is read from tokenizer.json.
struct ClassComponents {
  std::optional<Json> normalizer, preTokenizer, decoder;
  /// Keys of the model.
  std::vector<std::pair<const char *, Json>> model;
  /// Tokens around a text and around two; null: none.
  std::optional<Json> postProcessor;
  /// Whether the class loses a table of characters, which Heddle keeps.
  bool losesTable = false;
  /// The type of model that the class has, where the file has another one; empty: the same.
  std::string_view otherModel;
};

/// The class of Transformers 5 that reads a folder's tokenizer.json. Empty: TokenizersBackend, which
/// takes every component from the file.
std::string classOfFile(const TokenizerSettings &settings, const Json &tokenizer);

/// The components that the class `name` makes of the settings and of the vocabulary of `tokenizer`.
Expected<ClassComponents> componentsOf(const std::string &name, const TokenizerSettings &settings,
                                       const Json &tokenizer);

/// Whether two normalizers, pre-tokenizers or decoders do the same: defaults, and the nesting of
/// sequences, do not count.
bool sameSteps(const Json &first, const Json &second, bool isDecoder = false);

/// Whether two post-processors put the same tokens, with the same types, around texts.
bool sameAround(const Json &first, const Json &second);

} // namespace heddle::tokenizers
