//===- Search.h - The searches behind decodeSequences ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the searches share: the two ways to walk on.
#pragma once

#include "RowScores.h"

#include "heddle/Generation/Decoding.h"

namespace heddle {

/// What each sequence is fed first.
std::vector<int32_t> firstTokens(size_t sequences, const DecodingOptions &options);

/// One token a sequence, by `choose`, until all have ended.
using ChooseToken =
    std::function<Expected<int32_t>(std::span<const float> scores, size_t sequence, int64_t step)>;
Expected<std::vector<TokenIds>> walkRows(StepModel &model, size_t sequences,
                                         const DecodingOptions &options, const ChooseToken &choose);

Expected<std::vector<TokenIds>> beamSearch(StepModel &model, size_t sequences,
                                           const DecodingOptions &options);

/// The token of a sampling step.
Expected<int32_t> sampleToken(std::span<const float> scores, bool probabilities,
                              const DecodingOptions &options, size_t sequence, int64_t step);

} // namespace heddle
