//===- TextDecoder.h - Sequences from a decoder ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session of an encoder-decoder or of a decoder alone, decoded by any of the
// searches of Decoding.h. A batch of sources is encoded once, the memory's keys
// and values are projected once, and then one token a row is fed; a decoder alone
// is fed the sources themselves.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

class TextDecoder : private StepModel {
public:
  /// Checks that the model has the functions and the inputs that decoding needs. Both must outlive
  /// the decoder.
  static Expected<TextDecoder> create(Session &session, const TextModel &model);

  /// Options with the start, the end and the limit of the model's target.
  DecodingOptions defaults() const;

  /// Ids for each source: its translation, or what follows it where the model is a decoder alone,
  /// whose sources are of one length; no more than there is room for.
  Expected<std::vector<TokenIds>> decode(const std::vector<TokenIds> &sources,
                                         const DecodingOptions &chosen);

private:
  TextDecoder(Session &session, const TextModel &model) : session(&session), model(&model) {}

  Expected<std::span<const float>> step(std::span<const int32_t> tokens) override;
  Status reorder(std::span<const int32_t> parents) override;
  bool givesProbabilities() const override { return scores == "probabilities"; }

  Status encode(const std::vector<TokenIds> &sources);
  Status readPrompts(const std::vector<TokenIds> &prompts, DecodingOptions &options);

  Session *session;
  const TextModel *model;
  bool encodeTakesLengths = false, startTakesLengths = false;
  std::string scores; ///< "logits" or "probabilities"
  NamedTensors memory, nothing, results;
};

} // namespace heddle
