//===- TokenizerClasses.h - Classes of tokenizers as data ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizer classes of Transformers. A folder without tokenizer.json has a
// vocabulary. Its class defines how a text is split and which tokens are put
// around it. The class also overrides some keys of tokenizer.json.
#pragma once

#include "heddle/Tokenizers/TokenizerSettings.h"

namespace heddle::tokenizers {

struct TokenizerClass;

/// The class that reads a folder's vocabulary, by the settings or else by `model_type`. Null if no
/// class is named or Heddle does not have it.
const TokenizerClass *tokenizerClassOf(const TokenizerSettings &settings);
/// The class called `name`. Null: Heddle does not have it.
const TokenizerClass *tokenizerClassOf(std::string_view name);

/// The class of a vocab.txt without settings.
const TokenizerClass *bertClass();

/// The files of the class's vocabulary; messages name the first one.
std::vector<std::string> vocabularyFiles(const TokenizerClass &type);

std::string_view nameOf(const TokenizerClass &type);
bool usesWordPiece(const TokenizerClass &type);
/// True if the class's model takes token types, unless the folder says otherwise.
bool givesTypes(const TokenizerClass &type);

/// The default special tokens of the class.
DefaultTokens defaultTokens(const TokenizerClass &type);

/// The tokens that a class puts around a text.
enum class Around : uint8_t {
  Bert,    ///< [CLS] A [SEP] B [SEP]
  Roberta, ///< <s> A </s></s> B </s>
  Asked,   ///< the ones that add_bos_token and add_eos_token name
};

/// Components that a class makes next to its vocabulary.
struct ClassSteps {
  Json normalizer, preTokenizer, decoder;
  Around around = Around::Asked;
  const char *startKey, *endKey; ///< keys of the tokens around a text
  const char *first, *last;      ///< their usual texts
  const char *unknown;           ///< usual unknown token of the model; null: the model has none
  bool trims;                    ///< spans of tokens leave out blanks
};
Expected<ClassSteps> classSteps(const TokenizerClass &type, const TokenizerSettings &settings);

/// Builds the tokenizer of a folder without tokenizer.json. Errors name the file that is missing or
/// the setting that is not supported.
Expected<Json> classJson(const TokenizerClass &type, const TokenizerSettings &settings);

/// Applies a folder's settings to a tokenizer.json: the class's keys, the tokens that the folder
/// adds, and Heddle's own keys. Appends settings that are not followed to `warnings`. Returns true
/// if anything changed.
Expected<bool> applySettings(const TokenizerSettings &settings, Json &tokenizer,
                             std::vector<std::string> &warnings);

/// The decoder of CLIP's class, which writes the end of a word as a blank.
Json clipDecoder();

/// Applies Heddle's own keys only, for a tokenizer that a class built from the settings.
Status applyOwnKeys(const TokenizerSettings &settings, Json &tokenizer);

} // namespace heddle::tokenizers
