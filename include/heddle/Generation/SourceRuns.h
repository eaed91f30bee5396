//===- SourceRuns.h - Source texts through an encoder ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs `encode_packed` over texts one after another in a single row where the model has
// it, so that no work is spent on padding, else `encode` over rows padded to the longest.
// The rows of a text have the bits of a run alone in any company.
#pragma once

#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

class SourceRuns {
public:
  using Texts = std::span<const EncodedText *const>;

  /// Both must outlive the result.
  static Expected<SourceRuns> create(Session &session, const TextModel &model);

  /// Whether texts may stand one after another in a row.
  bool packs(const EncodedText &text) const;
  bool packs(Texts texts) const;

  /// The function's results over texts, which have tokens: those of `encode_packed` if all texts
  /// pack.
  Status run(Texts texts, NamedTensors &results);

  /// What the decoder of an encoder-decoder reads of texts: the encoder's rows, [texts, longest,
  /// features] or sequence-first, valid until the next call.
  Expected<const Tensor *> memory(Texts texts);
  /// Tokens of each text, padding apart.
  Tensor lengths(Texts texts) const;

private:
  SourceRuns(Session &session, const TextModel &model) : session(&session), model(&model) {}
  Status runPacked(Texts texts, NamedTensors &results);
  Status runPadded(Texts texts, NamedTensors &results);
  void unpack(Texts texts, size_t first, size_t longest);

  Session *session;
  const TextModel *model;
  bool takesLengths = false, takesTypes = false;
  NamedTensors encoded;
  Tensor rows; ///< of texts that were packed, with padding
};

} // namespace heddle
