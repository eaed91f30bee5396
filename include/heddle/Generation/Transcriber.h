//===- Transcriber.h - Audio to texts --------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transcribes audio with a session of a speech model, window by window, as
// `generate` of Transformers' Whisper does with earlier text as condition. Its
// parts are in Speech.h.
#pragma once

#include "heddle/Generation/Speech.h"
#include "heddle/Generation/TextDecoder.h"

namespace heddle {

/// The text of an audio, with its times.
struct Transcript {
  struct Segment {
    double start = 0, end = 0; ///< seconds
    std::string text;
  };
  std::string language; ///< code of the language
  double seconds = 0;   ///< length of the audio
  std::vector<Segment> segments;
};

/// The whole text on one line.
std::string lineText(const Transcript &transcript);
/// A line for each segment with text: "[00:00:01.000 --> 00:00:02.500] text".
std::string timedText(const Transcript &transcript);
/// Numbered SubRip subtitles, one line of text each, without empty segments.
std::string srtText(const Transcript &transcript);
/// A JSON object with `language`, `seconds`, `text` and `segments` (`start`, `end`, `text`), and a
/// newline. Bytes that are not UTF-8 become U+FFFD.
std::string jsonText(const Transcript &transcript);

/// Options of a transcription.
struct TranscribeOptions {
  /// A code or an English name; none: the folder's, else the likeliest language of the first
  /// window.
  std::optional<std::string> language;
  std::optional<std::string> task; ///< "transcribe" or "translate" (to English); none: the folder's
  /// Asks the model for timestamps, as its folder may do too. Audio of several windows needs them
  /// in any case, since a window begins where the last whole segment ended.
  bool timestamps = false;
  /// Hypotheses kept at temperature 0, where nothing is drawn; none: the folder's, else 1.
  std::optional<int64_t> beam;
  /// The only temperature; none: 0, then 0.2 to 1 if a text fails the checks.
  std::optional<double> temperature;
  uint64_t seed = 0;
  /// Whether a window sees the text of earlier windows; none: the folder's setting, else yes.
  std::optional<bool> usesEarlierText;
  /// Called before each window with the seconds of the audio that are done, and all of them.
  std::function<void(double done, double all)> onProgress;
};

/// Returns a usage error for options out of range.
Status checkTranscription(const TranscribeOptions &options);

/// Transcribes audio with a session, which one thread may use at a time.
class Transcriber {
public:
  /// Returns an error if the model is not a speech model, or if its folder named no tokens of
  /// speech. The session and the model must outlive the transcriber.
  static Expected<Transcriber> create(Session &session, const TextModel &model);

  /// Transcribes a WAV or FLAC file.
  Expected<Transcript> transcribeFile(const std::string &path,
                                      const TranscribeOptions &options = {});
  /// Transcribes samples, `rate()` of them per second.
  Expected<Transcript> transcribe(std::span<const float> samples,
                                  const TranscribeOptions &options = {});
  int64_t rate() const { return model->source->sound->rate(); }

private:
  /// An audio, the settings of its transcription, and the segments so far.
  struct Recording {
    const TranscribeOptions &options;
    MelFrames frames;
    std::optional<int32_t> language = std::nullopt;
    bool translates = false, timestamps = false;
    /// Windows may see earlier text; the next window does.
    bool mayUseEarlierText = false, usesEarlierText = false;
    std::vector<SpeechSegment> segments = {};
    size_t vocabulary = 0; ///< tokens that the model scores
  };
  Transcriber(const TextModel &model, SpeechTokens speech, TextDecoder decoder)
      : model(&model), speech(std::move(speech)), decoder(std::move(decoder)) {}
  Status checkKnown(const TranscribeOptions &options) const;
  Status transcribeWindow(Recording &recording, SpeechWindows &windows);
  Expected<std::optional<int32_t>> languageOf(const TranscribeOptions &options);
  Expected<double> probabilityOfSilence(Recording &recording, const TokenIds &prompt,
                                        size_t before);
  DecodingOptions decodingOf(const Recording &recording, const TokenIds &prompt) const;
  Expected<SpeechChoice> decode(const TokenIds &prompt, double noSpeech, const Recording &recording,
                                uint64_t window);
  Transcript textOf(const Recording &recording, double seconds) const;

  const TextModel *model;
  SpeechTokens speech;
  TextDecoder decoder;
};

} // namespace heddle
