//===- Pieces.h - Text split into pieces -----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pieces of a text on their way to the model. One buffer holds the text of
// all pieces; splitting only moves their bounds.
#pragma once

#include "AlignedText.h"

#include "heddle/Support/Try.h"

namespace heddle::tokenizers {

struct Piece {
  uint32_t begin = 0, end = 0; ///< in the buffer
  uint32_t origin = 0;         ///< offset in the input where it began when it was cut out
  int32_t token = -1;          ///< an added token, which later steps leave alone; -1: none
};

/// A part of a piece, relative to it.
struct Part {
  TokenSpan span;
  bool matches = false; ///< matches the pattern of the split
  int32_t token = -1;
};

/// The pieces of a text, in order.
class Pieces {
public:
  explicit Pieces(std::string_view input) : all(input) {
    if (!input.empty())
      list.push_back({0, static_cast<uint32_t>(input.size())});
  }

  const std::vector<Piece> &pieces() const { return list; }
  std::string_view textOf(const Piece &piece) const {
    return std::string_view(all.text()).substr(piece.begin, piece.end - piece.begin);
  }
  const AlignedText &buffer() const { return all; }

  /// Splits each piece that is not a token into the parts that `partsOf(text, parts)` gives. Empty
  /// parts are dropped.
  template <typename PartsOf>
  Status split(const PartsOf &partsOf) {
    std::vector<Piece> result;
    std::vector<Part> parts;
    for (const Piece &piece : list) {
      if (piece.token >= 0) {
        result.push_back(piece);
        continue;
      }
      parts.clear();
      HEDDLE_TRY(partsOf(textOf(piece), parts));
      for (const Part &part : parts)
        if (part.span.begin < part.span.end) {
          const uint32_t begin = piece.begin + part.span.begin;
          result.push_back(
              {begin, piece.begin + part.span.end, all.spans()[begin].begin, part.token});
        }
    }
    list = std::move(result);
    return {};
  }

  /// Changes the text of each piece that is not a token. Pieces that become empty are dropped.
  template <typename Change>
  Status rewrite(const Change &change) {
    AlignedText result, text;
    std::vector<Piece> pieces;
    for (Piece piece : list) {
      const auto begin = static_cast<uint32_t>(result.size());
      if (piece.token >= 0) {
        result.append(all, piece.begin, piece.end);
      } else {
        text.assign(all, piece.begin, piece.end, piece.origin);
        HEDDLE_TRY(change(text));
        result.append(text, 0, text.size());
      }
      piece.begin = begin;
      piece.end = static_cast<uint32_t>(result.size());
      if (piece.begin < piece.end)
        pieces.push_back(piece);
    }
    all = std::move(result);
    list = std::move(pieces);
    return {};
  }

  /// Maps the bytes of each piece that is not a token to characters (ByteLevel.h).
  void toByteCharacters();

private:
  AlignedText all;
  std::vector<Piece> list;
};

/// Treatment of the parts that match a pattern.
enum class SplitBehavior : uint8_t {
  Removed,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous
};

/// The matches of a pattern in a text and the parts between them, in order.
std::vector<Part> partsBetween(std::string_view text, const std::vector<TokenSpan> &matches);
/// Joins and drops parts as `behavior` asks.
void applyBehavior(std::vector<Part> &parts, SplitBehavior behavior);

} // namespace heddle::tokenizers
