//===- ClassComponents.h - Components that a class makes -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transformers 5 takes the vocabulary, the merges and the added tokens of a
// tokenizer.json. Most of its classes make the other components themselves, from
// tokenizer_config.json.
#pragma once

#include "heddle/Tokenizers/TokenizerSettings.h"

namespace heddle::tokenizers {

/// Replacements for components of tokenizer.json. A member without a value leaves the component of
/// the file in place.
struct ClassComponents {
  std::optional<Json> normalizer, preTokenizer, decoder;
  /// Replaced keys of the model.
  std::vector<std::pair<const char *, Json>> model;
  /// The template of one text and of two; null: no tokens around them.
  std::optional<Json> postProcessor;
  /// True if the class drops the Precompiled normalizer of the file, which Heddle keeps.
  bool losesTable = false;
  /// The model type of the class if the file has another one, and otherwise empty.
  std::string_view otherModel;
};

/// Returns the class of Transformers 5 that reads a folder's tokenizer.json. Empty for
/// TokenizersBackend, which takes every component from the file.
std::string classOfFile(const TokenizerSettings &settings, const Json &tokenizer);

/// True if the folder names a class that Transformers 5 runs in Python, without tokenizer.json.
bool runsInPython(const TokenizerSettings &settings);

/// True if the class `name` of Transformers 5 makes components that Heddle does not have.
bool makesOtherComponents(std::string_view name);

/// True if the class `name` of Transformers 5 drops the table of characters of a file.
bool losesTable(std::string_view name);

/// The warning that the class `name` drops the table of characters of `file`.
std::string lostTableText(const std::string &name, const std::string &file);

/// The default special tokens of the class `name`; empty if the model of `tokenizer` has another
/// type, or if Heddle does not have the class.
DefaultTokens classTokens(std::string_view name, const Json &tokenizer);
/// The default special tokens of the class `name` for a vocabulary without tokenizer.json.
DefaultTokens classTokens(std::string_view name);

/// Builds the components of the class `name` from the settings and the vocabulary of `tokenizer`.
Expected<ClassComponents> componentsOf(const std::string &name, const TokenizerSettings &settings,
                                       const Json &tokenizer);

/// True if two normalizers, pre-tokenizers or decoders are equal up to default keys and the nesting
/// of sequences.
bool sameSteps(const Json &first, const Json &second, bool isDecoder = false);

/// True if two post-processors put the same tokens with the same types around texts.
bool sameAround(const Json &first, const Json &second);

} // namespace heddle::tokenizers
