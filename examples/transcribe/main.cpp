// Prints the transcript of an audio file with timestamps.
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: transcribe MODEL.heddle AUDIO.wav [LANGUAGE]
#include <heddle/Generation/Transcriber.h>

#include <iostream>

static int fail(const heddle::Error &error) {
  std::cerr << "error: " << error.message << '\n';
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4)
    return fail({.message = "expected MODEL.heddle AUDIO.wav [LANGUAGE]"});
  auto session = heddle::Session::open(argv[1]);
  if (!session)
    return fail(session.error());
  auto model = heddle::textModelOf(*session);
  if (!model)
    return fail(model.error());
  auto transcriber = heddle::Transcriber::create(*session, *model);
  if (!transcriber)
    return fail(transcriber.error());
  heddle::TranscribeOptions options{.timestamps = true};
  if (argc == 4)
    options.language = argv[3];
  auto transcript = transcriber->transcribeFile(argv[2], options);
  if (!transcript)
    return fail(transcript.error());
  std::cout << heddle::timedText(*transcript);
}
