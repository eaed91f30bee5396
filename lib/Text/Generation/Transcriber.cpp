//===- Transcriber.cpp - Audio to texts ---------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Generation/Transcriber.h"

#include "RowScores.h"

#include "heddle/Audio/AudioFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <cmath>

using namespace heddle;

Status heddle::checkTranscription(const TranscribeOptions &options) {
  if (options.task && *options.task != "transcribe" && *options.task != "translate")
    return usageError("--task: expected transcribe or translate, found " +
                      quotedText(*options.task));
  if (options.temperature && !(*options.temperature >= 0 && std::isfinite(*options.temperature)))
    return usageError("--temperature: expected a number of at least 0, found " +
                      formatted("%.15g", *options.temperature));
  const int64_t beam = options.beam.value_or(1);
  if (beam < 1 || beam > maximumBeam)
    return usageError("--beam: expected 1 to " + std::to_string(maximumBeam) + ", found " +
                      std::to_string(beam));
  if (beam > 1 && options.temperature.value_or(0) > 0)
    return usageError("--beam: expected 1 with a --temperature above 0, found " +
                      std::to_string(beam));
  return {};
}

Expected<Transcriber> Transcriber::create(Session &session, const TextModel &model) {
  if (!model.source || !model.target || !model.source->sound || !model.speech)
    return inputError("expected a speech model with its folder's preprocessor_config.json and "
                      "generation_config.json, found a model without");
  if (!model.target->takesText())
    return inputError("expected a speech model with a tokenizer, found one without");
  return Transcriber(model, SpeechTokens(*model.speech),
                     HEDDLE_TRY(TextDecoder::create(session, model)));
}

/// Returns an error for a language or a task that the model lacks, before any sound is decoded.
Status Transcriber::checkKnown(const TranscribeOptions &options) const {
  HEDDLE_TRY(checkTranscription(options));
  if (options.language)
    HEDDLE_TRY(speech.language(*options.language));
  if (options.task)
    HEDDLE_TRY(speech.prompt({}, *options.task == "translate", false));
  return {};
}

Expected<Transcript> Transcriber::transcribeFile(const std::string &path,
                                                 const TranscribeOptions &options) {
  HEDDLE_TRY(checkKnown(options));
  return transcribe(HEDDLE_TRY(readAudio(path, rate())), options);
}

/// The language of the options or of the folder, else the likeliest in the current window.
Expected<std::optional<int32_t>> Transcriber::languageOf(const TranscribeOptions &options) {
  const SpeechTokens &tokens = speech;
  if (options.language)
    return tokens.language(*options.language);
  if (tokens.usualLanguage())
    return tokens.usualLanguage();
  return tokens.likeliestLanguage(HEDDLE_TRY(decoder.nextTokenScores({tokens.startToken()})));
}

/// Probability of silence, from the scores after the start token. `before` is the number of tokens
/// before the start token in the prompt.
Expected<double> Transcriber::probabilityOfSilence(Recording &recording, const TokenIds &prompt,
                                                   size_t before) {
  const TokenIds start(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(before) + 1);
  const std::span<const float> scores = HEDDLE_TRY(decoder.nextTokenScores(start));
  recording.vocabulary = scores.size();
  const int32_t silence = speech.noSpeech();
  if (silence < 0 || static_cast<size_t>(silence) >= scores.size())
    return 0.0;
  return std::exp(logProbability(scores, decoder.givesProbabilities(), silence));
}

/// Options that all attempts at a window share.
DecodingOptions Transcriber::decodingOf(const Recording &recording, const TokenIds &prompt) const {
  DecodingOptions decoding = decoder.defaults();
  decoding.beams = recording.options.beam.value_or(decoding.beams);
  decoding.limit = speech.mostBehind(std::ssize(prompt), model->target->limit);
  decoding.least = speech.leastBehind(std::ssize(prompt));
  decoding.seed = recording.options.seed;
  std::erase_if(decoding.refused, [&](const RefusedSetting &setting) {
    constexpr std::string_view others[] = {"sample", "temperature", "limit", "least"};
    return std::ranges::count(others, setting.option) > 0 ||
           (setting.option == "beams" && recording.options.beam);
  });
  if (recording.timestamps)
    decoding.timestamps = speech.timestamps();
  return decoding;
}

Expected<SpeechChoice> Transcriber::decode(const TokenIds &prompt, double noSpeech,
                                           const Recording &recording, uint64_t window) {
  SpeechChecks checks = speech.checks();
  checks.vocabulary = recording.vocabulary;
  if (recording.options.temperature)
    checks.temperatures = {*recording.options.temperature};
  DecodingOptions decoding = decodingOf(recording, prompt);
  const int64_t beam = decoding.beams;
  uint64_t number = window * checks.temperatures.size(); // each attempt draws its own numbers
  return chooseAttempt(checks, [&](double temperature) -> Expected<SpeechAttempt> {
    SpeechAttempt attempt{.tokens = {}, .noSpeech = noSpeech};
    double sum = 0;
    size_t count = 0;
    decoding.sample = temperature > 0;
    decoding.beams = decoding.sample ? 1 : beam;
    decoding.temperature = decoding.sample ? temperature : 1;
    decoding.numbers = {number++};
    decoding.onProbability = [&](size_t, double logProbability) {
      sum += logProbability;
      ++count;
    };
    if (decoding.limit > 0)
      attempt.tokens = HEDDLE_TRY(decoder.generateFromAudio(prompt, decoding));
    if (count > attempt.tokens.size())
      attempt.end = speech.timestamps().end;
    attempt.meanLogProbability = count > 0 ? sum / static_cast<double>(count) : 0;
    return attempt;
  });
}

/// Transcribes the next window and advances to the one after it.
Status Transcriber::transcribeWindow(Recording &recording, SpeechWindows &windows) {
  const LogMel &mel = *model->source->sound;
  const SpeechTokens &tokens = speech;
  const int32_t firstTimestamp = tokens.timestamps().first;
  const double start = static_cast<double>(windows.begin()) * mel.secondsAFrame();
  HEDDLE_TRY(decoder.encodeAudio(Tensor::f32({1, mel.bands(), mel.windowFrames()},
                                             mel.window(recording.frames, windows.begin()))));
  if (windows.begin() == 0)
    recording.language = HEDDLE_TRY(languageOf(recording.options));
  TokenIds prompt =
      HEDDLE_TRY(tokens.prompt(recording.language, recording.translates, recording.timestamps));
  const size_t own = prompt.size();
  if (recording.usesEarlierText && !recording.segments.empty())
    prompt =
        tokens.behind(allTokens(recording.segments, firstTimestamp), prompt, model->target->limit);
  const double noSpeech = HEDDLE_TRY(probabilityOfSilence(recording, prompt, prompt.size() - own));
  const SpeechChoice choice =
      HEDDLE_TRY(decode(prompt, noSpeech, recording, static_cast<uint64_t>(windows.begin())));
  recording.usesEarlierText = recording.mayUseEarlierText && choice.informs();
  if (choice.isSilent) {
    windows.advance(windows.frames());
    return {};
  }
  constexpr int64_t stride = 2; // rows of the memory are two frames
  SpeechCut cut =
      cutSegments(choice.attempt.tokens, firstTimestamp, windows.frames(), start,
                  {.secondsATimestamp = stride * mel.secondsAFrame(), .framesATimestamp = stride});
  std::ranges::move(cut.segments, std::back_inserter(recording.segments));
  windows.advance(cut.frames);
  return {};
}

Expected<Transcript> Transcriber::transcribe(std::span<const float> samples,
                                             const TranscribeOptions &options) {
  HEDDLE_TRY(checkKnown(options));
  if (samples.empty())
    return inputError("expected samples, found none");
  const LogMel &mel = *model->source->sound;
  // All frames at once: their loudness is relative to the loudest.
  Recording recording{.options = options, .frames = mel.apply(samples)};
  recording.translates = options.task ? *options.task == "translate" : speech.usuallyTranslates();
  recording.timestamps =
      options.timestamps || speech.usuallyTimes() || recording.frames.frames > mel.windowFrames();
  if (recording.timestamps)
    HEDDLE_TRY(speech.checkTimes());
  recording.mayUseEarlierText = recording.usesEarlierText =
      options.usesEarlierText.value_or(speech.usuallyUsesEarlierText());
  SpeechWindows windows(recording.frames.frames, mel.windowFrames());
  const double seconds = static_cast<double>(samples.size()) / static_cast<double>(mel.rate());
  for (double done = 0; !windows.isDone() && done < seconds;
       done = static_cast<double>(windows.begin()) * mel.secondsAFrame()) {
    if (options.onProgress)
      options.onProgress(done, seconds);
    HEDDLE_TRY(transcribeWindow(recording, windows));
  }
  return textOf(recording, seconds);
}

/// Texts of the segments, without timestamps and other special tokens. Segments after the end of
/// the audio are dropped, whatever the model writes about the silence there.
Transcript Transcriber::textOf(const Recording &recording, double seconds) const {
  const int32_t end = speech.timestamps().end;
  Transcript transcript{speech.codeOf(recording.language), seconds, {}};
  for (const SpeechSegment &segment : recording.segments) {
    if (segment.start >= seconds)
      continue;
    TokenIds words;
    std::ranges::copy_if(segment.tokens, std::back_inserter(words),
                         [&](int32_t token) { return token < end; });
    transcript.segments.push_back(
        {segment.start, std::min(segment.end, seconds), model->target->decode(words)});
  }
  return transcript;
}
