//===- AlignedText.cpp - Text aligned with its input ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of a replaced code point get the place of the old code point's
// first byte. The bytes of an added code point get the place of the byte before
// it.
#include "AlignedText.h"

#include "Characters.h"
#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>

namespace heddle::tokenizers {

AlignedText::AlignedText(std::string_view input) : bytes(input) {
  places.reserve(input.size());
  for (size_t at = 0; at < input.size();) {
    const auto first = static_cast<uint32_t>(at);
    const uint32_t last = first + pointSize(input[at]);
    for (; at < last; ++at)
      places.push_back({first, last});
  }
}

void AlignedText::clear() {
  bytes.clear();
  places.clear();
  begin = 0;
}

void AlignedText::assign(const AlignedText &whole, size_t first, size_t last, uint32_t origin) {
  bytes.assign(whole.bytes, first, last - first);
  places.assign(whole.places.begin() + static_cast<ptrdiff_t>(first),
                whole.places.begin() + static_cast<ptrdiff_t>(last));
  begin = origin;
}

void AlignedText::append(const AlignedText &other, size_t first, size_t last) {
  bytes.append(other.bytes, first, last - first);
  places.insert(places.end(), other.places.begin() + static_cast<ptrdiff_t>(first),
                other.places.begin() + static_cast<ptrdiff_t>(last));
}

void AlignedText::appendText(char32_t point) { appendPoint(bytes, point); }

/// Index of the first byte that represents input. Text that was added before everything else
/// represents none; the package `tokenizers` keeps it when the rest is rewritten.
size_t AlignedText::firstWide() const {
  auto wide = std::ranges::find_if(places, [](TokenSpan s) { return s.begin != s.end; });
  return static_cast<size_t>(wide - places.begin());
}

void AlignedText::transform(const std::vector<Change> &changes, size_t skipped) {
  if (!bytes.empty())
    transformRange(firstWide(), bytes.size(), changes, skipped);
}

void AlignedText::transformRange(size_t first, size_t last, const std::vector<Change> &changes,
                                 size_t skipped) {
  size_t at = first;
  auto skip = [&](size_t points) {
    for (; points > 0 && at < last; --points)
      at += std::min<size_t>(pointSize(bytes[at]), last - at);
  };
  skip(skipped);
  std::string newBytes = bytes.substr(0, first);
  std::vector<TokenSpan> newPlaces(places.begin(), places.begin() + static_cast<ptrdiff_t>(first));
  newBytes.reserve(bytes.size() + changes.size());
  newPlaces.reserve(bytes.size() + changes.size());
  for (const Change &change : changes) {
    const bool added = change.change > 0;
    const TokenSpan place = added ? (at < 1 ? TokenSpan{begin, begin} : places[at - 1])
                                  : places[std::min(at, places.size() - 1)];
    if (!added)
      skip(1 + static_cast<size_t>(-change.change));
    appendPoint(newBytes, change.point);
    newPlaces.resize(newBytes.size(), place);
  }
  newBytes.append(bytes, last);
  newPlaces.insert(newPlaces.end(), places.begin() + static_cast<ptrdiff_t>(last), places.end());
  bytes = std::move(newBytes);
  places = std::move(newPlaces);
}

size_t filterChanges(std::string_view text, const std::function<bool(char32_t)> &keep,
                     std::vector<Change> &changes) {
  int32_t removed = 0;
  size_t skipped = 0;
  for (size_t at = 0; at < text.size();) {
    const char32_t point = nextPoint(text, at);
    if (!keep(point)) {
      ++removed;
      continue;
    }
    if (changes.empty())
      skipped = static_cast<size_t>(removed);
    else
      changes.back().change = -removed;
    changes.push_back({point, 0});
    removed = 0;
  }
  if (!changes.empty())
    changes.back().change = -removed;
  return skipped;
}

void AlignedText::prepend(std::string_view text) {
  if (bytes.empty())
    return;
  std::vector<Change> changes;
  for (size_t at = 0; at < text.size();)
    changes.push_back({nextPoint(text, at), changes.empty() ? 0 : 1});
  size_t first = 0;
  changes.push_back({nextPoint(bytes, first), 1});
  transformRange(0, first, changes, 0);
}

void AlignedText::replace(const std::vector<TokenSpan> &parts, std::string_view content) {
  if (parts.empty())
    return;
  AlignedText result;
  result.begin = begin;
  size_t done = 0;
  for (const TokenSpan &part : parts) {
    result.append(*this, done, part.begin);
    const TokenSpan place = part.end < 1 ? TokenSpan{begin, begin} : places[part.end - 1];
    result.bytes += content;
    result.places.resize(result.bytes.size(), place);
    done = part.end;
  }
  result.append(*this, done, bytes.size());
  *this = std::move(result);
}

void AlignedText::strip(bool left, bool right) {
  size_t first = 0, leading = 0, last = bytes.size();
  while (left && first < bytes.size()) {
    size_t next = first;
    if (!isOf(nextPoint(bytes, next), WhiteSpace))
      break;
    first = next;
    ++leading;
  }
  while (right && last > first) {
    const size_t previous = previousPoint(bytes, last);
    size_t at = previous;
    if (!isOf(nextPoint(bytes, at), WhiteSpace))
      break;
    last = previous;
  }
  if (first == 0 && last == bytes.size())
    return;
  std::vector<Change> changes;
  for (size_t at = first; at < last;)
    changes.push_back({nextPoint(bytes, at), 0});
  transform(changes, leading);
}

void AlignedText::lower() {
  if (isAscii(bytes)) {
    for (char &byte : bytes)
      byte = static_cast<char>(lowerOf(static_cast<unsigned char>(byte)));
    return;
  }
  constexpr char32_t dottedI = 0x130, dot = 0x307;
  std::vector<Change> changes;
  changes.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const char32_t point = nextPoint(bytes, at);
    changes.push_back({point == dottedI ? U'i' : lowerOf(point), 0});
    if (point == dottedI)
      changes.push_back({dot, 1});
  }
  transform(changes);
}

} // namespace heddle::tokenizers
