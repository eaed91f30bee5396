//===- PieceFolderBuilder.h - Parts of a SentencePiece folder ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "SentencePiece.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/TokenizerSettings.h"

#include <map>

namespace heddle::tokenizers {

/// Collects the parts of the tokenizer of a folder with SentencePiece models.
class PieceFolderBuilder {
public:
  PieceFolderBuilder(const TokenizerSettings &facts, bool written)
      : written(written), facts(facts) {}

  /// Reads the model that splits the texts.
  Status open(const char *file);

  std::string path(const char *file) const { return (facts.folder() / file).string(); }
  JsonField settings() const { return facts.field(); }
  int64_t size() const { return static_cast<int64_t>(model.pieces.size()); }
  /// True if the settings give null, which differs from a missing key.
  bool isNull(const char *key) const { return facts.isNull(key); }
  /// The text of a special token by its key, or `otherwise`.
  std::string special(const char *key, const char *otherwise) const {
    return facts.specialText(key, otherwise);
  }
  /// True if the folder names the token as a special one.
  bool isSpecial(const std::string &token) const;

  /// Numbers a token. The first number of a token counts.
  void number(const std::string &token, int64_t id);
  /// Numbers the pieces from `first` on by their index plus `offset`.
  void numberPieces(int64_t first, int64_t offset);
  /// Numbers tokens as a JSON file does.
  Status numberAs(const char *file);

  int64_t count() const { return static_cast<int64_t>(known.size()); }
  const std::string &file() const { return name; }
  std::optional<int64_t> find(const std::string &token) const;
  /// Adds a token that is cut out of texts before normalization; `flags` holds lstrip and the like.
  void cutOut(const std::string &token, const Json &flags = Json::object());
  /// Adds Marian's language tokens, which only match at the beginning of a text.
  void cutOutLanguages();

  /// Sets the templates of one text and of two: tokens, "$A" and "$B", separated by blanks. The
  /// second text and the tokens after it have the type `second`.
  void surround(const std::string &one, const std::string &two, int second = 0) {
    single = one;
    pair = two;
    secondType = second;
  }
  /// The token of the input's language: `src_lang`, or `otherwise` without that key.
  Expected<std::string> sourceLanguage(const std::string &otherwise, const std::string &before = "",
                                       const std::string &after = "") const;

  /// Adds the tokens that the folder itself numbers. Its numbers override the class's. A token of
  /// added_tokens.json is special only if the folder or the class says so; other tokens remain in
  /// text that is decoded without special tokens.
  void addOwnTokens();
  /// Numbers the special tokens that the folder names without ids after all others.
  void addNamedTokens();

  /// Builds the tokenizer. `family` names the class that makes the components; empty: SentencePiece's
  /// own normalizer and splitting.
  Expected<Json> take(const std::string &family);

  /// Warnings about special tokens of the folder that have no number.
  std::vector<std::string> warnings() const;

  const bool written;

private:
  /// True if added_tokens.json, which has no flags, lists the folder's own tokens.
  bool isListed() const { return !facts.field().find("added_tokens_decoder"); }
  /// Converts tokens to text: marks become blanks, and blanks at both ends are removed.
  Json decoder() const;
  /// The model in the components of a class.
  Expected<Json> inComponents(const std::string &family);
  Expected<Json> postProcessor() const;
  /// The tokens of a template.
  Expected<Json> piecesOf(const std::string &text, Json &specials) const;

  const TokenizerSettings &facts;
  std::string name;
  PieceModel model;
  Json vocab = Json::object();
  TextMap<int64_t> known;
  std::map<std::string, Json> added; ///< sorted, so the order does not depend on the folder's
  std::string single, pair;
  int secondType = 0;
};

} // namespace heddle::tokenizers
