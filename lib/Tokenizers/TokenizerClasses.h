//===- TokenizerClasses.h - Classes of tokenizers as data ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder without tokenizer.json holds a vocabulary, and a class of Transformers says
// how a text is cut into its tokens and which tokens are put around it. The class also
// rules over some keys of tokenizer.json.
#pragma once

#include "TokenizerSettings.h"

namespace heddle::tokenizers {

struct TokenizerClass;

/// The class that reads a folder's vocabulary. The settings name it, else `model_type` does. Null: no
/// class is named, or Heddle does not have it.
const TokenizerClass *tokenizerClassOf(const TokenizerSettings &settings);
/// The class called `name`. Null: Heddle does not have it.
const TokenizerClass *tokenizerClassOf(std::string_view name);

/// The class that reads a vocab.txt without settings.
const TokenizerClass *bertClass();

/// The files of the class's vocabulary. Messages name the first one.
std::vector<std::string> vocabularyFiles(const TokenizerClass &type);

std::string_view nameOf(const TokenizerClass &type);
bool usesWordPiece(const TokenizerClass &type);
/// Whether the class's model gets types of tokens, unless the folder says otherwise.
bool givesTypes(const TokenizerClass &type);

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

/// The tokenizer of a folder without tokenizer.json. An error names a file that is missing, or a
/// setting that Heddle cannot follow.
Expected<Json> classJson(const TokenizerClass &type, const TokenizerSettings &settings);

/// Changes a tokenizer.json as its folder's settings say: the class's keys, tokens that the folder
/// adds, and what Heddle keeps in keys of its own. Appends to `warnings` what the settings ask for
/// and Heddle does not do. Returns whether anything changed.
Expected<bool> applySettings(const TokenizerSettings &settings, Json &tokenizer,
                             std::vector<std::string> &warnings);

/// The decoder of CLIP's class: the end of a word is a blank.
Json clipDecoder();

/// The part of it for a tokenizer that a class has made of the settings: what Heddle keeps in keys of
/// its own.
Status applyOwnKeys(const TokenizerSettings &settings, Json &tokenizer);

} // namespace heddle::tokenizers
