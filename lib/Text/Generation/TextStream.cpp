//===- TextStream.cpp - Incremental text of tokens --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each new text is the difference of two: the text of the last tokens with the
// new ones, and without. A tokenizer writes U+FFFD for a character that lacks
// bytes.
#include "heddle/Generation/TextStream.h"

#include <algorithm>

using namespace heddle;

TextStream::TextStream(const TextSide &side, std::span<const int32_t> before,
                       std::vector<std::string> stops)
    : side(&side), stops(std::move(stops)) {
  constexpr size_t enough = 16; // a character has at most four tokens
  // Words of a vocabulary need no context: a continuation begins without a blank.
  if (side.tokenizer) {
    const std::span<const int32_t> near = before.last(std::min(before.size(), enough));
    ids.assign(near.begin(), near.end());
  }
  known = first = ids.size();
}

std::string TextStream::add(int32_t token) {
  if (hasStopped)
    return {};
  ids.push_back(token);
  return settle(/*isLast=*/false);
}

std::string TextStream::finish() {
  if (hasStopped)
    return {};
  return settle(/*isLast=*/true);
}

/// Cleaning up changes a few bytes before a token, so the last bytes of the text wait.
void TextStream::readCleaned(bool isLast) {
  constexpr size_t heldBytes = 16;
  const std::string text = side->decode(ids), before = side->decode(std::span(ids).first(first));
  size_t end = isLast ? text.size() : text.size() - std::min(text.size(), heldBytes);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end; // the beginning of a character
  const size_t begin = std::max(before.size(), given);
  if (end > begin) {
    waiting += text.substr(begin, end - begin);
    given = end;
  }
}

void TextStream::readTokens(bool isLast) {
  constexpr std::string_view incomplete = "\ufffd";
  const std::span<const int32_t> all(ids);
  const std::string before = side->decode(all.subspan(from, known - from)),
                    text = side->decode(all.subspan(from));
  if (text.size() > before.size() && (isLast || !text.ends_with(incomplete))) {
    waiting += text.substr(before.size());
    from = known;
    known = ids.size();
  }
}

std::string TextStream::settle(bool isLast) {
  if (side->tokenizer && side->tokenizer->cleansUp())
    readCleaned(isLast);
  else
    readTokens(isLast);
  size_t end = std::string::npos, held = 0;
  for (const std::string &stop : stops) {
    end = std::min(end, waiting.find(stop));
    for (size_t size = std::min(stop.size() - 1, waiting.size()); size > held && !isLast; --size)
      if (waiting.ends_with(std::string_view(stop).substr(0, size)))
        held = size;
  }
  hasStopped = end != std::string::npos;
  const size_t ready = hasStopped ? end : waiting.size() - held;
  std::string result = waiting.substr(0, ready);
  waiting.erase(0, ready);
  return result;
}
