//===- UnicodeForms.cpp - NFC, NFD, NFKC and NFKD ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decomposition, canonical ordering and composition with ICU's tables for
// single code points. The package `tokenizers` has Unicode 9, where younger
// code points have neither decomposition nor combining class.
#include "UnicodeForms.h"

#include "heddle/Tokenizers/Utf8.h"

#include <algorithm>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

namespace heddle::tokenizers {

namespace {

const icu::Normalizer2 *instanceOf(bool compatible) {
  // ICU owns the instance. If no data for it is installed, texts stay as they are.
  UErrorCode failure = U_ZERO_ERROR;
  const icu::Normalizer2 *instance = compatible ? icu::Normalizer2::getNFKCInstance(failure)
                                                : icu::Normalizer2::getNFCInstance(failure);
  return U_SUCCESS(failure) ? instance : nullptr;
}

bool isKnown(char32_t point) {
  constexpr uint8_t newest = 9;
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(point), age);
  return age[0] <= newest;
}

uint8_t combiningClass(char32_t point) {
  return point < 0x300 || !isKnown(point) ? 0 : u_getCombiningClass(static_cast<UChar32>(point));
}

/// Sorts each run of marks by combining class.
void order(std::vector<Change> &points) {
  for (auto at = points.begin(); at != points.end();) {
    auto end = std::find_if(at, points.end(),
                            [](const Change &c) { return combiningClass(c.point) == 0; });
    std::stable_sort(at, end, [](const Change &a, const Change &b) {
      return combiningClass(a.point) < combiningClass(b.point);
    });
    at = end == points.end() ? end : end + 1;
  }
}

std::vector<Change> decompose(std::string_view text, const icu::Normalizer2 &forms) {
  std::vector<Change> points;
  icu::UnicodeString parts;
  for (size_t at = 0; at < text.size();) {
    const char32_t point = nextPoint(text, at);
    if (point < 0x80 || !isKnown(point) ||
        !forms.getDecomposition(static_cast<UChar32>(point), parts)) {
      points.push_back({point, 0});
      continue;
    }
    for (int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1))
      points.push_back({static_cast<char32_t>(parts.char32At(i)), i == 0 ? 0 : 1});
  }
  order(points);
  return points;
}

/// Composes starters with the marks after them, unless these are blocked.
std::vector<Change> compose(const std::vector<Change> &points, const icu::Normalizer2 &forms) {
  std::vector<Change> result;
  std::vector<Change> marks;       ///< after the starter, not composed with it
  const Change *starter = nullptr; ///< not yet in the result
  Change held;
  uint8_t lastClass = 0;
  auto flush = [&] {
    if (starter)
      result.push_back(held);
    result.insert(result.end(), marks.begin(), marks.end());
    marks.clear();
    starter = nullptr;
  };
  for (const Change &next : points) {
    const uint8_t own = combiningClass(next.point);
    if (!starter && own != 0) {
      result.push_back(next);
      continue;
    }
    const bool blocked = !starter || (!marks.empty() && lastClass >= own);
    const UChar32 pair = blocked ? -1
                                 : forms.composePair(static_cast<UChar32>(held.point),
                                                     static_cast<UChar32>(next.point));
    if (pair >= 0 && isKnown(static_cast<char32_t>(pair))) {
      held = {static_cast<char32_t>(pair), held.change + next.change - 1};
    } else if (own == 0) {
      flush();
      held = next;
      starter = &held;
    } else {
      marks.push_back(next);
      lastClass = own;
    }
  }
  flush();
  return result;
}

} // namespace

void toUnicodeForm(AlignedText &text, UnicodeForm form) {
  if (isAscii(text.text()))
    return;
  const bool composed = form == UnicodeForm::Nfc || form == UnicodeForm::Nfkc;
  const icu::Normalizer2 *forms =
      instanceOf(form == UnicodeForm::Nfkc || form == UnicodeForm::Nfkd);
  if (!forms)
    return;
  std::vector<Change> points = decompose(text.text(), *forms);
  text.transform(composed ? compose(points, *forms) : points);
}

} // namespace heddle::tokenizers
