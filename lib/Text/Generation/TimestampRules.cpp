//===- TimestampRules.cpp - Order of timestamps -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Generation/Decoding.h"

#include "RowScores.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace heddle;

namespace {

/// True if all timestamps together are likelier than each other token.
bool timestampsPrevail(std::span<const float> scores, bool probabilities, size_t first) {
  const std::span<const float> text = scores.first(first), times = scores.subspan(first);
  if (text.empty() || times.empty())
    return false;
  const double most = *std::ranges::max_element(text);
  return logSum(times, probabilities) > (probabilities ? std::log(most) : most);
}

} // namespace

void TimestampRules::apply(std::span<float> scores, bool probabilities,
                           std::span<const int32_t> said) const {
  const float never = probabilities ? 0 : -std::numeric_limits<float>::infinity();
  auto forbid = [&](int64_t from, int64_t to) {
    const int64_t size = std::ssize(scores);
    for (int64_t token = std::max<int64_t>(from, 0); token < std::min(to, size); ++token)
      scores[static_cast<size_t>(token)] = never;
  };
  auto isTime = [&](int32_t token) { return token >= first; };
  const int64_t all = std::ssize(scores);
  forbid(none, int64_t(none) + 1);
  const bool behindOne = !said.empty() && isTime(said.back());
  const bool behindTwo = behindOne && (said.size() < 2 || isTime(said[said.size() - 2]));
  if (behindTwo)
    forbid(first, all);
  else if (behindOne)
    forbid(0, end);
  const auto last = std::find_if(said.rbegin(), said.rend(), isTime);
  if (last != said.rend()) // a segment may begin where the previous one ends, but is not empty
    forbid(first, int64_t(*last) + (behindOne && !behindTwo ? 0 : 1));
  if (said.empty()) {
    forbid(0, first);
    if (latestStart)
      forbid(int64_t(first) + *latestStart + 1, all);
  }
  const auto border = static_cast<size_t>(std::clamp<int64_t>(first, 0, all));
  if (timestampsPrevail(scores, probabilities, border))
    forbid(0, first);
}
