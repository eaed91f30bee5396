//===- Attention.h - Attention weights of a translation --------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention weights of an encoder-decoder for a text and its translation, and
// drawings of them. A drawing has a map for each layer and head, with queries
// down and keys to the right. The weights are results of `encode`, and of
// `decode` over all tokens of the translation at once (`"return-weights"`). A
// row of `decode` equals the row of the decoding step bit for bit.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

struct SourceTensors;

/// Attention weights of one layer.
struct AttentionMap {
  std::string name;  ///< name of the result, "decoder.0.cross-weights"
  int64_t heads = 0; ///< 0: the average over all heads
  int64_t queries = 0, keys = 0;
  std::vector<float> weights; ///< [heads, queries, keys]
  std::span<const float> row(int64_t head, int64_t query) const {
    return std::span(weights).subspan(static_cast<size_t>((head * queries + query) * keys),
                                      static_cast<size_t>(keys));
  }
};

/// One text and its translation. At step t the decoder reads `fed[t]` and writes `written[t]`.
struct AttentionRecord {
  std::string text, translation;
  std::vector<std::string> source, fed, written; ///< tokens, special ones included
  std::vector<AttentionMap> encoder, decoder, cross;
};

/// Computes the attention weights of texts and their translations.
class AttentionReader {
public:
  /// Returns an error if the model does not return attention weights. The session and the model
  /// must outlive the reader.
  static Expected<AttentionReader> create(Session &session, const TextModel &model);

  /// Computes the weights of `source` and of `answer`, its translation by TextDecoder with this
  /// `limit`.
  Expected<AttentionRecord> read(const TokenIds &source, const TokenIds &answer, int64_t limit);

private:
  AttentionReader(Session &session, const TextModel &model) : session(&session), model(&model) {}
  Status runEncoder(const SourceTensors &source, AttentionRecord &record);
  Status runDecoder(const SourceTensors &source, const TokenIds &fed, AttentionRecord &record);

  Session *session;
  const TextModel *model;
  NamedTensors encoded, decoded;
};

/// Draws all maps as one SVG file, one text below the other.
std::string attentionSvg(const std::vector<AttentionRecord> &records);
/// Draws all maps as an HTML page that shows the weight under the mouse and steps through the
/// decoding.
std::string attentionHtml(const std::vector<AttentionRecord> &records);

} // namespace heddle
