//===- Transcript.h - Texts with their seconds -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace heddle {

/// What was said of an audio, and when.
struct Transcript {
  struct Segment {
    double start = 0, end = 0; ///< seconds
    std::string text;
  };
  std::string language; ///< its code
  double seconds = 0;   ///< of the audio
  std::vector<Segment> segments;
};

/// All that was said, on one line.
std::string lineText(const Transcript &transcript);
/// A line for each segment that says something: "[00:00:01.000 --> 00:00:02.500] text".
std::string timedText(const Transcript &transcript);
/// Subtitles: numbered, in lines of their own, without segments that say nothing.
std::string srtText(const Transcript &transcript);
/// An object with `language`, `seconds`, `text` and `segments` (`start`, `end`, `text`), and a
/// newline. Bytes that are no UTF-8 become U+FFFD.
std::string jsonText(const Transcript &transcript);

} // namespace heddle
