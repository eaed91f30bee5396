//===- Bpe.cpp - Byte-pair encoding -----------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-pair encoding. A word begins as its characters. The adjacent pair whose
// merge has the lowest rank is joined first, and the leftmost of equal ranks. A
// heap holds the pairs, so a word of n characters takes O(n log n) time.
#include "Components.h"
#include "Trie.h"
#include "Vocabulary.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <array>

namespace heddle::tokenizers {

namespace {

struct Merge {
  int32_t rank, id;
};

uint64_t keyOf(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

/// Merges by pair, with open addressing, since each word needs many lookups.
class MergeTable {
public:
  explicit MergeTable(size_t count) {
    size_t capacity = 16;
    while (capacity < 2 * count)
      capacity *= 2;
    slots.resize(capacity);
  }
  void set(int32_t left, int32_t right, Merge merge) {
    Slot &slot = slots[placeOf(keyOf(left, right))];
    slot = {keyOf(left, right), merge};
  }
  const Merge *find(int32_t left, int32_t right) const {
    const Slot &slot = slots[placeOf(keyOf(left, right))];
    return slot.merge.rank < 0 ? nullptr : &slot.merge;
  }

private:
  struct Slot {
    uint64_t key = 0;
    Merge merge = {-1, -1};
  };
  size_t placeOf(uint64_t key) const {
    uint64_t hash = key * 0x9e3779b97f4a7c15;
    size_t place = (hash ^ hash >> 32) & (slots.size() - 1);
    while (slots[place].merge.rank >= 0 && slots[place].key != key)
      place = (place + 1) & (slots.size() - 1);
    return place;
  }
  std::vector<Slot> slots;
};

/// Symbols of a word, linked in the order of the text.
class Word {
public:
  /// Appends a symbol. A `whole` symbol is never merged with others.
  void add(int32_t id, uint32_t size, bool whole = false) {
    const auto at = static_cast<int32_t>(symbols.size());
    if (at > 0)
      symbols.back().next = at;
    symbols.push_back({id, at - 1, -1, size, whole});
  }

  void mergeAll(const MergeTable &merges) {
    for (int32_t i = 0; i + 1 < static_cast<int32_t>(symbols.size()); ++i)
      offer(i, merges);
    std::ranges::make_heap(heap, comesLater);
    while (!heap.empty()) {
      std::ranges::pop_heap(heap, comesLater);
      const Candidate top = heap.back();
      heap.pop_back();
      Symbol &left = symbols[static_cast<size_t>(top.place)];
      if (left.size == 0 || left.next < 0)
        continue;
      Symbol &right = symbols[static_cast<size_t>(left.next)];
      // The pair may have changed since it was pushed.
      const Merge *current = merges.find(left.id, right.id);
      if (!current || current->id != top.id)
        continue;
      left.id = top.id;
      left.size += right.size;
      left.next = right.next;
      right.size = 0;
      if (left.next >= 0)
        symbols[static_cast<size_t>(left.next)].previous = top.place;
      push(left.previous, merges);
      push(top.place, merges);
    }
  }

  void write(std::vector<ModelToken> &tokens) const {
    uint32_t at = 0;
    for (const Symbol &symbol : symbols) {
      if (symbol.size > 0)
        tokens.push_back({symbol.id, {at, at + symbol.size}});
      at += symbol.size;
    }
  }

private:
  struct Symbol {
    int32_t id, previous, next;
    uint32_t size; ///< bytes; 0: merged into another symbol
    bool whole;
  };
  struct Candidate {
    int32_t rank, place, id;
  };
  static bool comesLater(const Candidate &a, const Candidate &b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
  }

  /// Appends the merge of a symbol with the next one, if there is one. Does not restore the heap.
  bool offer(int32_t place, const MergeTable &merges) {
    const Symbol &left = symbols[static_cast<size_t>(place)];
    if (left.next < 0)
      return false;
    const Symbol &right = symbols[static_cast<size_t>(left.next)];
    const Merge *merge = left.whole || right.whole ? nullptr : merges.find(left.id, right.id);
    if (merge)
      heap.push_back({merge->rank, place, merge->id});
    return merge != nullptr;
  }
  void push(int32_t place, const MergeTable &merges) {
    if (place >= 0 && offer(place, merges))
      std::ranges::push_heap(heap, comesLater);
  }

  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

struct Settings {
  std::string prefix, suffix; ///< of characters that do not begin a word, and of its last one
  std::optional<std::string> unknown;
  bool fuseUnknown = false, byteFallback = false, ignoreMerges = false;
  std::vector<std::string> whole; ///< matched before all merges, the longest first
};

class Bpe : public Model {
public:
  Bpe(TokenTable table, MergeTable merges, Settings settings)
      : table(std::move(table)), merges(std::move(merges)), settings(std::move(settings)) {
    if (this->settings.unknown)
      unknownId = this->table.find(*this->settings.unknown);
    for (int byte = 0; byte < 256; ++byte)
      byteIds[static_cast<size_t>(byte)] =
          this->table.find(formatted("<0x%02X>", byte)).value_or(-1);
    std::vector<std::pair<std::string_view, int32_t>> texts;
    for (const std::string &token : this->settings.whole)
      texts.emplace_back(token, *this->table.find(token));
    whole = Trie(std::move(texts));
  }

  Status tokenize(std::string_view piece, std::vector<ModelToken> &tokens) const override {
    if (settings.ignoreMerges)
      if (const auto id = table.find(piece)) {
        tokens.push_back({*id, {0, static_cast<uint32_t>(piece.size())}});
        return {};
      }
    Word word;
    HEDDLE_TRY(addCharacters(piece, word));
    word.mergeAll(merges);
    word.write(tokens);
    return {};
  }

  std::optional<int32_t> find(std::string_view token) const override { return table.find(token); }
  const std::string *token(int32_t id) const override { return table.token(id); }
  int64_t size() const override { return table.size(); }

private:
  Status addCharacters(std::string_view piece, Word &word) const {
    uint32_t unknownBytes = 0; // pending bytes of characters without a token
    auto flush = [&] {
      if (unknownBytes > 0)
        word.add(*unknownId, unknownBytes);
      unknownBytes = 0;
    };
    std::string spelled;
    for (size_t at = 0; at < piece.size();) {
      if (const ModelToken token = wholeAt(piece, at); token.id >= 0) {
        flush();
        word.add(token.id, token.span.end - token.span.begin, /*whole=*/true);
        at = token.span.end;
        continue;
      }
      const uint32_t size =
          std::min<uint32_t>(pointSize(piece[at]), static_cast<uint32_t>(piece.size() - at));
      std::string_view character = piece.substr(at, size);
      if ((at > 0 && !settings.prefix.empty()) ||
          (at + size == piece.size() && !settings.suffix.empty())) {
        spelled = at > 0 ? settings.prefix : "";
        spelled += character;
        spelled += at + size == piece.size() ? settings.suffix : "";
        character = spelled;
      }
      at += size;
      if (const auto id = table.find(character)) {
        flush();
        word.add(*id, size);
        continue;
      }
      if (settings.byteFallback && addBytes(character, word))
        continue;
      if (!settings.unknown)
        continue; // the character has no token
      if (!unknownId)
        return inputError("expected characters of the vocabulary, which has no " +
                          quotedText(*settings.unknown) + ", found another one");
      if (!settings.fuseUnknown)
        flush();
      unknownBytes += size;
    }
    flush();
    return {};
  }

  /// The longest `whole` token at an offset of the piece; a negative id: none.
  ModelToken wholeAt(std::string_view piece, size_t at) const {
    ModelToken token{-1, {static_cast<uint32_t>(at), static_cast<uint32_t>(at)}};
    whole.prefixes(piece.substr(at), [&](size_t size, int32_t id) {
      token = {id, {static_cast<uint32_t>(at), static_cast<uint32_t>(at + size)}};
    });
    return token;
  }

  /// Adds the byte tokens of a character. Returns false, and adds nothing, if a byte has none.
  bool addBytes(std::string_view character, Word &word) const {
    auto idOf = [&](char byte) { return byteIds[static_cast<unsigned char>(byte)]; };
    if (std::ranges::any_of(character, [&](char byte) { return idOf(byte) < 0; }))
      return false;
    for (char byte : character)
      word.add(idOf(byte), 1);
    return true;
  }

  TokenTable table;
  MergeTable merges;
  Settings settings;
  Trie whole;
  std::optional<int32_t> unknownId;
  std::array<int32_t, 256> byteIds;
};

//===- Reading -------------------------------------------------------------===//

/// Splits a merge, "a b" or ["a", "b"]. Heddle's own third entry, true, gives it the rank of the
/// previous merge.
std::optional<std::pair<std::string_view, std::string_view>> pairOf(const Json &value) {
  auto textOf = [](const Json &part) -> std::string_view {
    return part.get_ref<const std::string &>();
  };
  if (value.is_array() && (value.size() == 2 || (value.size() == 3 && value[2] == true)) &&
      value[0].is_string() && value[1].is_string())
    return std::pair(textOf(value[0]), textOf(value[1]));
  if (!value.is_string())
    return std::nullopt;
  const std::string_view text = textOf(value);
  const size_t gap = text.find(' ');
  if (gap == text.npos || text.find(' ', gap + 1) != text.npos)
    return std::nullopt;
  return std::pair(text.substr(0, gap), text.substr(gap + 1));
}

bool isVersion(const Json &value) {
  const auto *text = value.get_ptr<const std::string *>();
  return text && text->starts_with("#version");
}

Expected<MergeTable> readMerges(const JsonField &model, const TokenTable &table,
                                const std::string &prefix) {
  auto merges = HEDDLE_TRY(model.get("merges"));
  if (!merges.value().is_array() || merges.value().size() > INT32_MAX)
    return merges.expected("a list");
  MergeTable result(merges.value().size());
  std::string joined;
  int32_t rank = -1;
  for (size_t i = 0; i < merges.value().size(); ++i) {
    const Json &value = merges.value()[i];
    if (isVersion(value))
      continue;
    const auto pair = pairOf(value);
    if (!pair)
      return merges.element(i).expected("two tokens");
    const auto [left, right] = *pair;
    if (right.size() < prefix.size())
      return merges.element(i).error("a second token that begins with " + quotedText(prefix),
                                     quotedText(right));
    joined.assign(left).append(right.substr(prefix.size()));
    const auto leftId = table.find(left), rightId = table.find(right), id = table.find(joined);
    if (!leftId || !rightId || !id)
      return merges.element(i).error("tokens of the vocabulary", quotedText(!leftId    ? left
                                                                            : !rightId ? right
                                                                                       : joined));
    const bool isEqual = value.is_array() && value.size() == 3 && rank >= 0;
    rank += isEqual ? 0 : 1;
    result.set(*leftId, *rightId, {rank, *id});
  }
  return result;
}

/// Reads the tokens that are matched before all merges.
Expected<std::vector<std::string>> readWhole(const JsonField &field, const TokenTable &table) {
  std::vector<std::string> whole;
  auto elements = HEDDLE_TRY(field.list());
  for (const JsonField &element : elements) {
    whole.push_back(HEDDLE_TRY(element.text()));
    if (whole.back().empty() || !table.find(whole.back()))
      return element.expected("a token of the vocabulary");
  }
  return whole;
}

} // namespace

Expected<std::unique_ptr<Model>> readBpe(const JsonField &field) {
  Settings settings;
  settings.prefix = HEDDLE_TRY(field.textOr("continuing_subword_prefix", ""));
  settings.suffix = HEDDLE_TRY(field.textOr("end_of_word_suffix", ""));
  if (auto unknown = field.find("unk_token"))
    settings.unknown = HEDDLE_TRY(unknown->text());
  settings.fuseUnknown = HEDDLE_TRY(field.flagAt("fuse_unk", false));
  settings.byteFallback = HEDDLE_TRY(field.flagAt("byte_fallback", false));
  settings.ignoreMerges = HEDDLE_TRY(field.flagAt("ignore_merges", false));
  if (auto dropout = field.find("dropout"); dropout && dropout->value() != 0)
    return dropout->expected("null (dropout is for training)");
  auto table = HEDDLE_TRY(TokenTable::read(field));
  if (auto whole = field.find("whole")) // Heddle's own key
    settings.whole = HEDDLE_TRY(readWhole(*whole, table));
  auto merges = HEDDLE_TRY(readMerges(field, table, settings.prefix));
  return std::unique_ptr<Model>(new Bpe(std::move(table), std::move(merges), std::move(settings)));
}

} // namespace heddle::tokenizers
