//===- LabelsOfTexts.h - Zero-shot classification ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of natural language inference classifies by any labels. Each label
// becomes a sentence, the hypothesis, which may follow from the text. With a
// model of texts and images, the hypothesis may describe the image.
#pragma once

#include "EncoderTexts.h"

#include "heddle/Generation/Commands.h"

namespace heddle {

/// A label and its score.
struct ScoredLabel {
  std::string label;
  double score;
};
/// A line of JSON with the text and its label or, with `all`, with all labels, the likeliest first.
std::string labelsJson(const std::string &text, const std::vector<ScoredLabel> &labels, bool all);

/// Returns a usage error for empty labels, for a hypothesis without {}, and for options that
/// exclude each other.
Status checkLabels(const ClassifyCommand &command);
/// The hypothesis of a label: its place in --hypothesis, or in `usual`.
std::string hypothesisOf(const ClassifyCommand &command, const std::string &label,
                         const char *usual);
/// The output about a text with the scores of all labels.
std::string labelsAnswer(const ClassifyCommand &command, uint64_t number, const std::string &text,
                         const std::vector<double> &scores);
/// The output about a text or an image that is skipped.
std::string skippedAnswer(const ClassifyCommand &command, uint64_t number,
                          const std::string &message);
/// Runs `classify --labels` as the zero-shot pipeline of Transformers does.
Status classifyByLabels(OpenedEncoder &opened, const ClassifyCommand &command, std::istream &in,
                        std::ostream &out, std::ostream &notes);
/// Runs `classify --labels` on images, with a model whose vectors of texts and images share a space.
Status classifyImagesByLabels(OpenedEncoder &opened, const ClassifyCommand &command,
                              std::istream &in, std::ostream &out, std::ostream &notes);

} // namespace heddle
