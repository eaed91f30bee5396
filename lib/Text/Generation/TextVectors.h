//===- TextVectors.h - Vectors of texts ------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of `embed`, `similarity` and `rerank`.
#pragma once

#include "EncoderTexts.h"

namespace heddle {

/// Returns an error unless a text has one row.
Status checkPooled(const OpenedEncoder &opened);
/// The vector that the folder defines: the leading values of a row if it says so; zeros for an
/// empty row.
std::vector<float> vectorOf(const OpenedEncoder &opened, std::span<const float> row);

/// Makes a text the query of a model for late interaction: adds the tokens that the model adds to
/// queries. Errors begin with `place`.
Status makeQuery(const OpenedEncoder &opened, const std::string &place, EncodedText &text);
/// The vectors of a text's tokens, without those of skipped tokens.
std::vector<std::span<const float>> tokenRows(const OpenedEncoder &opened, const EncodedText &text,
                                              std::span<const float> values);
/// Sum over the query's vectors of the largest product with a vector of the text (MaxSim).
double lateScore(const std::vector<std::span<const float>> &query,
                 const std::vector<std::span<const float>> &text);

} // namespace heddle
