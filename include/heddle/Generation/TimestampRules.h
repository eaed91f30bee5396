//===- TimestampRules.h - Order of timestamps ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace heddle {

/// Timestamps that a speech model may write, as in Transformers' WhisperTimeStampLogitsProcessor. A
/// text begins with one. Further timestamps are in pairs that end a segment and begin the next, and
/// never decrease. A timestamp is written wherever all timestamps together are likelier than any
/// other token.
struct TimestampRules {
  int32_t none = 0;                   ///< the token for "no timestamps"
  int32_t first = 0;                  ///< the timestamp 0; all tokens from here on are timestamps
  int32_t end = 0;                    ///< ends a text; all lower tokens are text
  std::optional<int32_t> latestStart; ///< maximum of the first timestamp, counted from 0

  /// Sets tokens that may not follow `said` to minus infinity, or to 0 if scores are probabilities.
  void apply(std::span<float> scores, bool probabilities, std::span<const int32_t> said) const;
};

} // namespace heddle
