//===- Transcript.h - Transcribed text with times --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

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

} // namespace heddle
