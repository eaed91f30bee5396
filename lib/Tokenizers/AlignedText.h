//===- AlignedText.h - Text that knows where it came from ------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every byte of normalised text keeps the bytes of the input that it stands for.
// How they are handed on when text changes is that of the package `tokenizers`,
// whose offsets ours must equal.
#pragma once

#include "heddle/Tokenizers/Tokenizer.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tokenizers {

/// A code point of new text. 0: it replaces one of the old text; 1: it is added; -n: it replaces one
/// and n more behind it disappear.
struct Change {
  char32_t point;
  int32_t change;
};

class AlignedText {
public:
  AlignedText() = default;
  /// A whole input.
  explicit AlignedText(std::string_view input);

  const std::string &text() const { return bytes; }
  const std::vector<TokenSpan> &spans() const { return places; }
  /// The input's byte where this text begins.
  uint32_t origin() const { return begin; }
  size_t size() const { return bytes.size(); }
  bool empty() const { return bytes.empty(); }

  void clear();
  /// Becomes a part of another text.
  void assign(const AlignedText &whole, size_t first, size_t last, uint32_t origin);
  void append(const AlignedText &other, size_t first, size_t last);
  /// Adds a byte that stands for `span`.
  void append(char byte, TokenSpan span) {
    bytes += byte;
    places.push_back(span);
  }
  void append(char32_t point, TokenSpan span) {
    appendText(point);
    places.resize(bytes.size(), span);
  }

  /// New text made of changes; the first `skipped` code points of the old disappear.
  void transform(const std::vector<Change> &changes, size_t skipped = 0);
  /// Keeps the code points of which `keep` is true.
  template <typename Keep>
  void filter(const Keep &keep);
  void prepend(std::string_view text);
  /// Replaces parts, which are in order, by a text.
  void replace(const std::vector<TokenSpan> &parts, std::string_view content);
  void strip(bool left, bool right);
  void lower();

private:
  void appendText(char32_t point);
  void transformRange(size_t first, size_t last, const std::vector<Change> &changes,
                      size_t skipped);
  size_t firstWide() const;

  std::string bytes;
  std::vector<TokenSpan> places; ///< one a byte
  uint32_t begin = 0;
};

/// What the changes of a filter are, and how many code points disappear at the start.
size_t filterChanges(std::string_view text, const std::function<bool(char32_t)> &keep,
                     std::vector<Change> &changes);

template <typename Keep>
void AlignedText::filter(const Keep &keep) {
  std::vector<Change> changes;
  const size_t skipped = filterChanges(bytes, keep, changes);
  transform(changes, skipped);
}

} // namespace heddle::tokenizers
