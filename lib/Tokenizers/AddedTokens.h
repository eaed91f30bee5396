//===- AddedTokens.h - Tokens beside the model's ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They are cut out of a text before everything else: some as the text is given,
// others from the normalised text.
#pragma once

#include "Components.h"
#include "Trie.h"
#include "Vocabulary.h"

#include <map>
#include <set>

namespace heddle::tokenizers {

struct AddedToken {
  std::string content;
  std::string written; ///< what decoders get: the normalised content where it is that
  bool singleWord = false, leftStrip = false, rightStrip = false, normalized = false,
       special = false;
  bool atStart = false; ///< counts only at the beginning of a text, or behind another token
};

class AddedTokens;

/// Which tokens are text in parts of an input: see EncodeOptions::plain.
class PlainParts {
public:
  PlainParts(const AddedTokens &added, const EncodeOptions &options)
      : added(added), parts(options.plain), marks(options.marks) {}

  bool empty() const { return parts.empty(); }
  /// Whether bytes [begin, end) of the text hold, by their places in the input, a part in which the
  /// token is text.
  bool holds(int32_t token, const AlignedText &text, size_t begin, size_t end) const;

private:
  const AddedTokens &added;
  std::span<const TokenSpan> parts;
  const std::function<bool(std::string_view)> &marks;
  mutable std::map<int32_t, bool> marked; ///< what `marks` said of a token
};

class AddedTokens {
public:
  /// Reads the key `added_tokens`. Tokens that the model lacks get the ids behind its own.
  static Expected<AddedTokens> read(const JsonField &file, const Model &model,
                                    const Normalizer *normalizer);

  /// Cuts out those that are looked for before, or after, the text is normalised.
  Status split(Pieces &pieces, bool normalized, const PlainParts &plain) const;

  std::optional<int32_t> find(std::string_view content) const;
  const AddedToken *token(int32_t id) const;
  bool isSpecial(std::string_view text) const { return specials.contains(text); }
  /// How many the model does not have.
  int64_t newTokens() const { return fresh; }

private:
  void add(AddedToken token, const Model &model);
  void buildTries();
  void match(const AlignedText &whole, std::string_view text, const Trie &trie,
             const PlainParts &plain, std::vector<Part> &parts) const;

  TextMap<int32_t> ids;
  std::map<int32_t, AddedToken> tokens;
  std::set<std::string, std::less<>> specials;
  Trie given, afterNormalizer; ///< by when they are looked for
  bool cutsSpecials = true;    ///< special tokens in a text are tokens, not text
  int64_t fresh = 0;
};

} // namespace heddle::tokenizers
