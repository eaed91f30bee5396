//===- TranscribeCommand.cpp - The command transcribe -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextBatches.h"

#include "heddle/Support/OutputFile.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <chrono>
#include <ostream>

using namespace heddle;

namespace {

/// The format of a file by its suffix; empty if it is unknown.
std::string formatOfName(const std::string &file) {
  return file.ends_with(".srt")    ? "srt"
         : file.ends_with(".json") ? "json"
         : file.ends_with(".txt")  ? "text"
                                   : "";
}

std::string chosenFormat(const TranscribeCommand &command) {
  return command.format           ? *command.format
         : command.output.empty() ? "text"
                                  : formatOfName(command.output);
}

std::string textOf(const Transcript &transcript, const TranscribeCommand &command) {
  const std::string format = chosenFormat(command);
  return format == "srt"              ? srtText(transcript)
         : format == "json"           ? jsonText(transcript)
         : command.options.timestamps ? timedText(transcript)
                                      : lineText(transcript);
}

/// A line of a terminal with the seconds done, which is erased at the end.
class SecondsDone {
public:
  SecondsDone(bool on, std::ostream &notes) : on(on), notes(notes) {}
  ~SecondsDone() { clear(); }
  void show(double done, double all) {
    if (!on || std::chrono::steady_clock::now() - start < std::chrono::seconds(1))
      return;
    notes << formatted("\r\033[K%.0f of %.0f s", done, all) << std::flush;
    shown = true;
  }
  void clear() {
    if (std::exchange(shown, false))
      notes << "\r\033[K" << std::flush;
  }

private:
  bool on, shown = false;
  std::ostream &notes;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace

Status heddle::checkTranscribe(const TranscribeCommand &command) {
  HEDDLE_TRY(checkTranscription(command.options));
  if (command.format && *command.format != "text" && *command.format != "srt" &&
      *command.format != "json")
    return usageError("--format: expected text, srt or json, found " + quotedText(*command.format));
  if (command.output.empty()) {
    if (chosenFormat(command) == "srt" && command.audio.size() > 1)
      return usageError("--format: expected one audio with srt, whose numbers begin at 1, found " +
                        std::to_string(command.audio.size()));
    return {};
  }
  if (formatOfName(command.output).empty())
    return usageError("--output: expected FILE.txt, FILE.srt or FILE.json, found " +
                      quotedText(command.output));
  if (command.format && *command.format != formatOfName(command.output))
    return usageError("--format: expected " + formatOfName(command.output) +
                      " with --output=" + command.output + ", found " + *command.format);
  if (command.audio.size() > 1)
    return usageError("--output: expected one audio with it, found " +
                      std::to_string(command.audio.size()));
  HEDDLE_TRY(checkNotAnInput(command.output, command.audio));
  return checkOutput(command.output);
}

Status heddle::transcribeCommand(Session &session, const TranscribeCommand &command,
                                 std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkTranscribe(command));
  const TextModel model = HEDDLE_TRY(textModelOf(session));
  auto transcriber = Transcriber::create(session, model);
  if (!transcriber)
    return ofModel(session, transcriber.takeError());
  for (const std::string &audio : command.audio) {
    SecondsDone progress(command.progress, notes);
    TranscribeOptions options = command.options;
    options.timestamps |= chosenFormat(command) != "text";
    options.onProgress = [&](double done, double all) { progress.show(done, all); };
    const Transcript transcript = HEDDLE_TRY(transcriber->transcribeFile(audio, options));
    progress.clear();
    const std::string text = textOf(transcript, command);
    if (!command.output.empty())
      return writeOutput(command.output, text);
    out << text << std::flush;
    HEDDLE_TRY(written(out));
  }
  return {};
}
