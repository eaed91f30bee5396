//===- SourceRuns.h - Source texts through an encoder ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs source texts through an encoder. A model with `encode_packed` takes
// texts one after another in a single row, so no work is spent on padding.
// Other models take rows padded to the longest text in `encode`. The results of
// a text have the bits of a run alone.
#pragma once

#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

/// Runs an encoder over batches of texts.
class SourceRuns {
public:
  using Texts = std::span<const EncodedText *const>;

  /// The session and the model must outlive the result.
  static Expected<SourceRuns> create(Session &session, const TextModel &model);

  /// True if texts can be packed into one row.
  bool packs(const EncodedText &text) const;
  bool packs(Texts texts) const;

  /// Runs the encoder over texts, which must have tokens. `results` gets the results of
  /// `encode_packed` if all texts pack, and of `encode` otherwise.
  Status run(Texts texts, NamedTensors &results);

  /// The encoder's rows for a decoder, [texts, longest, features] or sequence-first, with padding.
  /// Valid until the next call.
  Expected<const Tensor *> memory(Texts texts);
  /// Number of tokens of each text without padding, [texts] i32.
  Tensor lengths(Texts texts) const;

private:
  SourceRuns(Session &session, const TextModel &model) : session(&session), model(&model) {}
  Status runPacked(Texts texts, NamedTensors &results);
  Status runPadded(Texts texts, NamedTensors &results);
  Status unpack(Texts texts, size_t first, size_t longest);

  Session *session;
  const TextModel *model;
  bool takesLengths = false, takesTypes = false;
  NamedTensors encoded;
  Tensor rows; ///< rows of packed texts, with padding
};

} // namespace heddle
