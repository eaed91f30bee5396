//===- AddedTokens.cpp - Added tokens ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The leftmost match counts and, among matches at one offset, the longest.
#include "AddedTokens.h"

#include "Characters.h"
#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>

namespace heddle::tokenizers {

namespace {

bool endsInWord(std::string_view text) {
  size_t at = text.empty() ? 0 : previousPoint(text, text.size());
  return !text.empty() && isOf(nextPoint(text, at), WordCharacter);
}
bool beginsWithWord(std::string_view text) {
  size_t at = 0;
  return !text.empty() && isOf(nextPoint(text, at), WordCharacter);
}

/// Offset of the white space that ends the text.
size_t blanksAtEnd(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t previous = previousPoint(text, end);
    size_t at = previous;
    if (!isOf(nextPoint(text, at), WhiteSpace))
      break;
    end = previous;
  }
  return end;
}
size_t blanksAtStart(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t next = at;
    if (!isOf(nextPoint(text, next), WhiteSpace))
      break;
    at = next;
  }
  return at;
}

Expected<AddedToken> readToken(const JsonField &field) {
  AddedToken token;
  token.content = HEDDLE_TRY(field.textAt("content"));
  token.written = token.content;
  token.special = HEDDLE_TRY(field.flagAt("special", false));
  token.singleWord = HEDDLE_TRY(field.flagAt("single_word", false));
  token.leftStrip = HEDDLE_TRY(field.flagAt("lstrip", false));
  token.rightStrip = HEDDLE_TRY(field.flagAt("rstrip", false));
  token.normalized = HEDDLE_TRY(field.flagAt("normalized", !token.special));
  token.atStart = HEDDLE_TRY(field.flagAt("at_start", false)); // Heddle's own key
  return token;
}

} // namespace

Expected<AddedTokens> AddedTokens::read(const JsonField &file, const Model &model,
                                        const Normalizer *normalizer) {
  AddedTokens added;
  auto list = file.find("added_tokens");
  if (!list)
    return added;
  // Heddle's own key
  added.cutsSpecials = !HEDDLE_TRY(file.flagAt("split_special_tokens", false));
  auto elements = HEDDLE_TRY(list->list());
  Work work(64 * elements.size());
  for (const JsonField &element : elements) {
    AddedToken token = HEDDLE_TRY(readToken(element));
    if (token.content.empty())
      continue;
    if (token.normalized && normalizer) {
      AlignedText text(token.content);
      if (Status changed = normalizer->apply(text, work); !changed)
        return element.error("a token that can be normalized", changed.error().message);
      token.written = text.text();
    }
    added.add(std::move(token), model);
  }
  added.buildTries();
  return added;
}

void AddedTokens::add(AddedToken token, const Model &model) {
  int32_t id;
  if (auto known = find(token.content))
    id = *known;
  else if (auto ofModel = model.find(token.content))
    id = *ofModel;
  else
    id = static_cast<int32_t>(model.size() + fresh++);
  ids.insert_or_assign(token.content, id);
  if (token.special)
    specials.insert(token.content);
  tokens.insert_or_assign(id, std::move(token));
}

void AddedTokens::buildTries() {
  std::vector<std::pair<std::string_view, int32_t>> early, late;
  for (const auto &[id, token] : tokens)
    if (!token.written.empty() && (cutsSpecials || !token.special))
      (token.normalized ? late : early).emplace_back(token.written, id);
  given = Trie(std::move(early));
  afterNormalizer = Trie(std::move(late));
}

bool PlainParts::holds(int32_t id, const AlignedText &text, size_t begin, size_t end) const {
  if (parts.empty() || begin >= end)
    return false;
  const AddedToken *token = added.token(id);
  if (!token || (!token->special && !marks))
    return false;
  const TokenSpan input{text.spans()[begin].begin, text.spans()[end - 1].end};
  const auto at = std::ranges::upper_bound(parts, input.begin, {}, &TokenSpan::end);
  if (at == parts.end() || at->begin >= input.end)
    return false;
  if (token->special)
    return true;
  const auto [known, isNew] = marked.try_emplace(id, false);
  if (isNew)
    known->second = marks(token->content);
  return known->second;
}

Status AddedTokens::split(Pieces &pieces, bool normalized, const PlainParts &plain) const {
  const Trie &trie = normalized ? afterNormalizer : given;
  return pieces.split([&](std::string_view text, std::vector<Part> &parts) {
    match(pieces.buffer(), text, trie, plain, parts);
    return Status();
  });
}

/// Appends the matches and the gaps between them. `text` must be a view of `whole`.
void AddedTokens::match(const AlignedText &whole, std::string_view text, const Trie &trie,
                        const PlainParts &plain, std::vector<Part> &parts) const {
  const auto origin = static_cast<size_t>(text.data() - whole.text().data());
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    size_t size = 0;
    int32_t id = -1;
    trie.prefixes(text.substr(at), [&](size_t found, int32_t value) {
      if (plain.holds(value, whole, origin + at, origin + at + found))
        return;
      size = found;
      id = value;
    });
    if (id < 0) {
      ++at;
      continue;
    }
    const AddedToken &token = tokens.at(id);
    size_t begin = at, end = at + size;
    at = end;
    if (token.atStart && begin > done)
      continue;
    if (token.singleWord && (endsInWord(text.substr(0, begin)) || beginsWithWord(text.substr(end))))
      continue;
    if (token.leftStrip)
      begin = std::max(blanksAtEnd(text.substr(0, begin)), done);
    if (token.rightStrip)
      end += blanksAtStart(text.substr(end));
    if (done < begin)
      parts.push_back({{static_cast<uint32_t>(done), static_cast<uint32_t>(begin)}});
    parts.push_back({{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, true, id});
    done = end;
  }
  if (done != text.size())
    parts.push_back({{static_cast<uint32_t>(done), static_cast<uint32_t>(text.size())}});
}

std::optional<int32_t> AddedTokens::find(std::string_view content) const {
  auto at = ids.find(content);
  return at == ids.end() ? std::nullopt : std::optional(at->second);
}

const AddedToken *AddedTokens::token(int32_t id) const {
  auto at = tokens.find(id);
  return at == tokens.end() ? nullptr : &at->second;
}

} // namespace heddle::tokenizers
