//===- TokenizerJson.h - Parts of a tokenizer.json -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalizers, pre-tokenizers, decoders and templates as a tokenizer.json writes them. Readers of
// other files build them.
#pragma once

#include "heddle/Support/Json.h"
#include "heddle/Tokenizers/FolderFiles.h"

namespace heddle::tokenizers {

/// SentencePiece's blank.
inline constexpr const char *blankMark = "\u2581";

/// The steps of the list `normalizers`, `pretokenizers` or `decoders`, in order.
Json sequenceJson(const char *list, Json steps);

/// Replaces what a pattern matches; `kind` is String or Regex.
Json replaceJson(const char *kind, const char *pattern, const char *content);

/// Splits a text at the matches of an expression.
Json splitJson(const char *regex, const char *behavior = "Isolated", bool inverts = false);

/// Maps bytes to characters.
Json byteLevelJson(bool prefix, bool cutsWords);

/// The Precompiled step of a normalizer; null if there is none.
Json precompiledOf(const Json &normalizer);

/// The id of a token in a tokenizer.json; null if it has no such token.
Json tokenId(const Json &tokenizer, const std::string &content);

/// Builds the post-processor that puts tokens around one text and around two.
class TemplateBuilder {
public:
  /// Adds the text "A" or "B" with its type to the list of one text or of two.
  static void addText(Json &list, const std::string &text, int type);
  void addToken(Json &list, const std::string &token, const Json &id, int type);
  Json take(Json single, Json pair);

private:
  Json tokens = Json::object();
};

} // namespace heddle::tokenizers
