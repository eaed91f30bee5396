//===- TextEncoder.h - Text embedding and classification -------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a session of an encoder with `encoder.pool`: its result is an embedding of each
// text, or with a classifier, a logit or a probability for each class.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

/// Encodes batches of texts with a session.
class TextEncoder {
public:
  /// Error if the model's result is not one row a text, or if it has inputs that text does not
  /// give. Both must outlive the encoder.
  static Expected<TextEncoder> create(Session &session, const TextModel &model);

  /// Whether rows hold classes: logits, or probabilities.
  bool classifies() const { return output != "output"; }
  bool givesProbabilities() const { return output == "probabilities"; }

  /// Rows [sources, columns], valid until the next call.
  Expected<std::span<const float>> encode(const std::vector<TokenIds> &sources);

private:
  TextEncoder(Session &session, const TextModel &model) : session(&session), model(&model) {}

  Session *session;
  const TextModel *model;
  std::string output;
  bool takesLengths = false;
  NamedTensors results;
};

/// Softmax in f64. A NaN among the logits makes all probabilities NaN.
std::vector<double> softmax(std::span<const float> logits);

} // namespace heddle
