//===- LabelsOfTexts.h - Classes that a model was not trained on -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that says whether one text follows from another classifies by any labels: each
// becomes a sentence, the hypothesis, and the text is what it may follow from.
#pragma once

#include "EncoderTexts.h"

#include "heddle/Generation/Commands.h"

namespace heddle {

/// A label and its score.
struct ScoredLabel {
  std::string label;
  double score;
};
/// A line of JSON: the text and its label, or with `all` its labels, the likeliest first.
std::string labelsJson(const std::string &text, const std::vector<ScoredLabel> &labels, bool all);

/// Usage error for labels, or a hypothesis, that say nothing.
Status checkLabels(const ClassifyCommand &command);
/// `classify --labels`, as Transformers' pipeline for it does it.
Status classifyByLabels(OpenedEncoder &opened, const ClassifyCommand &command, std::istream &in,
                        std::ostream &out, std::ostream &notes);

} // namespace heddle
