//===- Greedy.h - The likeliest token, step by step ------------*- C++ -*-===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Greedy generation with an encoder-decoder. A batch of sources is encoded once,
// the memory's keys and values are projected once, and then one token a row is
// fed and the likeliest next one taken. Rows that have ended leave the batch when
// half of it has, so long sentences do not pay for short ones.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

class GreedyDecoder {
public:
  /// Checks that the model has the functions and the inputs that decoding needs. The session must
  /// outlive the decoder.
  static Expected<GreedyDecoder> create(Session &session, const TextModel &model);

  /// Ids for each source, without `target.start` and `target.end`; at most `limit` of them.
  Expected<std::vector<std::vector<int32_t>>>
  decode(const std::vector<std::vector<int32_t>> &sources, int64_t limit);

  /// False if sources of different lengths would see each other's padding: the encoder's mask does
  /// not know lengths.
  bool takesLengths() const { return encodeTakesLengths; }

private:
  GreedyDecoder(Session &session, const TextModel &model) : session(&session), model(&model) {}

  Status encode(const std::vector<std::vector<int32_t>> &sources);
  Expected<std::vector<int32_t>> step(const std::vector<int32_t> &tokens);
  Status keepRows(const std::vector<int32_t> &rows);

  Session *session;
  const TextModel *model;
  bool encodeTakesLengths = false, startTakesLengths = false;
  std::string scores; ///< "logits" or "probabilities"
  NamedTensors memory, nothing, results;
};

} // namespace heddle
