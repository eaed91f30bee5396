//===- AudioFile.cpp - WAV and FLAC files -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading of audio files with libsndfile. It reads a truncated WAV file as a shorter one, and a
// damaged frame of FLAC as silence, so the header is compared with the data.
#include "heddle/Audio/AudioFile.h"

#include "Resampler.h"

#include "heddle/Support/SystemError.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sndfile.h>

using namespace heddle;

namespace {

constexpr int64_t leastRate = 4000, mostRate = 96000;
constexpr int64_t mostHours = 24;
/// Data size that streaming WAV writers use when the length is unknown.
constexpr uint64_t unknownSize = 0xffffffff;
/// Maximum number of chunks before the samples of a WAV file.
constexpr int mostChunks = 1000;

struct Close {
  void operator()(std::FILE *file) const { std::fclose(file); }
  void operator()(SNDFILE *file) const { sf_close(file); }
};
using File = std::unique_ptr<std::FILE, Close>;
using SoundFile = std::unique_ptr<SNDFILE, Close>;

Error wrong(const std::string &path, const std::string &expected, const std::string &found) {
  return inputError(path + ": expected " + expected + ", found " + found);
}

//===- Headers of WAV files ----------------------------------------------===//

uint64_t numberOf(const unsigned char *bytes, int count) {
  uint64_t number = 0;
  while (count-- > 0)
    number = number << 8 | bytes[count];
  return number;
}

/// Checks the chunks of a WAV file up to its samples, whose number must match the header.
Status checkChunks(const std::string &path, std::FILE *file, bool isLong) {
  std::fseek(file, 0, SEEK_END);
  const auto end = static_cast<uint64_t>(std::ftell(file));
  uint64_t longSize = unknownSize; // from a chunk ds64
  uint64_t at = 12;
  for (int chunk = 0; chunk < mostChunks; ++chunk) {
    unsigned char head[24] = {};
    size_t count = 0;
    if (at < end && std::fseek(file, static_cast<long>(at), SEEK_SET) == 0)
      count = std::fread(head, 1, sizeof head, file);
    if (count < 8)
      break;
    const uint64_t size = numberOf(head + 4, 4);
    if (isLong && std::memcmp(head, "ds64", 4) == 0 && count == sizeof head)
      longSize = numberOf(head + 16, 8);
    if (std::memcmp(head, "data", 4) != 0) {
      at += 8 + size + size % 2;
      continue;
    }
    const uint64_t promised = size == unknownSize && isLong ? longSize : size;
    if (promised != unknownSize && promised > end - at - 8)
      return wrong(path, std::to_string(promised) + " bytes of samples as the file says",
                   std::to_string(end - at - 8));
    return promised ? Status() : wrong(path, "samples", "none");
  }
  return wrong(path, "samples in a WAV file", "none");
}

/// Identifies the file by its first bytes, and checks what libsndfile does not.
Status checkKind(const std::string &path) {
  HEDDLE_TRY(checkRegularFile(path));
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return systemError(path, "a WAV or FLAC file");
  char start[12] = {};
  const size_t count = std::fread(start, 1, sizeof start, file.get());
  if (count == 0)
    return wrong(path, "a WAV or FLAC file", "an empty file");
  if (count >= 4 && std::memcmp(start, "fLaC", 4) == 0)
    return {};
  const bool isLong = std::memcmp(start, "RF64", 4) == 0;
  if (count == 12 && (isLong || std::memcmp(start, "RIFF", 4) == 0) &&
      std::memcmp(start + 8, "WAVE", 4) == 0)
    return checkChunks(path, file.get(), isLong);
  return wrong(path, "a WAV or FLAC file", "another kind of file");
}

//===- Samples -----------------------------------------------------------===//

/// libsndfile's message, as the end of an error.
std::string saidBy(SNDFILE *file) {
  std::string text = printable(sf_strerror(file));
  text.erase(text.find_last_not_of(". ") + 1);
  return text;
}

/// Whether libsndfile logged errors without failing, such as damaged FLAC frames.
bool notedErrors(SNDFILE *file) {
  std::string log(1 << 14, '\0');
  sf_command(file, SFC_GET_LOG_INFO, log.data(), static_cast<int>(log.size()));
  return log.find("ERROR :") != std::string::npos;
}

Status checkFormat(const std::string &path, const SF_INFO &info) {
  if (info.channels < 1 || info.channels > 2)
    return wrong(path, "one channel or two", std::to_string(info.channels) + ": mix them first");
  if (info.samplerate < leastRate || info.samplerate > mostRate)
    return wrong(
        path, std::to_string(leastRate) + " to " + std::to_string(mostRate) + " samples a second",
        std::to_string(info.samplerate));
  return {};
}

/// Averages two channels in place.
std::span<const float> mix(std::vector<float> &block, size_t frames, int channels) {
  if (channels == 2)
    for (size_t i = 0; i < frames; ++i)
      block[i] = 0.5f * block[2 * i] + 0.5f * block[2 * i + 1];
  return std::span(block).first(frames);
}

Status checkFinite(const std::string &path, std::span<const float> block, const SF_INFO &info,
                   int64_t before) {
  auto found = std::ranges::find_if(block, [](float x) { return !std::isfinite(x); });
  if (found == block.end())
    return {};
  const auto frame = static_cast<double>(before + (found - block.begin()) / info.channels);
  return wrong(path, "samples that are finite numbers",
               formatted("%s at second %.3f", std::isnan(*found) ? "NaN" : "an infinity",
                         frame / info.samplerate));
}

Expected<std::vector<float>> readSamples(const std::string &path, SNDFILE *file,
                                         const SF_INFO &info, int64_t rate) {
  constexpr sf_count_t blockFrames = 1 << 13;
  Resampler resampler = HEDDLE_TRY(Resampler::create(info.samplerate, rate));
  std::vector<float> block(static_cast<size_t>(blockFrames * info.channels)), samples;
  int64_t read = 0;
  for (sf_count_t count = blockFrames; count == blockFrames;) {
    count = sf_readf_float(file, block.data(), blockFrames);
    const auto frames = static_cast<size_t>(std::max<sf_count_t>(count, 0));
    const auto values = std::span(block).first(frames * static_cast<size_t>(info.channels));
    HEDDLE_TRY(checkFinite(path, values, info, read));
    read += static_cast<int64_t>(frames);
    if (read > mostHours * 3600 * info.samplerate)
      return wrong(path, "at most " + std::to_string(mostHours) + " hours", "more");
    HEDDLE_TRY(resampler.add(mix(block, frames, info.channels), count != blockFrames, samples));
  }
  if (sf_error(file) != SF_ERR_NO_ERROR)
    return wrong(path, "samples without damage", saidBy(file));
  if (info.frames < SF_COUNT_MAX && read < info.frames)
    return wrong(path, std::to_string(info.frames) + " samples as the file says",
                 std::to_string(read));
  if (notedErrors(file))
    return wrong(path, "samples without damage", "damaged ones");
  if (samples.empty())
    return wrong(path, "samples", "none");
  return samples;
}

} // namespace

Expected<std::vector<float>> heddle::readAudio(const std::string &path, int64_t rate) {
  HEDDLE_TRY(checkKind(path));
  SF_INFO info{};
  const SoundFile file(sf_open(path.c_str(), SFM_READ, &info));
  if (!file)
    return wrong(path, "a whole WAV or FLAC file", saidBy(nullptr));
  HEDDLE_TRY(checkFormat(path, info));
  return withinMemory([&] { return readSamples(path, file.get(), info, rate); });
}
