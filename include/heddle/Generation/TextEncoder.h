//===- TextEncoder.h - One row a text --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session of an encoder with `encoder.pool`: an embedding of each text, or with
// a classifier a logit or a probability for each class.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

class TextEncoder {
public:
  /// Checks that the model gives one row a text and asks for nothing but text. Both must outlive
  /// the encoder.
  static Expected<TextEncoder> create(Session &session, const TextModel &model);

  /// Whether rows are of classes: their logits, or their probabilities.
  bool classifies() const { return output != "output"; }
  bool givesProbabilities() const { return output == "probabilities"; }

  /// [sources, columns] numbers, valid until the next call.
  Expected<std::span<const float>> encode(const std::vector<TokenIds> &sources);

private:
  TextEncoder(Session &session, const TextModel &model) : session(&session), model(&model) {}

  Session *session;
  const TextModel *model;
  std::string output;
  bool takesLengths = false;
  NamedTensors results;
};

/// Probabilities of classes from their logits; a NaN among these makes all of them NaN.
std::vector<double> softmax(std::span<const float> logits);

} // namespace heddle
