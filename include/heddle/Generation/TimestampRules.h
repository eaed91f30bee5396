//===- TimestampRules.h - Which timestamps may follow ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace heddle {

/// Timestamps of a speech model as Transformers' WhisperTimeStampLogitsProcessor allows them: one
/// first, then in pairs that end a segment and begin the next, never earlier than the last, and one
/// of them wherever all together are likelier than any other token.
struct TimestampRules {
  int32_t none = 0;                   ///< the token that says that there are no timestamps
  int32_t first = 0;                  ///< the timestamp 0; all tokens from here on are timestamps
  int32_t end = 0;                    ///< ends a text; all tokens before are text
  std::optional<int32_t> latestStart; ///< how many timestamps after 0 the first may be

  /// Gives tokens that may not stand behind `said` the score minus infinity, or probability 0.
  void apply(std::span<float> scores, bool probabilities, std::span<const int32_t> said) const;
};

} // namespace heddle
