//===- Transcript.cpp - Transcribed text with times -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Generation/Transcriber.h"

#include "heddle/Templates/Strings.h"

#include "heddle/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace heddle;
using Json = nlohmann::ordered_json;

namespace {

/// Hours, minutes and seconds; `point` precedes the thousandths.
std::string clock(double seconds, char point = ',') {
  const long long all = std::llround(std::max(seconds, 0.0) * 1000);
  return formatted("%02lld:%02lld:%02lld%c%03lld", all / 3600000, all / 60000 % 60, all / 1000 % 60,
                   point, all % 1000);
}

std::string trimmed(const std::string &text) {
  constexpr std::string_view blanks = " \t\r\n";
  return std::string(templates::stripEnd(templates::stripStart(text, blanks), blanks));
}

std::string onOneLine(const std::string &text) {
  std::string line = trimmed(text);
  for (char &c : line)
    c = c == '\n' || c == '\r' ? ' ' : c;
  return line;
}

/// The text of a subtitle, on one line and without the arrow of a time line. It neither ends a
/// subtitle nor looks like a time.
std::string subtitle(const std::string &text) {
  std::string line = onOneLine(text);
  for (size_t at; (at = line.find("-->")) != std::string::npos;)
    line.replace(at, 3, "->");
  return line;
}

/// Rounds to thousandths, so that no sum such as 6.4399999 is written.
double rounded(double seconds) { return std::round(seconds * 1000) / 1000; }

} // namespace

std::string heddle::lineText(const Transcript &transcript) {
  std::string text;
  for (const Transcript::Segment &segment : transcript.segments)
    text += segment.text;
  return onOneLine(text) + "\n";
}

std::string heddle::timedText(const Transcript &transcript) {
  std::string text;
  for (const Transcript::Segment &segment : transcript.segments)
    if (const std::string line = onOneLine(segment.text); !line.empty())
      text += "[" + clock(segment.start, '.') + " --> " +
              clock(std::max(segment.start, segment.end), '.') + "] " + line + "\n";
  return text;
}

std::string heddle::srtText(const Transcript &transcript) {
  std::string text;
  int number = 0;
  for (const Transcript::Segment &segment : transcript.segments) {
    const std::string line = subtitle(segment.text);
    if (line.empty())
      continue;
    text += std::to_string(++number) + "\n" + clock(segment.start) + " --> " +
            clock(std::max(segment.start, segment.end)) + "\n" + line + "\n\n";
  }
  return text;
}

std::string heddle::jsonText(const Transcript &transcript) {
  Json segments = Json::array();
  std::string whole;
  for (const Transcript::Segment &segment : transcript.segments) {
    whole += segment.text;
    segments.push_back({{"start", rounded(segment.start)},
                        {"end", rounded(segment.end)},
                        {"text", trimmed(segment.text)}});
  }
  const Json json{{"language", transcript.language},
                  {"seconds", rounded(transcript.seconds)},
                  {"text", trimmed(whole)},
                  {"segments", segments}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
