//===- WordPiece.cpp - Greedy longest-prefix matching -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WordPiece, and WordLevel, which only knows whole words.
#include "Components.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

/// A model whose tokens are in a TokenTable and that has an unknown token.
class OfTable : public Model {
public:
  OfTable(TokenTable table, std::string unknown)
      : table(std::move(table)), unknown(std::move(unknown)),
        unknownId(this->table.find(this->unknown)) {}

  std::optional<int32_t> find(std::string_view token) const override { return table.find(token); }
  const std::string *token(int32_t id) const override { return table.token(id); }
  int64_t size() const override { return table.size(); }

protected:
  Status addUnknown(std::string_view piece, std::vector<ModelToken> &tokens) const {
    if (!unknownId)
      return inputError("expected words of the vocabulary, which has no " + quotedText(unknown) +
                        ", found another one");
    tokens.push_back({*unknownId, {0, static_cast<uint32_t>(piece.size())}});
    return {};
  }

  TokenTable table;

private:
  std::string unknown;
  std::optional<int32_t> unknownId;
};

class WordPiece : public OfTable {
public:
  WordPiece(TokenTable table, std::string unknown, std::string prefix, int64_t mostCharacters)
      : OfTable(std::move(table), std::move(unknown)), prefix(std::move(prefix)),
        mostCharacters(mostCharacters) {}

  Status tokenize(std::string_view piece, std::vector<ModelToken> &tokens) const override {
    const size_t before = tokens.size();
    if (static_cast<int64_t>(piece.size()) > mostCharacters && charactersOf(piece) > mostCharacters)
      return addUnknown(piece, tokens);
    std::string continued = prefix;
    for (size_t first = 0; first < piece.size();) {
      // No match is longer than the longest token.
      const size_t longest =
          table.longest() - (first > 0 ? std::min(prefix.size(), table.longest()) : 0);
      size_t end = first + std::min(piece.size() - first, longest);
      while (!beginsPoint(piece, end))
        --end;
      std::optional<int32_t> id;
      for (; end > first; end = previousPoint(piece, end)) {
        const std::string_view part = piece.substr(first, end - first);
        if (first > 0)
          continued.replace(prefix.size(), std::string::npos, part);
        id = table.find(first > 0 ? std::string_view(continued) : part);
        if (id)
          break;
      }
      if (!id) {
        tokens.resize(before);
        return addUnknown(piece, tokens);
      }
      tokens.push_back({*id, {static_cast<uint32_t>(first), static_cast<uint32_t>(end)}});
      first = end;
    }
    return {};
  }

private:
  static int64_t charactersOf(std::string_view text) {
    return std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  }

  std::string prefix;
  int64_t mostCharacters;
};

class WordLevel : public OfTable {
public:
  using OfTable::OfTable;
  Status tokenize(std::string_view piece, std::vector<ModelToken> &tokens) const override {
    const std::optional<int32_t> id = table.find(piece);
    if (!id)
      return addUnknown(piece, tokens);
    tokens.push_back({*id, {0, static_cast<uint32_t>(piece.size())}});
    return {};
  }
};

} // namespace

Expected<std::unique_ptr<Model>> readWordPiece(const JsonField &field) {
  auto unknown = HEDDLE_TRY(field.textOr("unk_token", "[UNK]"));
  auto prefix = HEDDLE_TRY(field.textOr("continuing_subword_prefix", "##"));
  int64_t most = 100;
  if (auto given = field.find("max_input_chars_per_word"))
    most = HEDDLE_TRY(given->number(0, INT64_MAX));
  auto table = HEDDLE_TRY(TokenTable::read(field));
  return std::unique_ptr<Model>(
      new WordPiece(std::move(table), std::move(unknown), std::move(prefix), most));
}

Expected<std::unique_ptr<Model>> readWordLevel(const JsonField &field) {
  auto unknown = HEDDLE_TRY(field.textOr("unk_token", "<unk>"));
  auto table = HEDDLE_TRY(TokenTable::read(field));
  return std::unique_ptr<Model>(new WordLevel(std::move(table), std::move(unknown)));
}

} // namespace heddle::tokenizers
