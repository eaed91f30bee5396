//===- Pieces.cpp - Text split into pieces ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Pieces.h"

#include "ByteLevel.h"
#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>

namespace heddle::tokenizers {

void Pieces::toByteCharacters() {
  AlignedText result;
  std::vector<Piece> pieces;
  for (Piece piece : list) {
    const auto begin = static_cast<uint32_t>(result.size());
    if (piece.token >= 0)
      result.append(all, piece.begin, piece.end);
    else
      appendByteCharacters(all, piece.begin, piece.end, result);
    piece.begin = begin;
    piece.end = static_cast<uint32_t>(result.size());
    pieces.push_back(piece);
  }
  all = std::move(result);
  list = std::move(pieces);
}

std::vector<Part> partsBetween(std::string_view text, const std::vector<TokenSpan> &matches) {
  std::vector<Part> parts;
  uint32_t done = 0;
  for (const TokenSpan &match : matches) {
    if (done != match.begin)
      parts.push_back({{done, match.begin}});
    parts.push_back({match, true});
    done = match.end;
  }
  if (done != text.size())
    parts.push_back({{done, static_cast<uint32_t>(text.size())}});
  return parts;
}

namespace {

/// Joins each part with the previous one where `joins(part matches, previous part matches)`.
template <typename Joins>
std::vector<Part> joined(const std::vector<Part> &parts, const Joins &joins) {
  std::vector<Part> result;
  bool previous = false;
  for (const Part &part : parts) {
    if (joins(part.matches, previous) && !result.empty()) {
      TokenSpan &span = result.back().span;
      span = {std::min(span.begin, part.span.begin), std::max(span.end, part.span.end)};
    } else {
      result.push_back({part.span});
    }
    previous = part.matches;
  }
  return result;
}

bool beginsMatch(bool matches, bool previous) { return matches && !previous; }

} // namespace

void applyBehavior(std::vector<Part> &parts, SplitBehavior behavior) {
  switch (behavior) {
  case SplitBehavior::Isolated:
    return;
  case SplitBehavior::Removed:
    std::erase_if(parts, [](const Part &part) { return part.matches; });
    return;
  case SplitBehavior::Contiguous:
    parts = joined(parts, [](bool matches, bool previous) { return matches == previous; });
    return;
  case SplitBehavior::MergedWithPrevious:
    parts = joined(parts, beginsMatch);
    return;
  case SplitBehavior::MergedWithNext:
    std::ranges::reverse(parts);
    parts = joined(parts, beginsMatch);
    std::ranges::reverse(parts);
    return;
  }
}

} // namespace heddle::tokenizers
