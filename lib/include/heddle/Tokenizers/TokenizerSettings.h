//===- TokenizerSettings.h - Tokenizer settings of a folder -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings in the files next to a tokenizer.json or a vocabulary:
// tokenizer_config.json, special_tokens_map.json, added_tokens.json and
// config.json. The files are merged as Transformers 5 does.
#pragma once

#include "heddle/Support/JsonField.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tokenizers {

using Json = nlohmann::ordered_json;

/// A token that a folder names, with the flags of Hugging Face's AddedToken.
struct FolderToken {
  std::string content;
  std::optional<int64_t> id; ///< the id that the folder gives
  bool isSpecial = true;
  bool isNormalized = false;
  bool leftStrip = false, rightStrip = false, singleWord = false;

  /// The token as an entry of `added_tokens`, without its id, which depends on the vocabulary.
  Json toJson() const;
};

/// Special tokens by their keys, such as mask_token.
using DefaultTokens = std::vector<std::pair<const char *, FolderToken>>;

/// Settings of a folder's tokenizer.
class TokenizerSettings {
public:
  /// Reads the files of `folder`. A missing file has no settings.
  static Expected<TokenizerSettings> read(const std::filesystem::path &folder);

  const std::filesystem::path &folder() const { return root; }
  /// tokenizer_config.json with special_tokens_map.json merged in.
  JsonField field() const { return {config, file}; }
  const std::string &path() const { return file; }

  /// The class of Transformers without the suffix Fast, such as BertTokenizer; empty if no file
  /// names one.
  const std::string &className() const { return name; }
  /// The file and the key that name the class, for messages.
  const std::string &classPlace() const { return namedAt; }
  /// `model_type` of config.json; empty: none.
  const std::string &modelType() const { return type; }

  /// The tokens of added_tokens_decoder or added_tokens.json, ordered by their ids.
  const std::vector<FolderToken> &addedTokens() const { return added; }
  /// The special tokens that the folder names. Tokens of keys such as bos_token come first. Keys
  /// that the folder lacks have the tokens of `defaults`.
  std::vector<FolderToken> specialTokens(const DefaultTokens &defaults = {}) const;
  /// Tokens of additional_special_tokens that Transformers 5 does not read, because
  /// extra_special_tokens is a list.
  std::vector<std::string> passedOverTokens() const;
  /// True if tokenizer_config.json lists special tokens, which replace those that the class lists.
  bool listsTokens() const { return listsFirst; }
  /// True if only a list of special_tokens_map.json has the token. Transformers 5 does not read this
  /// list for a model of SentencePiece.
  bool isListedInMap(const std::string &content) const;
  /// The token of a key such as bos_token; none where the key is missing or null.
  std::optional<FolderToken> special(const std::string &key) const;
  /// The text of this token, or `otherwise` without one.
  std::string specialText(const std::string &key, const std::string &otherwise) const;
  /// True if the folder gives null, which differs from a missing key.
  bool isNull(const std::string &key) const;
  /// The file that names each special token.
  const std::map<std::string, std::string> &tokenFiles() const { return namedIn; }

  /// Keys of tokenizer_config.json that are neither followed nor known to change nothing, in the
  /// order of the file.
  std::vector<std::string> unknownKeys() const;

private:
  Status readAddedTokens();
  Status mergeSpecialTokens();
  Status nameClass();
  std::vector<std::string> gatherFiles(const Json &json, const std::string &path);
  static bool listsTokens(const Json &config);
  bool isPassedOver(const std::string &key) const;
  FolderToken tokenOf(const Json &value) const;
  bool isNamedSpecial(const std::string &content) const;

  std::filesystem::path root;
  std::string file, name, namedAt, type;
  Json config = Json::object();
  std::vector<FolderToken> added;
  std::vector<std::string> listedFirst; ///< additional special tokens of tokenizer_config.json
  std::vector<std::string> listedInMap; ///< additional special tokens of special_tokens_map.json
  bool listsFirst = false;
  std::map<std::string, std::string> namedIn;
};

/// True if a key of tokenizer_config.json names a special token.
bool namesToken(const std::string &key);

} // namespace heddle::tokenizers
