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

class AddedTokens {
public:
  /// Reads the key `added_tokens`. Tokens that the model lacks get the ids behind its own.
  static Expected<AddedTokens> read(const JsonField &file, const Model &model,
                                    const Normalizer *normalizer);

  /// Cuts out those that are looked for before, or after, the text is normalised.
  Status split(Pieces &pieces, bool normalized) const;

  std::optional<int32_t> find(std::string_view content) const;
  const AddedToken *token(int32_t id) const;
  bool isSpecial(std::string_view text) const { return specials.contains(text); }
  /// How many the model does not have.
  int64_t newTokens() const { return fresh; }

private:
  void add(AddedToken token, const Model &model);
  void buildTries();
  void match(std::string_view text, const Trie &trie, std::vector<Part> &parts) const;

  TextMap<int32_t> ids;
  std::map<int32_t, AddedToken> tokens;
  std::set<std::string, std::less<>> specials;
  Trie given, afterNormalizer; ///< by when they are looked for
  bool cutsSpecials = true;    ///< special tokens in a text are tokens, not text
  int64_t fresh = 0;
};

} // namespace heddle::tokenizers
