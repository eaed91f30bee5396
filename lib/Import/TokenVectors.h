//===- TokenVectors.h - Folders with a vector a token ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings of models for late interaction, which give a vector for each token (ColBERT).
// Sentence-Transformers writes them to the files of its modules, PyLate to
// config_sentence_transformers.json.
#pragma once

#include "Description.h"

namespace heddle {

struct SentenceModules;

/// Settings as the files name them, before the tokenizer is known.
struct TokenSettings {
  std::optional<int64_t> queryLength, documentLength; ///< maximum tokens
  std::optional<int64_t> expandedLength;              ///< tokens of each query; none: as it is
  bool seesAdded = false;                             ///< attention reads the added tokens
  std::optional<std::string> added;                   ///< the added token; none: the mask token
  std::optional<std::vector<std::string>> skipped;    ///< tokens without a vector
  bool skipsInQueries = false;
  std::vector<std::pair<std::string, std::string>> prefixes; ///< begin the prompts of these names
  bool hasLengths() const { return queryLength || documentLength || expandedLength; }
};

/// Reads the settings that are in `config`, the object of the file `path`.
Status readTokenSettings(const Json &config, const std::string &path, TokenSettings &settings);

/// Reads the settings that PyLate writes to the folder, and adds the steps that it does not list.
Status readPylate(const std::string &folder, SentenceModules &modules,
                  std::vector<std::string> &files);

/// Adds the settings to the facts of a description. `folder` is the model's, errors about prompts
/// begin with `place`.
Status addTokenVectors(const std::string &folder, const std::string &place,
                       const TokenSettings &settings, Description &description);

/// Mask token of the tokenizer by the folder's files, or else by one of the usual names. Appends
/// the files that were read to `files`.
Expected<std::optional<int32_t>> maskTokenOf(const std::string &folder, const Description &of,
                                             std::vector<std::string> &files);

} // namespace heddle
