//===- Resampler.h - Conversion of sampling rates ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heddle/Support/Error.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct SRC_STATE_tag;

namespace heddle {

/// Resamples one channel block by block, so that hours of audio need not be kept at both rates.
class Resampler {
public:
  static Expected<Resampler> create(int64_t from, int64_t to);
  /// Appends the resampled block to `samples`; the last block also flushes the remaining samples.
  Status add(std::span<const float> block, bool isLast, std::vector<float> &samples);

private:
  struct Free {
    void operator()(SRC_STATE_tag *state) const;
  };
  double ratio = 1;
  std::unique_ptr<SRC_STATE_tag, Free> state; ///< null if both rates are equal
  std::vector<float> room;
};

} // namespace heddle
