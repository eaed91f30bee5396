//===- TextDecoder.h - Text generation -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generates text with a session of an encoder-decoder or decoder-only model, by
// the searches of Decoding.h. An encoder-decoder encodes sources as rows become
// free, packed if it can, and projects the memory's keys and values once. Its
// prompt is the start token. A decoder-only model reads the sources as prompts
// of any lengths, in chunks, so that memory does not grow with them. A speech
// model encodes frames and projects their memory once. It then reads any number
// of prompts and generates the text of each.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Generation/SourceRuns.h"
#include "heddle/Generation/TextModel.h"
#include "heddle/Runtime/Session.h"

namespace heddle {

/// Decodes batches of texts with a session. Each call of decode starts from empty caches. One
/// thread may use a decoder and its session at a time.
class TextDecoder : private StepModel {
public:
  /// Returns an error if the model lacks functions of decoding, or has inputs that text does not
  /// provide. The session and the model must outlive the decoder.
  static Expected<TextDecoder> create(Session &session, const TextModel &model);

  /// The model's own options, with the ends and the limit of its target side.
  DecodingOptions defaults() const;

  /// Translates each source or, with a decoder-only model, continues it. The caches limit the
  /// length of a result. Returns an error for a prompt that is longer than the caches, and for a
  /// prompt without tokens if the model names no token to begin with.
  Expected<std::vector<TokenIds>> decode(const std::vector<TokenIds> &texts,
                                         const DecodingOptions &chosen);

  /// Continues one prompt with a decoder-only model, as `decode` does. Tokens of the prompt that
  /// the caches hold from the last call of generate are not read again.
  Expected<TokenIds> generate(const TokenIds &prompt, const DecodingOptions &chosen);

  /// Encodes frames of sound, [1, channels, frames] f32, for the following calls of
  /// `generateFromAudio` and `nextTokenScores`.
  Status encodeAudio(const Tensor &frames);
  /// Generates the tokens that follow `prompt` for the sound given to `encodeAudio`. The prompt is
  /// not part of the result. The caches limit its length.
  Expected<TokenIds> generateFromAudio(const TokenIds &prompt, const DecodingOptions &chosen);
  /// Scores of the token after a prompt, [vocabulary], as logits or, if `givesProbabilities`, as
  /// probabilities. Valid until the next call.
  Expected<std::span<const float>> nextTokenScores(const TokenIds &prompt);
  bool givesProbabilities() const override { return scores == "probabilities"; }

private:
  TextDecoder(Session &session, const TextModel &model) : session(&session), model(&model) {}

  Expected<std::span<const float>> admit(std::span<const int32_t> parents,
                                         std::span<const size_t> sequences) override;
  Expected<std::span<const float>> step(std::span<const int32_t> tokens) override;
  Status reorder(std::span<const int32_t> parents) override;

  Status encode(std::span<const int32_t> parents, std::span<const size_t> sequences);
  Status takePrompts(std::vector<TokenIds> taken, DecodingOptions &options);
  std::vector<TokenIds> afterStart(const std::vector<TokenIds> &sources) const;
  Status takeAudioPrompt(const TokenIds &prompt, DecodingOptions &options);
  Expected<std::vector<TokenIds>> decodePrompts(DecodingOptions options);
  Status keepHeld();
  size_t commonWithHeld() const;
  Status beginAudio();
  Expected<std::span<const float>> readPrompts(std::span<const int32_t> parents,
                                               std::span<const size_t> sequences);
  Expected<std::span<const float>> scoresOf(size_t rows) const;

  Session *session;
  const TextModel *model;
  std::optional<SourceRuns> encoder; ///< none in a decoder-only model
  bool startTakesLengths = false;
  std::string scores; ///< "logits" or "probabilities"
  NamedTensors memory, nothing, results;
  const std::vector<TokenIds> *sources = nullptr; ///< of this call, for an encoder
  std::vector<TokenIds> prompts; ///< with the start token; after an encoder, only that
  bool hasBatch = false;         ///< the caches hold rows of this call
  bool keepsCaches = false;      ///< this call is generate
  TokenIds held;        ///< tokens in the caches, of generate's row or of all rows after a sound
  size_t audioRows = 0; ///< rows in the caches after a sound; 0: none yet
  size_t read = 0;      ///< number of the prompts' tokens in the caches
  std::vector<float> firstScores;
  std::function<Status(size_t tokens)> onPrompt; ///< of this call, see DecodingOptions
};

} // namespace heddle
