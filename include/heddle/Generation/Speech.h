//===- Speech.h - What a speech model is asked, and what it says -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a transcription that need no session, as Transformers defines them for
// Whisper: the tokens of a prompt, windows of an audio, segments between timestamps, and when
// a window is decoded again.
#pragma once

#include "heddle/Generation/Decoding.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace heddle {

class JsonField;

/// When a window is decoded again with another temperature. The defaults are those that
/// Transformers' documentation gives for Whisper; a folder may have thresholds of its own.
struct SpeechChecks {
  std::vector<double> temperatures{0, 0.2, 0.4, 0.6, 0.8, 1}; ///< tried in order; one at least
  double mostCompression = 1.35;   ///< above it a text repeats itself, see compressionRatio
  double leastLogProbability = -1; ///< of a token in the mean, the end among them
  double silence = 0.6;            ///< above this probability, an unlikely text is none
  size_t vocabulary = 51865;       ///< tokens of the model
};

/// A key of the settings of speech, see SpeechTokens::fromJson. No file of a folder has it.
inline constexpr const char *tokenNamesKey = "tokenizer tokens";

/// The special tokens of a speech model, and how it is meant to be asked, from its
/// generation_config.json. What is followed beside these is in GenerationDefaults.
class SpeechTokens {
public:
  /// Errors begin with `fileName`; a setting that would change what is said, and that nothing here
  /// follows, is one. Files from before Whisper told times lack no_timestamps_token_id, lang_to_id
  /// and task_to_id: `tokenNamesKey` then holds an object of the tokenizer's tokens by their names.
  static Expected<SpeechTokens> fromJson(std::string_view json, const std::string &fileName);
  int32_t startToken() const { return start; }

  /// The token of a language by its code or English name; error with the languages of the model.
  /// None for a model of English alone.
  Expected<std::optional<int32_t>> language(std::string_view name) const;
  /// The likeliest language by the scores behind the start token; none for a model of English alone.
  std::optional<int32_t> likeliestLanguage(std::span<const float> scores) const;
  /// Code of a language's token; "en" for none.
  std::string codeOf(std::optional<int32_t> language) const;

  /// What stands before a text: start, language, task, and whether there are no timestamps; of an old
  /// file what it forces, or what is asked for. Error for a translation by a model that has no tasks.
  Expected<TokenIds> prompt(std::optional<int32_t> language, bool translates,
                            bool timestamps) const;
  /// A prompt behind the end of what was said before, of at most half of `positions` in all.
  TokenIds behind(std::span<const int32_t> before, const TokenIds &prompt, int64_t positions) const;

  /// The language and the task that the folder asks for where nobody else does; none: the likeliest
  /// language, and not a translation.
  std::optional<int32_t> usualLanguage() const { return ownLanguage; }
  bool usuallyTranslates() const { return translatesItself; }
  /// Tokens that may stand behind `prompt` others; `positions` is what the model has room for.
  int64_t mostBehind(int64_t prompt, int64_t positions) const;
  /// Tokens that must stand there before an end.
  int64_t leastBehind(int64_t prompt) const;

  /// Whether the folder asks for times, and whether a window is told what was said before it.
  bool usuallyTimes() const { return timesItself; }
  bool usuallyTells() const { return tellsBefore; }
  const SpeechChecks &checks() const { return ownChecks; }

  /// Error, with the key, for a folder that does not say which token tells that there
  /// are no times.
  Status checkTimes() const;

  const TimestampRules &timestamps() const { return rules; }
  /// The token whose probability behind the start is that of silence.
  int32_t noSpeech() const { return rules.none - 1; }

private:
  static Status checkFollowed(const JsonField &keys);
  Status setTimes(const JsonField &keys);
  Status setLanguages(const JsonField &keys);
  Status setForced(const JsonField &keys);
  Status setNamed(const JsonField &keys);
  Status setLengthsAndChecks(const JsonField &keys);

  int32_t start = 0;
  std::optional<int32_t> previous; ///< before what was said before
  std::map<std::string, int32_t> languages, tasks;
  std::optional<int32_t> ownLanguage;
  bool detects = true;   ///< the file names languages, of which one may be the likeliest
  bool tellsTask = true; ///< it names tasks, of which one is always told
  bool knowsTimes = true, forcesNoTimes = false;
  bool translatesItself = false, timesItself = false, tellsBefore = true;
  std::optional<int32_t> mostNew, mostInAll; ///< tokens, without and with the prompt
  std::optional<int32_t> leastNew, leastInAll;
  SpeechChecks ownChecks;
  TimestampRules rules;
};

/// A part of a text, with its tokens and its seconds.
struct SpeechSegment {
  double start = 0, end = 0;
  TokenIds tokens; ///< timestamps among them
};

/// What timestamps count: 0.02 seconds, two frames of 0.01, unless the model says otherwise.
struct SpeechTiming {
  double secondsATimestamp = 0.02;
  int64_t framesATimestamp = 2;
};

/// The segments of a window, and how many frames later the next window begins.
struct SpeechCut {
  std::vector<SpeechSegment> segments;
  int64_t frames = 0;
};

/// Cuts what was said of a window of `frames` frames, which begins at second `start`, between pairs
/// of timestamps. What stands behind the last pair is said again by the next window, unless a
/// single timestamp says that nothing follows.
SpeechCut cutSegments(std::span<const int32_t> said, int32_t firstTimestamp, int64_t frames,
                      double start, const SpeechTiming &timing = {});

/// All that segments say, for SpeechTokens::behind: of two timestamps at an end, one.
TokenIds allTokens(std::span<const SpeechSegment> segments, int32_t firstTimestamp);

/// The windows of an audio, each known when the one before has been cut.
class SpeechWindows {
public:
  SpeechWindows(int64_t frames, int64_t most) : all(frames), most(most) {}
  bool isDone() const { return first >= all; }
  int64_t begin() const { return first; }
  /// Frames of the audio in this window.
  int64_t frames() const { return std::min(most, all - first); }
  /// Goes on `count` frames later; a whole window where that would be none.
  void goOn(int64_t count) { first += count > 0 ? count : frames(); }

private:
  int64_t all, most, first = 0;
};

/// Bytes of tokens over bytes of these when zlib has compressed them.
double compressionRatio(std::span<const int32_t> tokens, size_t vocabulary);

/// What a window's decoding gave.
struct SpeechAttempt {
  TokenIds tokens;
  double meanLogProbability = 0;
  double noSpeech = 0;                       ///< probability of silence
  std::optional<int32_t> end = std::nullopt; ///< that was said behind the tokens
};

/// What is taken of a window.
struct SpeechChoice {
  SpeechAttempt attempt;
  double temperature = 0;
  bool isSilent = false; ///< nothing was said
  /// Whether the next window may be told what this one said: random texts mislead it.
  bool informs() const { return temperature < 0.5; }
};

/// Decodes a window with one temperature after the other until the text passes the checks, and takes
/// the last otherwise.
Expected<SpeechChoice>
chooseAttempt(const SpeechChecks &checks,
              const std::function<Expected<SpeechAttempt>(double temperature)> &decode);

} // namespace heddle
