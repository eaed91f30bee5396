//===- Search.h - The searches behind decodeSequences ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function a search; walkRows is the loop of greedy decoding and of sampling.
#pragma once

#include "RowScores.h"

#include "heddle/Generation/Decoding.h"

namespace heddle {

/// Whether a token ends a sequence.
bool endsSequence(const DecodingOptions &options, int32_t token);
/// Most tokens of a sequence.
int64_t limitOf(const DecodingOptions &options, size_t sequence);

/// Chooses the next token of a sequence from its row of scores; its log probability is that of
/// DecodingOptions::onProbability, of no meaning where nobody asks for it.
using ChooseToken = std::function<Expected<Candidate>(std::span<const float> scores,
                                                      size_t sequence, int64_t step)>;
/// Appends a token a step to each sequence until all have ended or reached the limit.
Expected<std::vector<TokenIds>> walkRows(StepModel &model, size_t sequences,
                                         const DecodingOptions &options, const ChooseToken &choose);

/// Decodes with `options.beam` hypotheses a sequence.
Expected<std::vector<TokenIds>> beamSearch(StepModel &model, size_t sequences,
                                           const DecodingOptions &options);

/// Draws the token of sequence `sequence` at `step`.
Expected<Candidate> sampleToken(std::span<const float> scores, bool probabilities,
                                const DecodingOptions &options, size_t sequence, int64_t step);

} // namespace heddle
