//===- Characters.cpp - Classes of code points ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expands the runs once into blocks of 256 code points. Most blocks are equal,
// and equal blocks are stored once.
#include "Characters.h"

#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <array>
#include <map>
#include <unicode/utf8.h>
#include <vector>

namespace heddle::tokenizers {

namespace {

struct ClassRun {
  uint32_t first;
  uint16_t classes;
};

/// Letters `first`, `first + stride`, … `last`. Adding `change` to a letter gives its lower case.
struct LowerRun {
  uint32_t first, last;
  uint8_t stride;
  int32_t change;
};

#include "Characters.inc"

constexpr uint32_t blockSize = 256, blockCount = 0x110000 / blockSize;

class Classes {
public:
  Classes() {
    std::map<std::array<uint16_t, blockSize>, uint16_t> known;
    std::array<uint16_t, blockSize> block;
    size_t run = 0;
    for (uint32_t b = 0; b < blockCount; ++b) {
      for (uint32_t i = 0; i < blockSize; ++i) {
        while (run + 1 < std::size(classRuns) && classRuns[run + 1].first <= b * blockSize + i)
          ++run;
        block[i] = classRuns[run].classes;
      }
      auto [at, isNew] = known.try_emplace(block, static_cast<uint16_t>(known.size()));
      if (isNew)
        values.insert(values.end(), block.begin(), block.end());
      blocks[b] = at->second;
    }
  }
  uint16_t of(char32_t point) const {
    return values[blocks[point / blockSize] * blockSize + point % blockSize];
  }

private:
  std::array<uint16_t, blockCount> blocks;
  std::vector<uint16_t> values;
};

} // namespace

uint16_t classesOf(char32_t point) {
  static const Classes classes;
  return point < 0x110000 ? classes.of(point) : 0;
}

char32_t lowerOf(char32_t point) {
  if (point < 0x80)
    return point >= 'A' && point <= 'Z' ? point + 32 : point;
  const auto *run = std::ranges::lower_bound(lowerRuns, point, {}, &LowerRun::last);
  if (run == std::end(lowerRuns) || point < run->first || (point - run->first) % run->stride != 0)
    return point;
  return static_cast<char32_t>(static_cast<int32_t>(point) + run->change);
}

std::string regexSet(uint16_t classes) {
  std::string set;
  for (size_t i = 0; i < std::size(classRuns); ++i) {
    if ((classRuns[i].classes & classes) == 0)
      continue;
    const uint32_t first = classRuns[i].first;
    while (i + 1 < std::size(classRuns) && (classRuns[i + 1].classes & classes) != 0)
      ++i;
    const uint32_t end = i + 1 < std::size(classRuns) ? classRuns[i + 1].first : 0x110000;
    set += formatted("\\x{%x}-\\x{%x}", first, end - 1);
  }
  return set;
}

Status checkUtf8(std::string_view text, std::string_view place) {
  // Offsets have 32 bits.
  if (text.size() > INT32_MAX)
    return inputError(std::string(place) + ": expected less than 2 GiB of text");
  const auto length = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < length;) {
    const int32_t begin = i;
    UChar32 point;
    U8_NEXT(text.data(), i, length, point);
    if (point < 0)
      return inputError(std::string(place) +
                        formatted(": expected UTF-8, found byte 0x%02x at offset %d",
                                  static_cast<unsigned>(static_cast<unsigned char>(text[begin])),
                                  begin));
  }
  return {};
}

} // namespace heddle::tokenizers
