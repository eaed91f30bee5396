//===- Speech.h - Prompts and segments of speech models ---------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a transcription that need no session, as Transformers defines
// them for Whisper. They are the tokens of a prompt, the windows of an audio,
// the segments between timestamps, and the checks after which a window is
// decoded again.
#pragma once

#include "heddle/Generation/Decoding.h"
#include "heddle/Support/TextFacts.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace heddle {

/// Checks after which a window is decoded again at another temperature. The defaults are from
/// Transformers' documentation of Whisper; a folder may have thresholds of its own.
struct SpeechChecks {
  std::vector<double> temperatures{0, 0.2, 0.4, 0.6, 0.8, 1}; ///< tried in order; at least one
  double mostCompression = 1.35;   ///< above this, a text repeats itself, see compressionRatio
  double leastLogProbability = -1; ///< minimum of the mean over tokens, ends included
  double silence = 0.6;            ///< above this probability, an unlikely text is silence
  size_t vocabulary = 51865;       ///< tokens in the model's vocabulary
};

/// Special tokens and settings of a speech model. Its other settings are SearchSettings.
class SpeechTokens {
public:
  explicit SpeechTokens(SpeechFacts facts);
  int32_t startToken() const { return facts.start; }

  /// The token of a language by its code or its English name; none in a model of English only. The
  /// error lists the model's languages.
  Expected<std::optional<int32_t>> language(std::string_view name) const;
  /// The likeliest language by the scores after the start token; none in a model of English only.
  std::optional<int32_t> likeliestLanguage(std::span<const float> scores) const;
  /// The code of a language's token; "en" for none.
  std::string codeOf(std::optional<int32_t> language) const;

  /// The prompt of a text: start, language, task, and the token for "no timestamps". An old folder
  /// may force these; otherwise they are the ones asked for. Returns an error for a translation by
  /// a model without tasks.
  Expected<TokenIds> prompt(std::optional<int32_t> language, bool translates,
                            bool timestamps) const;
  /// Puts the end of the earlier text `before` in front of a prompt. It takes at most half of
  /// `positions`.
  TokenIds behind(std::span<const int32_t> before, const TokenIds &prompt, int64_t positions) const;

  /// The folder's default language and task; none: the likeliest language, and no translation.
  std::optional<int32_t> usualLanguage() const { return facts.language; }
  bool usuallyTranslates() const { return facts.translates; }
  /// Maximum tokens after a prompt of `prompt` tokens; `positions` is the size of the caches.
  int64_t mostBehind(int64_t prompt, int64_t positions) const;
  /// Minimum tokens after this prompt before an end.
  int64_t leastBehind(int64_t prompt) const;

  /// The folder's defaults: whether to write timestamps, and whether a window sees the earlier
  /// text.
  bool usuallyTimes() const { return facts.timestamps; }
  bool usuallyUsesEarlierText() const { return facts.usesEarlierText; }
  SpeechChecks checks() const;

  /// Returns an error, with the key, if the folder does not name the token for "no timestamps".
  Status checkTimes() const;

  const TimestampRules &timestamps() const { return rules; }
  /// The token whose probability after the start token is the probability of silence.
  int32_t noSpeech() const { return rules.none - 1; }

private:
  SpeechFacts facts;
  TimestampRules rules;
};

/// A part of a text with its tokens and its times in seconds.
struct SpeechSegment {
  double start = 0, end = 0;
  TokenIds tokens; ///< timestamps included
};

/// Units of timestamps. By default a timestamp is 0.02 seconds, or two frames of 0.01 seconds.
struct SpeechTiming {
  double secondsATimestamp = 0.02;
  int64_t framesATimestamp = 2;
};

/// The segments of a window, and the number of frames from it to the next window.
struct SpeechCut {
  std::vector<SpeechSegment> segments;
  int64_t frames = 0;
};

/// Cuts the tokens of a window between pairs of timestamps. The window has `frames` frames and
/// begins at second `start`. Tokens after the last pair are left to the next window, unless a
/// single timestamp at the end says that nothing follows.
SpeechCut cutSegments(std::span<const int32_t> said, int32_t firstTimestamp, int64_t frames,
                      double start, const SpeechTiming &timing = {});

/// The tokens of all segments, for SpeechTokens::behind. If a segment ends with two timestamps, one
/// is dropped.
TokenIds allTokens(std::span<const SpeechSegment> segments, int32_t firstTimestamp);

/// The windows of an audio. A window is known once the previous one has been cut.
class SpeechWindows {
public:
  SpeechWindows(int64_t frames, int64_t most) : all(frames), most(most) {}
  bool isDone() const { return first >= all; }
  int64_t begin() const { return first; }
  /// Frames of the audio in this window.
  int64_t frames() const { return std::min(most, all - first); }
  /// Advances by `count` frames, or by a whole window if `count` is 0.
  void advance(int64_t count) { first += count > 0 ? count : frames(); }

private:
  int64_t all, most, first = 0;
};

/// Size of the tokens in bytes, divided by their size after compression with zlib.
double compressionRatio(std::span<const int32_t> tokens, size_t vocabulary);

/// The result of decoding a window once.
struct SpeechAttempt {
  TokenIds tokens;
  double meanLogProbability = 0;
  double noSpeech = 0;                       ///< probability of silence
  std::optional<int32_t> end = std::nullopt; ///< the end token, if one was chosen
};

/// The accepted result of a window.
struct SpeechChoice {
  SpeechAttempt attempt;
  double temperature = 0;
  bool isSilent = false; ///< the window has no speech
  /// True if the next window may see this text. Text drawn at a high temperature misleads it.
  bool informs() const { return temperature < 0.5; }
};

/// Decodes a window at one temperature after the other until the text passes the checks. If none
/// does, takes the last text.
Expected<SpeechChoice>
chooseAttempt(const SpeechChecks &checks,
              const std::function<Expected<SpeechAttempt>(double temperature)> &decode);

} // namespace heddle
