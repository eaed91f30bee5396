//===- AlignedText.h - Text aligned with its input -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalized text that keeps, for each byte, the bytes of the input that it
// represents. Changes keep the alignment as the package `tokenizers` does,
// whose offsets ours must equal.
#pragma once

#include "heddle/Tokenizers/Tokenizer.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tokenizers {

/// A code point of new text. `change` is 0 if it replaces a code point of the old text, 1 if it is
/// added, and -n if it replaces one and the next n are removed.
struct Change {
  char32_t point;
  int32_t change;
};

/// A text with the input bytes that each of its bytes represents.
class AlignedText {
public:
  AlignedText() = default;
  /// Aligns a whole input with itself.
  explicit AlignedText(std::string_view input);

  const std::string &text() const { return bytes; }
  const std::vector<TokenSpan> &spans() const { return places; }
  /// Offset in the input where this text begins.
  uint32_t origin() const { return begin; }
  size_t size() const { return bytes.size(); }
  bool empty() const { return bytes.empty(); }

  void clear();
  /// Becomes bytes [first, last) of `whole`.
  void assign(const AlignedText &whole, size_t first, size_t last, uint32_t origin);
  void append(const AlignedText &other, size_t first, size_t last);
  /// Appends a byte that represents `span` of the input.
  void append(char byte, TokenSpan span) {
    bytes += byte;
    places.push_back(span);
  }
  void append(char32_t point, TokenSpan span) {
    appendText(point);
    places.resize(bytes.size(), span);
  }

  /// Replaces the text by `changes`, after removing its first `skipped` code points.
  void transform(const std::vector<Change> &changes, size_t skipped = 0);
  /// Keeps the code points for which `keep` returns true.
  template <typename Keep>
  void filter(const Keep &keep);
  void prepend(std::string_view text);
  /// Replaces each of `parts`, which are in order, by `content`.
  void replace(const std::vector<TokenSpan> &parts, std::string_view content);
  void strip(bool left, bool right);
  void lower();

private:
  void appendText(char32_t point);
  void transformRange(size_t first, size_t last, const std::vector<Change> &changes,
                      size_t skipped);
  size_t firstWide() const;

  std::string bytes;
  std::vector<TokenSpan> places; ///< one for each byte
  uint32_t begin = 0;
};

/// Appends the changes of a filter. Returns the number of code points that it removes at the start.
size_t filterChanges(std::string_view text, const std::function<bool(char32_t)> &keep,
                     std::vector<Change> &changes);

template <typename Keep>
void AlignedText::filter(const Keep &keep) {
  std::vector<Change> changes;
  const size_t skipped = filterChanges(bytes, keep, changes);
  transform(changes, skipped);
}

} // namespace heddle::tokenizers
