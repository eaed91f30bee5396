//===- EncoderTexts.h - The texts of a command on an encoder ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts are read ahead, sorted by length, cut into runs under a budget of tokens, and
// answered in the order in which they came. Reading ahead waits for nobody: what is at
// hand is answered first.
#pragma once

#include "TextBatches.h"

#include "heddle/Generation/TextEncoder.h"

#include <cmath>

namespace heddle {

/// Order of scores, NaN behind all numbers.
struct LargestFirst {
  bool operator()(double a, double b) const { return a > b || (std::isnan(b) && !std::isnan(a)); }
};

/// A text, its tokens, and its rows of the model's result: none if it is left out.
struct EncodedAnswer {
  const std::string &text;
  const EncodedText &tokens;
  uint64_t number; ///< among all texts
  std::span<const float> values;
};
/// What is written for a text.
using AnswerText = std::function<Expected<std::string>(const EncodedAnswer &answer)>;

/// A model opened for a command on encoders.
struct OpenedEncoder {
  TextModel model;
  std::optional<TextEncoder> encoder;
};
/// Errors begin with the file of the session. The result must stay where it is.
Status openEncoder(Session &session, const EncoderCommand &command, OpenedEncoder &opened);

/// Error unless the model has a classifier for `use`; `pooled`: one row a text.
Status checkClasses(const OpenedEncoder &opened, std::optional<bool> pooled,
                    const std::string &use);
/// openEncoder and checkClasses.
Status openClasses(Session &session, const EncoderCommand &command, std::optional<bool> pooled,
                   const std::string &use, OpenedEncoder &opened);

/// 1 / (1 + exp(-x)) in f64.
double sigmoid(float x);

/// Numbers of the `most` largest scores, the largest first; the first among equals.
std::vector<size_t> bestOf(const std::vector<double> &scores, size_t most);

/// A score or a probability as commands print it; a NaN has no sign.
std::string scoreText(double score);

/// A text, or a part of one, as the last column of a line: as it is, or with escapes if it holds
/// newlines.
std::string lastColumn(const std::string &text);
/// The last column of a line about a text, with the tab before it; empty if the command has one text,
/// which its user just wrote.
std::string whoseLine(const TextCommand &command, const std::string &text);

/// What is written for the text of this number, which is left out with an error; empty: skippedLine.
using AnswerSkipped = std::function<std::string(uint64_t number, const std::string &message)>;

/// Answers all texts of a command, in order. Errors about a text end it, after the texts before it,
/// unless texts are skipped. Texts of a file are all checked before.
Status encodeTexts(OpenedEncoder &opened, const EncoderCommand &command, const TextContext &context,
                   std::istream &in, std::ostream &out, std::ostream &notes,
                   const AnswerText &answer, const AnswerSkipped &skipped = {});
/// The same of each text beside each of n contexts: the answer about text t and context c has the
/// number t * n + c, and stands behind those before it.
Status encodeTexts(OpenedEncoder &opened, const EncoderCommand &command,
                   std::span<const TextContext> contexts, std::istream &in, std::ostream &out,
                   std::ostream &notes, const AnswerText &answer,
                   const AnswerSkipped &skipped = {});

} // namespace heddle
