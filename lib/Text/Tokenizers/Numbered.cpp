//===- Numbered.cpp - Tokens with ids of another vocabulary -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Renumbers the tokens of another model. Marian, fairseq and others train with
// SentencePiece's pieces and with numbers of their own. One model splits a
// text, and a separate vocabulary numbers the pieces. The vocabulary may have
// pieces that the splitting model lacks.
#include "Components.h"
#include "Vocabulary.h"

namespace heddle::tokenizers {

namespace {

/// Splits with one model and numbers its tokens by another vocabulary.
class Numbered : public Model {
public:
  Numbered(std::unique_ptr<Model> cuts, std::optional<int32_t> unknownCut, TokenTable table,
           int32_t unknown)
      : cuts(std::move(cuts)), unknownCut(unknownCut), table(std::move(table)), unknown(unknown) {}

  Status tokenize(std::string_view piece, std::vector<ModelToken> &tokens) const override {
    const size_t first = tokens.size();
    HEDDLE_TRY(cuts->tokenize(piece, tokens));
    for (size_t i = first; i < tokens.size(); ++i)
      tokens[i].id = table.find(textOf(piece, tokens[i])).value_or(unknown);
    return {};
  }
  std::optional<int32_t> find(std::string_view token) const override { return table.find(token); }
  const std::string *token(int32_t id) const override { return table.token(id); }
  int64_t size() const override { return table.size(); }
  bool keepsText() const override { return true; }

private:
  std::string_view textOf(std::string_view piece, const ModelToken &token) const {
    const std::string *name = token.id == unknownCut ? nullptr : cuts->token(token.id);
    return name ? std::string_view(*name)
                : piece.substr(token.span.begin, token.span.end - token.span.begin);
  }

  std::unique_ptr<Model> cuts;
  std::optional<int32_t> unknownCut; ///< id that `cuts` gives to unknown text
  TokenTable table;
  int32_t unknown;
};

} // namespace

Expected<std::unique_ptr<Model>> readNumbered(const JsonField &field) {
  const JsonField own = HEDDLE_TRY(field.get("model"));
  if (auto type = own.find("type"); type && type->value() == "Numbered")
    return type->expected("a model that cuts texts");
  auto cuts = HEDDLE_TRY(readModel(own));
  std::optional<int32_t> unknownCut;
  if (auto id = own.find("unk_id"))
    unknownCut = static_cast<int32_t>(HEDDLE_TRY(id->number(0, INT32_MAX)));
  else if (auto token = own.find("unk_token"))
    unknownCut = cuts->find(HEDDLE_TRY(token->text()));
  auto table = HEDDLE_TRY(TokenTable::read(field));
  const auto token = HEDDLE_TRY(field.get("unk_token"));
  const auto unknown = table.find(HEDDLE_TRY(token.text()));
  if (!unknown)
    return token.error("a token of the vocabulary", foundText(token.value()));
  return std::unique_ptr<Model>(
      new Numbered(std::move(cuts), unknownCut, std::move(table), *unknown));
}

} // namespace heddle::tokenizers
