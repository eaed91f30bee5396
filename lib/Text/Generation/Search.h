//===- Search.h - The searches of decodeSequences --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per search; walkRows is the loop of greedy decoding and of sampling.
#pragma once

#include "RowScores.h"

#include "heddle/Generation/Decoding.h"

namespace heddle {

/// True if a token ends a sequence.
bool endsSequence(const DecodingOptions &options, int32_t token);
/// Maximum tokens of a sequence.
int64_t limitOf(const DecodingOptions &options, size_t sequence);

/// Chooses the next token of a sequence from its row of scores. The log probability is for
/// DecodingOptions::onProbability, and has no meaning if that is not set.
using ChooseToken = std::function<Expected<Candidate>(std::span<const float> scores,
                                                      size_t sequence, int64_t step)>;
/// Appends one token per step to each sequence, until all have ended or reached the limit.
Expected<std::vector<TokenIds>> walkRows(StepModel &model, size_t sequences,
                                         const DecodingOptions &options, const ChooseToken &choose);

/// Decodes with `options.beams` hypotheses per sequence.
Expected<std::vector<TokenIds>> beamSearch(StepModel &model, size_t sequences,
                                           const DecodingOptions &options);

/// Usage error "NAME: expected RANGE, found …".
Error outsideRange(const char *name, const std::string &range, double found);

/// Returns whether only sampling uses the setting `name`.
bool isOfSampling(std::string_view name);
/// Returns a usage error if a setting of sampling is out of range.
Status checkSampling(const SearchSettings &settings);
/// Draws the token of `sequence` at `step`.
Expected<Candidate> sampleToken(std::span<const float> scores, bool probabilities,
                                const DecodingOptions &options, size_t sequence, int64_t step);

} // namespace heddle
