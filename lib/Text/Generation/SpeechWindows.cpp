//===- SpeechWindows.cpp - Segments of windows, and their checks --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Generation/Speech.h"

#include "heddle/Support/Try.h"

#include <cmath>
#include <zlib.h>

using namespace heddle;

namespace {

/// A window as one segment, up to its last timestamp if it has one.
SpeechCut uncut(std::span<const int32_t> said, int32_t first, int64_t frames, double start,
                const SpeechTiming &timing) {
  if (said.empty())
    return {{}, frames};
  int64_t last = frames / timing.framesATimestamp;
  auto time = std::find_if(said.rbegin(), said.rend(), [&](int32_t t) { return t >= first; });
  if (time != said.rend() && *time != first)
    last = *time - first;
  const double end = start + static_cast<double>(last) * timing.secondsATimestamp;
  return {{{start, end, TokenIds(said.begin(), said.end())}}, frames};
}

} // namespace

SpeechCut heddle::cutSegments(std::span<const int32_t> said, int32_t first, int64_t frames,
                              double start, const SpeechTiming &timing) {
  auto isTime = [&](size_t i) { return said[i] >= first; };
  std::vector<size_t> ends; // of the segments
  for (size_t i = 1; i < said.size(); ++i)
    if (isTime(i - 1) && isTime(i))
      ends.push_back(i);
  if (ends.empty())
    return uncut(said, first, frames, start, timing);
  const size_t count = said.size();
  const bool nothingFollows = isTime(count - 1) && !isTime(count - 2);
  if (nothingFollows)
    ends.push_back(count);
  else
    ends.back() += 1; // the last segment keeps both timestamps, which tell the two cases apart

  auto secondsOf = [&](size_t i) {
    return start + std::max(0, said[i] - first) * timing.secondsATimestamp;
  };
  SpeechCut cut{{}, frames};
  size_t begin = 0;
  for (size_t end : ends) {
    const bool isDouble = end == ends.back() && !nothingFollows;
    const size_t last = end - begin < 2 || !isDouble ? end - 1 : end - 2;
    cut.segments.push_back({secondsOf(begin), secondsOf(last),
                            TokenIds(said.begin() + static_cast<int64_t>(begin),
                                     said.begin() + static_cast<int64_t>(end))});
    begin = end;
  }
  if (!nothingFollows)
    cut.frames = (said[begin - 2] - first) * timing.framesATimestamp;
  return cut;
}

TokenIds heddle::allTokens(std::span<const SpeechSegment> segments, int32_t first) {
  TokenIds tokens;
  for (const SpeechSegment &segment : segments) {
    const TokenIds &said = segment.tokens;
    const bool isDouble = said.size() > 2 && said[said.size() - 2] >= first;
    tokens.insert(tokens.end(), said.begin(), said.end() - (isDouble ? 1 : 0));
  }
  return tokens;
}

double heddle::compressionRatio(std::span<const int32_t> tokens, size_t vocabulary) {
  const int width = static_cast<int>(std::log2(static_cast<double>(vocabulary)) / 8) + 1;
  std::vector<unsigned char> bytes;
  for (int32_t token : tokens)
    for (int i = 0; i < width; ++i)
      bytes.push_back(static_cast<unsigned char>(token >> (8 * i)));
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<unsigned char> compressed(size);
  compress(compressed.data(), &size, bytes.data(), static_cast<uLong>(bytes.size()));
  return static_cast<double>(bytes.size()) / static_cast<double>(size);
}

Expected<SpeechChoice>
heddle::chooseAttempt(const SpeechChecks &checks,
                      const std::function<Expected<SpeechAttempt>(double temperature)> &decode) {
  SpeechChoice choice;
  for (double temperature : checks.temperatures) {
    choice.temperature = temperature;
    choice.attempt = HEDDLE_TRY(decode(temperature));
    const bool isUnlikely = choice.attempt.meanLogProbability < checks.leastLogProbability;
    choice.isSilent = isUnlikely && choice.attempt.noSpeech > checks.silence;
    TokenIds said = choice.attempt.tokens;
    if (choice.attempt.end)
      said.push_back(*choice.attempt.end);
    const bool repeats = compressionRatio(said, checks.vocabulary) > checks.mostCompression;
    if (choice.isSilent || (!isUnlikely && !repeats))
      break;
  }
  return choice;
}
