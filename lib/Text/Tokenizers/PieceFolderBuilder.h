//===- PieceFolderBuilder.h - Parts of a SentencePiece folder ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "SentencePiece.h"
#include "TokenizerJson.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/TokenizerSettings.h"

#include <map>

namespace heddle::tokenizers {

/// The program that splits a text in Transformers 5.
enum class PieceSplitter : uint8_t {
  SentencePiece, ///< SentencePiece itself; Transformers 5 has no better match
  Components,    ///< the components of the class, as for a tokenizer.json
  Python,        ///< SentencePiece, around the added tokens that Python cuts out
};

/// Collects the parts of the tokenizer of a folder with SentencePiece models.
class PieceFolderBuilder {
public:
  PieceFolderBuilder(const TokenizerSettings &facts, bool written, PieceSplitter splitter,
                     DefaultTokens usual)
      : written(written), facts(facts), splitter(splitter), usual(std::move(usual)) {}

  /// Reads the model that splits the texts.
  Status open(const char *file);

  std::string path(const char *file) const { return (facts.folder() / file).string(); }
  JsonField settings() const { return facts.field(); }
  int64_t size() const { return static_cast<int64_t>(model.pieces.size()); }
  /// True if the model has a table of characters.
  bool hasTable() const { return !model.charsMap.empty(); }
  /// True if the settings give null, which differs from a missing key.
  bool isNull(const char *key) const { return facts.isNull(key); }
  /// The text of a special token by its key, or `otherwise`.
  std::string special(const char *key, const char *otherwise) const {
    return facts.specialText(key, otherwise);
  }
  /// The text of the unknown token. Without a key it is the class's if the model has such a piece.
  std::string unknownToken() const;
  /// True if the settings list special tokens, which replace those that the class lists.
  bool listsTokens() const { return facts.listsTokens(); }
  /// True if the folder names the token as a special one.
  bool isSpecial(const std::string &token) const;

  /// Numbers a token. The first number of a token counts.
  void number(const std::string &token, int64_t id);
  /// Numbers the token of a language. The numbers of further tokens ignore it.
  void numberLanguage(const std::string &token, int64_t id);
  /// Numbers a token that the class adds to the pieces. The components of a class match it in text
  /// with this score.
  void numberPiece(const std::string &token, int64_t id, double score = 0);
  /// Numbers the pieces from `first` on by their index plus `offset`. The class drops the pieces
  /// before `first`.
  void numberPieces(int64_t first, int64_t offset);
  /// Numbers tokens as a JSON file does.
  Status numberAs(const char *file);

  int64_t count() const { return static_cast<int64_t>(known.size()); }
  const std::string &file() const { return name; }
  std::optional<int64_t> find(const std::string &token) const;
  /// Adds a token that is cut out of texts before normalization; `flags` holds lstrip and the like.
  void cutOut(const std::string &token, const Json &flags = Json::object());
  /// Cuts out the token of a key, such as pad_token, which is `usual` unless the folder names
  /// another. A null key has no token.
  void cutOutNamed(const char *key, const char *usual);
  /// Adds Marian's language tokens, which only match at the beginning of a text.
  void cutOutLanguages();

  /// Sets the normalizers that a class applies before SentencePiece's. Only the beginning of a text gets
  /// a blank in front, not what follows a special token.
  void normalizeFirst(Json steps) {
    first = std::move(steps);
    model.prefixes = false;
  }

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
  /// added_tokens.json is special only if the folder or the class says so; a class in Python applies
  /// this to added_tokens_decoder too. Other tokens remain in text that is decoded without special
  /// tokens.
  void addOwnTokens();
  /// Cuts out the special tokens that the folder names, and numbers those without ids after all
  /// others.
  void addNamedTokens();

  /// Builds the tokenizer. `family` names the class that makes the components; empty: SentencePiece's
  /// own normalizer and splitting.
  Expected<Json> take(const std::string &family);

  void warn(const char *key, const std::string &text) {
    notes.push_back(facts.path() + ": " + key + ": " + text);
  }
  /// The warnings, and one for each special token of the folder that has no number.
  std::vector<std::string> warnings() const;

  const bool written;

private:
  /// True if added_tokens.json, which has no flags, lists the folder's own tokens.
  bool isListed() const { return !facts.field().find("added_tokens_decoder"); }
  /// Converts tokens to text: marks become blanks, and blanks at both ends are removed.
  Json decoder() const;
  void spellOwnPieces(Json &unigram) const;
  /// The model in the components of a class.
  Expected<Json> inComponents(const std::string &family);
  Expected<Json> postProcessor() const;
  /// The tokens of a template.
  Expected<Json> piecesOf(const std::string &text, TemplateBuilder &built) const;

  struct OwnPiece {
    std::string text;
    double score;
  };

  const TokenizerSettings &facts;
  const PieceSplitter splitter;
  const DefaultTokens usual; ///< special tokens of the class
  std::string name;
  PieceModel model;
  Json vocab = Json::object();
  TextMap<int64_t> known;
  std::vector<OwnPiece> ownPieces; ///< of the class
  int64_t languages = 0;           ///< that only the class numbers
  int64_t firstPiece = 0;          ///< of the file, that the class keeps
  std::vector<std::string> notes;
  std::map<std::string, Json> added; ///< sorted, so the order does not depend on the folder's
  Json first;                        ///< normalizers of the class
  std::string single, pair;
  int secondType = 0;
};

} // namespace heddle::tokenizers
