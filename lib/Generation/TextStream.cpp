//===- TextStream.cpp - The text of tokens as they come -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each new text is the difference of two: that of the last tokens with those that are
// new, and without. A tokenizer writes U+FFFD for a character that lacks bytes.
#include "heddle/Generation/TextStream.h"

#include <algorithm>

using namespace heddle;

TextStream::TextStream(const TextSide &side, std::span<const int32_t> before,
                       std::vector<std::string> stops)
    : side(&side), stops(std::move(stops)) {
  constexpr size_t enough = 16; // a character has at most four tokens
  // A vocabulary's words stand apart by themselves: a continuation begins without a blank.
  if (side.tokenizer) {
    const std::span<const int32_t> near = before.last(std::min(before.size(), enough));
    ids.assign(near.begin(), near.end());
  }
  known = ids.size();
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

std::string TextStream::settle(bool isLast) {
  constexpr std::string_view incomplete = "\ufffd";
  const std::span<const int32_t> all(ids);
  const std::string before = side->decode(all.subspan(from, known - from)),
                    text = side->decode(all.subspan(from));
  if (text.size() > before.size() && (isLast || !text.ends_with(incomplete))) {
    waiting += text.substr(before.size());
    from = known;
    known = ids.size();
  }
  size_t end = std::string::npos, held = 0;
  for (const std::string &stop : stops) {
    end = std::min(end, waiting.find(stop));
    for (size_t size = std::min(stop.size() - 1, waiting.size()); size > held && !isLast; --size)
      if (waiting.ends_with(std::string_view(stop).substr(0, size)))
        held = size;
  }
  hasStopped = end != std::string::npos;
  const size_t given = hasStopped ? end : waiting.size() - held;
  std::string result = waiting.substr(0, given);
  waiting.erase(0, given);
  return result;
}
