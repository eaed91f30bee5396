//===- Transcriber.h - Audio to texts --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a session of a speech model over an audio, window by window, as Transformers'
// `generate` of Whisper does with the text before as condition. Parts: Speech.h.
#pragma once

#include "heddle/Generation/Speech.h"
#include "heddle/Generation/TextDecoder.h"
#include "heddle/Generation/Transcript.h"

namespace heddle {

struct TranscribeOptions {
  /// A code or an English name; none: as the model's folder says, else the likeliest of the first
  /// window.
  std::optional<std::string> language;
  std::optional<std::string>
      task; ///< "transcribe", "translate" into English; none: as the folder says
  /// Asks the model for times, as its folder may do too; an audio of several windows needs them
  /// anyway: a window begins where the last whole segment ended.
  bool timestamps = false;
  /// Hypotheses kept at temperature 0, where nothing is drawn; none: as the folder says, else 1.
  std::optional<int64_t> beam;
  /// The only temperature; none: 0, and 0.2 to 1 where a text fails the checks.
  std::optional<double> temperature;
  uint64_t seed = 0;
  /// Whether a window is told what the windows before it said; none: as the folder says, else yes.
  std::optional<bool> tellsBefore;
  /// Called before each window: seconds of the audio that are done, and all.
  std::function<void(double done, double all)> onProgress;
};

/// Usage error for options out of range.
Status checkTranscription(const TranscribeOptions &options);

class Transcriber {
public:
  /// Error for a model that does not hear, or whose folder named no tokens for speech. Both must
  /// outlive the transcriber.
  static Expected<Transcriber> create(Session &session, const TextModel &model);

  /// What is said in a WAV or FLAC file.
  Expected<Transcript> file(const std::string &path, const TranscribeOptions &options = {});
  /// What is said in samples at `rate()` a second.
  Expected<Transcript> samples(std::span<const float> samples,
                               const TranscribeOptions &options = {});
  int64_t rate() const { return model->source->sound->rate(); }

private:
  /// An audio, what is asked of it, and what of it was said so far.
  struct Recording {
    const TranscribeOptions &options;
    MelFrames frames;
    std::optional<int32_t> language = std::nullopt;
    bool translates = false, timestamps = false;
    bool mayTell = false, tells = false; ///< a window, the next one, is told what was said before
    std::vector<SpeechSegment> segments = {};
    size_t vocabulary = 0; ///< tokens that the model scores
  };
  Transcriber(const TextModel &model, TextDecoder decoder)
      : model(&model), decoder(std::move(decoder)) {}
  Status checkKnown(const TranscribeOptions &options) const;
  Status hear(Recording &recording, SpeechWindows &windows);
  Expected<std::optional<int32_t>> languageOf(const TranscribeOptions &options);
  Expected<double> probabilityOfSilence(Recording &recording, const TokenIds &prompt,
                                        size_t before);
  DecodingOptions decodingOf(const Recording &recording, const TokenIds &prompt) const;
  Expected<SpeechChoice> decode(const TokenIds &prompt, double noSpeech, const Recording &recording,
                                uint64_t window);
  Transcript textOf(const Recording &recording, double seconds) const;

  const TextModel *model;
  TextDecoder decoder;
};

} // namespace heddle
