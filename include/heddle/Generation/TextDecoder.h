//===- TextDecoder.h - Text generation -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the searches of Decoding.h on a session of an encoder-decoder or decoder-only
// model. An encoder-decoder encodes sources as their rows become free, packed where it
// can, and projects the memory's keys and values once; its prompt is the start alone. A decoder-only model reads
// the sources as prompts of any lengths, in chunks, so that memory does not grow with them.
// A model of sound hears frames, whose memory is projected once too, and then reads a prompt
// and writes what it heard, as often as it is asked.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/SourceRuns.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

/// Decodes batches of texts with a session. Each call of decode starts from empty caches.
class TextDecoder : private StepModel {
public:
  /// Error if the model lacks functions that decoding needs, or has inputs that text does not give.
  /// Both must outlive the decoder.
  static Expected<TextDecoder> create(Session &session, const TextModel &model);

  /// Options with the ends and the limit of the model's target side.
  DecodingOptions defaults() const;

  /// Ids of the translation of each source, or of its continuation by a decoder-only model; at most
  /// as many as the caches have room for. Error for a prompt that is longer than these, and for
  /// one without tokens where the model names none to begin with.
  Expected<std::vector<TokenIds>> decode(const std::vector<TokenIds> &texts,
                                         const DecodingOptions &chosen);

  /// The continuation of one prompt by a decoder-only model, as `decode` gives it; what the caches
  /// hold of the prompt from the last call of goOn is not read again.
  Expected<TokenIds> goOn(const TokenIds &prompt, const DecodingOptions &chosen);

  /// Encodes frames of sound, [1, channels, frames], which `say` and `scoresBehind` have heard then.
  Status listen(const Tensor &frames);
  /// What a model says of what it heard behind a prompt, which is not part of the result; at most as
  /// many tokens as the caches have room for.
  Expected<TokenIds> say(const TokenIds &prompt, const DecodingOptions &chosen);
  /// Scores of the token behind a prompt, logits or `givesProbabilities`; valid until the next call.
  Expected<std::span<const float>> scoresBehind(const TokenIds &prompt);
  bool givesProbabilities() const override { return scores == "probabilities"; }

private:
  TextDecoder(Session &session, const TextModel &model) : session(&session), model(&model) {}

  Expected<std::span<const float>> admit(std::span<const int32_t> parents,
                                         std::span<const size_t> sequences) override;
  Expected<std::span<const float>> step(std::span<const int32_t> tokens) override;
  Status reorder(std::span<const int32_t> parents) override;

  Status encode(std::span<const int32_t> parents, std::span<const size_t> sequences);
  Status takePrompts(std::vector<TokenIds> taken, DecodingOptions &options);
  std::vector<TokenIds> behindStart(const std::vector<TokenIds> &sources) const;
  Status takeHeard(const TokenIds &prompt, DecodingOptions &options);
  Expected<std::vector<TokenIds>> decodePrompts(DecodingOptions options);
  Status keepHeld();
  size_t commonWithHeld() const;
  Status beginHeard();
  Expected<std::span<const float>> readPrompts(std::span<const int32_t> parents,
                                               std::span<const size_t> sequences);
  Expected<std::span<const float>> scoresOf(size_t rows) const;

  Session *session;
  const TextModel *model;
  std::optional<SourceRuns> encoder; ///< none in a model of one stack
  bool startTakesLengths = false;
  std::string scores; ///< "logits" or "probabilities"
  NamedTensors memory, nothing, results;
  const std::vector<TokenIds> *sources = nullptr; ///< of the decoding, for an encoder
  std::vector<TokenIds> prompts; ///< with the start, which is all of it behind an encoder
  bool hasBatch = false;         ///< caches hold rows of this decoding
  bool goesOn = false;           ///< goOn decodes
  TokenIds held;        ///< tokens that the caches hold of the one row of goOn, or that all
                        ///< rows behind what was heard begin with
  size_t heardRows = 0; ///< that the caches hold behind what was heard; 0: none yet
  size_t read = 0;      ///< of the prompts' tokens: those that the caches hold already
  std::vector<float> firstScores;
  std::function<Status(size_t tokens)> onPrompt; ///< of the decoding, see DecodingOptions
};

} // namespace heddle
