//===- Attention.h - What a translation looked at --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attention weights of an encoder-decoder for a text and its translation: the
// results that `"return-weights"` gives `encode`, and `decode` over all tokens of
// the translation at once. A row of `decode` is bit for bit what the step computed
// that wrote the token, so these are the weights of the decoding itself. And their
// pictures: a map a layer and head, queries down, keys to the right.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

struct SourceTensors;

/// One attention: what part of each key every query took.
struct AttentionMap {
  std::string name;              ///< of the result: "decoder.0.cross-weights"
  int64_t heads = 0;             ///< 0: the average over all heads
  int64_t queries = 0, keys = 0; ///< of every head
  std::vector<float> weights;    ///< [heads, queries, keys]
  std::span<const float> row(int64_t head, int64_t query) const {
    return std::span(weights).subspan(static_cast<size_t>((head * queries + query) * keys),
                                      static_cast<size_t>(keys));
  }
};

/// One text. At step t the decoder was fed `fed[t]` and wrote `written[t]`.
struct AttentionRecord {
  std::string text, translation;
  std::vector<std::string> source, fed, written; ///< tokens, special ones included
  std::vector<AttentionMap> encoder, decoder, cross;
};

class AttentionReader {
public:
  /// An error if the model gives no attention weights. Both must outlive the reader.
  static Expected<AttentionReader> create(Session &session, const TextModel &model);

  /// `answer` is what TextDecoder gave for `source` with the same limit.
  Expected<AttentionRecord> read(const TokenIds &source, const TokenIds &answer, int64_t limit);

private:
  AttentionReader(Session &session, const TextModel &model) : session(&session), model(&model) {}
  Status runEncoder(const SourceTensors &source, AttentionRecord &record);
  Status runDecoder(const SourceTensors &source, const TokenIds &fed, AttentionRecord &record);

  Session *session;
  const TextModel *model;
  NamedTensors encoded, decoded;
};

/// A drawing of all maps, one text below the other.
std::string attentionSvg(const std::vector<AttentionRecord> &records);
/// A page that shows values under the mouse and walks through the steps of the decoding.
std::string attentionHtml(const std::vector<AttentionRecord> &records);

} // namespace heddle
