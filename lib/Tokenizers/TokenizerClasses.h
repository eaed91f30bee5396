//===- TokenizerClasses.h - Classes of tokenizers as data ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizer classes of Transformers. A folder without tokenizer.json has a
// vocabulary. Its class defines how a text is split and which tokens are put
// around it. The class also overrides some keys of tokenizer.json.
#pragma once

#include "TokenizerSettings.h"

namespace heddle::tokenizers {

struct TokenizerClass;

/// The class that reads a folder's vocabulary, by the settings or else by `model_type`. Null if no
/// class is named or Heddle does not have it.
const TokenizerClass *tokenizerClassOf(const TokenizerSettings &settings);

/// The class of a vocab.txt without settings.
const TokenizerClass *bertClass();

/// The files of the class's vocabulary; messages name the first one.
std::vector<std::string> vocabularyFiles(const TokenizerClass &type);

std::string_view nameOf(const TokenizerClass &type);
bool usesWordPiece(const TokenizerClass &type);
/// True if the class's model takes token types, unless the folder says otherwise.
bool givesTypes(const TokenizerClass &type);
/// True if the class's keys of case, accents and ideographs override tokenizer.json.
bool rulesOverNormalizer(const TokenizerClass &type);
/// The normalizer that these keys ask for.
Expected<Json> classNormalizer(const TokenizerClass &type, const TokenizerSettings &settings);
/// The post-processor that the class builds from cls_token and sep_token. Null if the class uses
/// the post-processor of tokenizer.json.
Expected<Json> classPostProcessor(const TokenizerClass &type, const TokenizerSettings &settings,
                                  const Json &vocab, const std::string &path);
/// True if the class's key add_prefix_space overrides tokenizer.json.
bool rulesOverBlank(const TokenizerClass &type);

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
