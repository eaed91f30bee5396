//===- EncoderTexts.h - The texts of a command on an encoder ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an encoder over the texts of a command. Texts are read ahead, sorted by
// length, split into runs within a budget of tokens, and answered in their
// original order. Reading ahead never waits for input: the texts at hand are
// answered first.
#pragma once

#include "TextBatches.h"

#include "heddle/Generation/TextEncoder.h"

#include <cmath>

namespace heddle {

/// Order of scores: larger numbers first, NaN last.
struct LargestFirst {
  bool operator()(double a, double b) const { return a > b || (std::isnan(b) && !std::isnan(a)); }
};

/// A text, its ids, and its rows of the model's result, which are empty if it was not run.
struct EncodedAnswer {
  const std::string &text;
  const EncodedText &tokens;
  uint64_t number; ///< index among all texts
  std::span<const float> values;
};
/// Returns the output for a text.
using AnswerText = std::function<Expected<std::string>(const EncodedAnswer &answer)>;

/// A model opened for a command on encoders.
struct OpenedEncoder {
  TextModel model;
  std::optional<TextEncoder> encoder;
};
/// Opens the model and its encoder. Errors begin with the session's file. `opened` must not move
/// afterwards.
Status openEncoder(Session &session, const EncoderCommand &command, OpenedEncoder &opened);

/// Returns an error unless the model has a classifier for `use`. `pooled` asks for a row for each
/// text, or for each token.
Status checkClasses(const OpenedEncoder &opened, std::optional<bool> pooled,
                    const std::string &use);
/// Calls openEncoder and checkClasses.
Status openClasses(Session &session, const EncoderCommand &command, std::optional<bool> pooled,
                   const std::string &use, OpenedEncoder &opened);

/// 1 / (1 + exp(-x)) in f64.
double sigmoid(float x);

/// Indices of the `most` largest scores, the largest first and the lower index among equals.
std::vector<size_t> bestOf(const std::vector<double> &scores, size_t most);

/// A score or a probability as commands print it; NaN has no sign.
std::string scoreText(double score);

/// A text, or a part of one, as the last column of a line. It has escapes if it contains newlines.
std::string lastColumn(const std::string &text);
/// The last column of a line about a text, with a tab before it. It is empty if the command has a
/// single text, which the user just gave.
std::string whoseLine(const TextCommand &command, const std::string &text);

/// Returns the line in place of the text of this number, which was skipped with an error; empty:
/// skippedLine.
using AnswerSkipped = std::function<std::string(uint64_t number, const std::string &message)>;

/// Answers all texts of a command, in order. An error about a text ends the command after the
/// answers before it, unless texts are skipped. Texts of a file are all checked first.
Status encodeTexts(OpenedEncoder &opened, const EncoderCommand &command, const TextContext &context,
                   std::istream &in, std::ostream &out, std::ostream &notes,
                   const AnswerText &answer, const AnswerSkipped &skipped = {});
/// Answers each text in each of n contexts, in the order of their numbers. The answer about text t
/// and context c has the number t * n + c.
Status encodeTexts(OpenedEncoder &opened, const EncoderCommand &command,
                   std::span<const TextContext> contexts, std::istream &in, std::ostream &out,
                   std::ostream &notes, const AnswerText &answer,
                   const AnswerSkipped &skipped = {});

} // namespace heddle
