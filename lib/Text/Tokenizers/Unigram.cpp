//===- Unigram.cpp - The likeliest tokens of a text -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Viterbi search over the offsets of a piece. Scores are sums of log
// probabilities.
#include "Components.h"
#include "Trie.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Text.h"

#include <limits>

namespace heddle::tokenizers {

namespace {

struct ScoredToken {
  std::string text;
  std::optional<double> score; ///< none: matches no text
};

class Unigram : public Model {
public:
  Unigram(std::vector<ScoredToken> given, std::optional<int32_t> unknown,
          std::optional<double> score, bool byteFallback)
      : tokens(std::move(given)), unknown(unknown), byteFallback(byteFallback) {
    std::vector<std::pair<std::string_view, int32_t>> texts;
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t id = 0; id < tokens.size(); ++id) {
      ids.insert_or_assign(tokens[id].text, static_cast<int32_t>(id));
      if (!tokens[id].score)
        continue;
      texts.emplace_back(tokens[id].text, static_cast<int32_t>(id));
      lowest = std::min(lowest, *tokens[id].score);
    }
    constexpr double penalty = 10;
    unknownScore = score.value_or(texts.empty() ? 0 : lowest - penalty);
    trie = Trie(std::move(texts));
  }

  Status tokenize(std::string_view piece, std::vector<ModelToken> &result) const override {
    std::vector<Best> best(piece.size() + 1);
    HEDDLE_TRY(search(piece, best));
    std::vector<TokenSpan> parts;
    bool fuses = false;
    for (auto end = static_cast<uint32_t>(piece.size()); end > 0;) {
      const Best &last = best[end];
      const bool isUnknown = unknown && last.id == *unknown;
      if (isUnknown && fuses)
        parts.back().begin = last.begin;
      else
        parts.push_back({last.begin, end});
      fuses = isUnknown;
      end = last.begin;
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      HEDDLE_TRY(write(piece, *part, result));
    return {};
  }

  std::optional<int32_t> find(std::string_view token) const override {
    auto at = ids.find(token);
    return at == ids.end() ? std::nullopt : std::optional(at->second);
  }
  const std::string *token(int32_t id) const override {
    return id >= 0 && id < size() ? &tokens[static_cast<size_t>(id)].text : nullptr;
  }
  int64_t size() const override { return static_cast<int64_t>(tokens.size()); }
  bool keepsText() const override { return true; }

private:
  /// The best path to an offset: its score, and the last token on it.
  struct Best {
    double score = 0;
    uint32_t begin = 0;
    int32_t id = -1; ///< none yet
  };

  Status search(std::string_view piece, std::vector<Best> &best) const {
    for (size_t at = 0; at < piece.size();) {
      const double here = best[at].score;
      const size_t character = std::min<size_t>(pointSize(piece[at]), piece.size() - at);
      bool hasCharacter = false;
      auto offer = [&](size_t size, int32_t id, double score) {
        Best &target = best[at + size];
        if (target.id < 0 || here + score > target.score)
          target = {here + score, static_cast<uint32_t>(at), id};
      };
      trie.prefixes(piece.substr(at), [&](size_t size, int32_t id) {
        offer(size, id, *tokens[static_cast<size_t>(id)].score);
        hasCharacter |= size == character;
      });
      if (!hasCharacter) {
        if (!unknown)
          return missing();
        offer(character, *unknown, unknownScore);
      }
      at += character;
    }
    return {};
  }

  Status write(std::string_view piece, TokenSpan part, std::vector<ModelToken> &result) const {
    const std::string_view text = piece.substr(part.begin, part.end - part.begin);
    if (const auto id = find(text)) {
      result.push_back({*id, part});
      return {};
    }
    const size_t before = result.size();
    for (char byte : byteFallback ? text : std::string_view()) {
      const auto id = find(formatted("<0x%02X>", static_cast<unsigned char>(byte)));
      if (!id) {
        result.resize(before);
        break;
      }
      result.push_back({*id, part});
    }
    if (result.size() > before)
      return {};
    if (!unknown)
      return missing();
    result.push_back({*unknown, part});
    return {};
  }

  static Error missing() {
    return inputError("expected characters of the vocabulary, which has no unk_id, found another "
                      "one");
  }

  std::vector<ScoredToken> tokens;
  TextMap<int32_t> ids;
  Trie trie;
  std::optional<int32_t> unknown;
  double unknownScore;
  bool byteFallback;
};

} // namespace

Expected<std::unique_ptr<Model>> readUnigram(const JsonField &field) {
  auto vocab = HEDDLE_TRY(field.get("vocab"));
  if (!vocab.value().is_array() || vocab.value().size() > INT32_MAX)
    return vocab.expected("a list");
  std::vector<ScoredToken> tokens;
  tokens.reserve(vocab.value().size());
  for (size_t i = 0; i < vocab.value().size(); ++i) {
    const Json &entry = vocab.value()[i];
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
        !(entry[1].is_number() || entry[1].is_null()))
      return vocab.element(i).expected("a token and its score");
    tokens.push_back({entry[0].get<std::string>(), std::nullopt});
    if (entry[1].is_number()) // null is Heddle's own, for pieces that SentencePiece lists but never
                              // matches
      tokens.back().score = entry[1].get<double>();
  }
  std::optional<int32_t> unknown;
  if (auto id = field.find("unk_id"))
    unknown =
        static_cast<int32_t>(HEDDLE_TRY(id->number(0, static_cast<int64_t>(tokens.size()) - 1)));
  std::optional<double> score; // Heddle's own key
  if (auto given = field.find("unk_score")) {
    if (!given->value().is_number())
      return given->expected("a number");
    score = given->value().get<double>();
  }
  const bool byteFallback = HEDDLE_TRY(field.flagAt("byte_fallback", false));
  return std::unique_ptr<Model>(new Unigram(std::move(tokens), unknown, score, byteFallback));
}

} // namespace heddle::tokenizers
