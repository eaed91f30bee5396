//===- TokenRules.cpp - Changes to scores before a choice ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TokenRules.h"

#include <algorithm>

using namespace heddle;

std::span<const float> TokenRules::apply(std::span<const float> scores, size_t sequence,
                                         std::span<const int32_t> said) {
  if (options.repetitionPenalty == 1)
    return scores;
  changed.assign(scores.begin(), scores.end());
  penalized.assign(said.begin(), said.end());
  if (!options.before.empty())
    penalized.insert(penalized.end(), options.before[sequence].begin(),
                     options.before[sequence].end());
  std::ranges::sort(penalized);
  const auto rest = std::ranges::unique(penalized);
  penalized.erase(rest.begin(), rest.end());
  const auto penalty = static_cast<float>(options.repetitionPenalty);
  for (int32_t token : penalized)
    if (token >= 0 && static_cast<size_t>(token) < changed.size()) {
      float &score = changed[static_cast<size_t>(token)];
      score = score < 0 ? score * penalty : score / penalty;
    }
  return changed;
}
