//===- TokenRules.h - Changes to scores before a choice --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a sequence has said so far changes the scores of the token to come.
#pragma once

#include "heddle/Generation/Decoding.h"

namespace heddle {

/// The rules of a decoding. One row at a time.
class TokenRules {
public:
  explicit TokenRules(const DecodingOptions &options) : options(options) {}

  /// The scores of the token behind `said` in a sequence; valid until the next call.
  std::span<const float> apply(std::span<const float> scores, size_t sequence,
                               std::span<const int32_t> said);

private:
  const DecodingOptions &options;
  std::vector<float> changed;
  std::vector<int32_t> penalized; ///< tokens of the row at hand
};

} // namespace heddle
