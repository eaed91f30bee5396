//===- AddedTokens.h - Added tokens ----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens that a tokenizer adds to its model's vocabulary. They are cut out of a
// text before the model runs: some from the input, others from the normalized
// text.
#pragma once

#include "Components.h"
#include "Trie.h"
#include "Vocabulary.h"

#include <map>
#include <set>

namespace heddle::tokenizers {

/// An added token, with the flags of Hugging Face's AddedToken.
struct AddedToken {
  std::string content;
  std::string written; ///< text that is matched and decoded: `content`, normalized if `normalized`
  bool singleWord = false, leftStrip = false, rightStrip = false, normalized = false,
       special = false;
  bool atStart = false; ///< matches only at the beginning of a text or right after another added
                        ///< token
};

class AddedTokens;

/// Tells which tokens are plain text in parts of an input; see EncodeOptions::plain.
class PlainParts {
public:
  PlainParts(const AddedTokens &added, const EncodeOptions &options)
      : added(added), parts(options.plain), marks(options.marks) {}

  bool empty() const { return parts.empty(); }
  /// True if bytes [begin, end) of `text` overlap, by their offsets in the input, a part in which
  /// the token is plain text.
  bool holds(int32_t token, const AlignedText &text, size_t begin, size_t end) const;

private:
  const AddedTokens &added;
  std::span<const TokenSpan> parts;
  const std::function<bool(std::string_view)> &marks;
  mutable std::map<int32_t, bool> marked; ///< results of `marks`, by token
};

/// The added tokens of a tokenizer, which are matched before its model runs.
class AddedTokens {
public:
  /// Reads the key `added_tokens`. Tokens that the model lacks get the ids after the model's own.
  static Expected<AddedTokens> read(const JsonField &file, const Model &model,
                                    const Normalizer *normalizer);

  /// Cuts out the tokens that are matched before normalization or, if `normalized`, after it.
  Status split(Pieces &pieces, bool normalized, const PlainParts &plain) const;

  std::optional<int32_t> find(std::string_view content) const;
  const AddedToken *token(int32_t id) const;
  bool isSpecial(std::string_view text) const { return specials.contains(text); }
  /// Number of tokens that the model lacks.
  int64_t newTokens() const { return fresh; }

private:
  void add(AddedToken token, const Model &model);
  void buildTries();
  void match(const AlignedText &whole, std::string_view text, const Trie &trie,
             const PlainParts &plain, std::vector<Part> &parts) const;

  TextMap<int32_t> ids;
  std::map<int32_t, AddedToken> tokens;
  std::set<std::string, std::less<>> specials;
  Trie given, afterNormalizer; ///< matched before normalization, and after it
  bool cutsSpecials = true;    ///< matches special tokens; else they are text
  int64_t fresh = 0;
};

} // namespace heddle::tokenizers
