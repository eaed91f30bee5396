//===- Vocabulary.h - Tokens and their ids ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens and ids of WordPiece, WordLevel and BPE. Ids may have gaps.
#pragma once

#include "JsonField.h"

#include <string_view>
#include <unordered_map>

namespace heddle::tokenizers {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// Tokens by id, and ids by token.
class TokenTable {
public:
  TokenTable() = default;
  TokenTable(TokenTable &&) = default;
  TokenTable &operator=(TokenTable &&) = default;

  /// Reads the key `vocab`, an object of tokens and ids.
  static Expected<TokenTable> read(const JsonField &model);

  std::optional<int32_t> find(std::string_view token) const {
    auto at = ids.find(token);
    return at == ids.end() ? std::nullopt : std::optional(at->second);
  }
  /// The text of a token; null if no token has the id.
  const std::string *token(int32_t id) const {
    auto at = tokens.find(id);
    return at == tokens.end() ? nullptr : at->second;
  }
  int64_t size() const { return static_cast<int64_t>(ids.size()); }
  /// Bytes of the longest token.
  size_t longest() const { return mostBytes; }

private:
  TextMap<int32_t> ids;
  std::unordered_map<int32_t, const std::string *> tokens; ///< keys of `ids`, whose addresses are
                                                           ///< stable
  size_t mostBytes = 0;
};

} // namespace heddle::tokenizers
