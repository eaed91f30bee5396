//===- AudioFileTest.cpp - WAV and FLAC files ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests files that libsndfile writes and the test damages.
#include "heddle/Audio/AudioFile.h"

#include "TemporaryFolder.h"
#include "heddle/Support/MappedBytes.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <sndfile.h>
#include <sys/stat.h>

using namespace heddle;
using testing::HasSubstr;

namespace {

constexpr int64_t modelRate = 16000;

std::vector<float> sine(double hertz, int64_t rate, double seconds, double height = 0.5) {
  std::vector<float> samples;
  for (double i = 0; i < seconds * static_cast<double>(rate); ++i)
    samples.push_back(static_cast<float>(
        height * std::sin(2 * std::numbers::pi * hertz * i / static_cast<double>(rate))));
  return samples;
}

/// A file with these samples; samples of one moment are adjacent.
class AudioFileTest : public testing::Test {
protected:
  std::string write(const std::vector<float> &samples, int64_t rate, int channels = 1,
                    int format = SF_FORMAT_WAV | SF_FORMAT_FLOAT) {
    const std::string path = folder.path() / "a.audio";
    SF_INFO info{0, static_cast<int>(rate), channels, format, 0, 0};
    SNDFILE *file = sf_open(path.c_str(), SFM_WRITE, &info);
    EXPECT_NE(file, nullptr) << sf_strerror(nullptr);
    EXPECT_EQ(sf_write_float(file, samples.data(), static_cast<sf_count_t>(samples.size())),
              static_cast<sf_count_t>(samples.size()));
    sf_close(file);
    return path;
  }
  static std::vector<float> read(const std::string &path) {
    auto samples = readAudio(path, modelRate);
    EXPECT_TRUE(samples) << (samples ? "" : samples.error().message);
    return samples ? *samples : std::vector<float>();
  }
  /// The error message after the path.
  static std::string failureOf(const std::string &path) {
    auto samples = readAudio(path, modelRate);
    if (samples)
      return "no failure";
    EXPECT_THAT(samples.error().message, testing::StartsWith(path + ": "));
    EXPECT_THAT(samples.error().message, testing::Not(HasSubstr("\n")));
    return samples.error().message.substr(path.size() + 2);
  }
  /// The error message for a file with this content.
  std::string failureOfBytes(const std::string &content) {
    return failureOf(folder.write("bytes", content));
  }
  static std::string bytesOf(const std::string &path) {
    auto text = readTextFile(path, 1 << 22);
    EXPECT_TRUE(text);
    return text ? *text : "";
  }

  test::TemporaryFolder folder;
};

/// The amplitude of a sine in the middle of samples, and the distance in decibels to everything
/// else.
struct Heard {
  double height = 0, phase = 0, decibels = 0;
};
Heard hear(const std::vector<float> &samples, double hertz) {
  double sines = 0, cosines = 0, left = 0, whole = 0;
  const size_t first = samples.size() / 10;
  const size_t period = modelRate / 100, last = first + (samples.size() * 8 / 10) / period * period;
  auto angle = [&](size_t i) {
    return 2 * std::numbers::pi * hertz * static_cast<double>(i) / modelRate;
  };
  for (size_t i = first; i < last; ++i) {
    sines += samples[i] * std::sin(angle(i)) * 2 / static_cast<double>(last - first);
    cosines += samples[i] * std::cos(angle(i)) * 2 / static_cast<double>(last - first);
  }
  for (size_t i = first; i < last; ++i) {
    const double rest = samples[i] - sines * std::sin(angle(i)) - cosines * std::cos(angle(i));
    left += rest * rest;
    whole += static_cast<double>(samples[i]) * samples[i];
  }
  return {std::hypot(sines, cosines), std::atan2(cosines, sines), 10 * std::log10(whole / left)};
}

TEST_F(AudioFileTest, OfEachRateKeepASine) {
  for (int64_t rate : {8000, 16000, 44100, 48000, 96000})
    for (int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_24, SF_FORMAT_FLAC | SF_FORMAT_PCM_24}) {
      const std::vector<float> samples = read(write(sine(1000, rate, 0.5), rate, 1, format));
      EXPECT_NEAR(static_cast<double>(samples.size()), modelRate / 2, 1) << rate;
      const Heard heard = hear(samples, 1000);
      EXPECT_GE(heard.decibels, 80) << rate;
      EXPECT_NEAR(heard.height, 0.5, 1e-4) << rate;
      EXPECT_NEAR(heard.phase, 0, 1e-4) << rate;
    }
}

TEST_F(AudioFileTest, LoseWhatTheRateOfTheModelCannotHold) {
  const std::vector<float> samples = read(write(sine(10000, 48000, 0.5), 48000));
  for (size_t i = samples.size() / 10; i < samples.size() * 9 / 10; ++i)
    ASSERT_LT(std::abs(samples[i]), 0.5 * 1e-4) << i; // 80 dB
}

TEST_F(AudioFileTest, OfEveryTypeOfSamplesAreRead) {
  const std::vector<float> samples{0, 0.5, -0.25, 0.125, -1};
  for (int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_PCM_24,
                     SF_FORMAT_WAV | SF_FORMAT_PCM_32, SF_FORMAT_WAV | SF_FORMAT_FLOAT,
                     SF_FORMAT_WAV | SF_FORMAT_DOUBLE, SF_FORMAT_WAVEX | SF_FORMAT_PCM_16,
                     SF_FORMAT_RF64 | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16}) {
    const std::vector<float> found = read(write(samples, modelRate, 1, format));
    EXPECT_THAT(found, testing::Pointwise(testing::FloatNear(4e-5f), samples))
        << std::hex << format;
  }
  for (int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_U8, SF_FORMAT_WAV | SF_FORMAT_ULAW,
                     SF_FORMAT_WAV | SF_FORMAT_ALAW, SF_FORMAT_FLAC | SF_FORMAT_PCM_S8}) {
    const std::vector<float> found = read(write(samples, modelRate, 1, format));
    EXPECT_THAT(found, testing::Pointwise(testing::FloatNear(0.02f), samples))
        << std::hex << format;
  }
}

TEST_F(AudioFileTest, OfTwoChannelsBecomeTheirMean) {
  EXPECT_THAT(read(write({0.5, 0.25, -1, 1, 0.5, 0}, modelRate, 2)),
              testing::ElementsAre(0.375f, 0, 0.25f));
}

TEST_F(AudioFileTest, OfManyBlocksAreOneSound) {
  const std::vector<float> samples = read(write(sine(1000, 44100, 2), 44100));
  EXPECT_NEAR(static_cast<double>(samples.size()), 2 * modelRate, 1);
  EXPECT_GE(hear(samples, 1000).decibels, 80);
}

TEST_F(AudioFileTest, OfTooManyChannelsOrAnotherRateAreRefused) {
  EXPECT_EQ(failureOf(write(std::vector<float>(80), modelRate, 8)),
            "expected one channel or two, found 8: mix them first");
  EXPECT_EQ(failureOf(write(std::vector<float>(80), 192000)),
            "expected 4000 to 96000 samples a second, found 192000");
  EXPECT_EQ(failureOf(write(std::vector<float>(80), 1)),
            "expected 4000 to 96000 samples a second, found 1");
}

TEST_F(AudioFileTest, MustHoldNumbers) {
  std::vector<float> samples(20000, 0.5f);
  samples[16001] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(failureOf(write(samples, 8000, 2)),
            "expected samples that are finite numbers, found NaN at second 1.000");
  samples[16001] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(failureOf(write(samples, 8000)),
            "expected samples that are finite numbers, found an infinity at second 2.000");
}

TEST_F(AudioFileTest, MustBeAudio) {
  EXPECT_EQ(failureOf((folder.path() / "none.wav").string()),
            "expected a WAV or FLAC file, found: No such file or directory");
  EXPECT_EQ(failureOfBytes(""), "expected a WAV or FLAC file, found an empty file");
  EXPECT_EQ(failureOfBytes("RIFF"), "expected a WAV or FLAC file, found another kind of file");
  EXPECT_EQ(failureOfBytes("some text that is long enough"),
            "expected a WAV or FLAC file, found another kind of file");
  EXPECT_EQ(failureOfBytes(std::string("RIFF\4\0\0\0WAVE", 12)),
            "expected samples in a WAV file, found none");
  EXPECT_THAT(failureOfBytes("fLaCfLaCfLaCfLaC"), HasSubstr("expected a whole WAV or FLAC file"));
}

TEST_F(AudioFileTest, MustHoldSamples) {
  EXPECT_EQ(failureOf(write({}, modelRate)), "expected samples, found none");
  EXPECT_THAT(failureOf(write({}, modelRate, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16)),
              HasSubstr("expected"));
}

TEST_F(AudioFileTest, ThatEndEarlyAreRefused) {
  const std::string wav =
      bytesOf(write(sine(440, modelRate, 0.5), modelRate, 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16));
  EXPECT_EQ(failureOfBytes(wav.substr(0, wav.size() - 1000)),
            "expected 16000 bytes of samples as the file says, found 15000");
  const std::string flac =
      bytesOf(write(sine(440, modelRate, 0.5), modelRate, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  for (size_t size : {size_t(5), size_t(60), flac.size() / 2, flac.size() - 1})
    EXPECT_THAT(failureOfBytes(flac.substr(0, size)), HasSubstr("expected ")) << size;
}

TEST_F(AudioFileTest, ThatAreDamagedAreRefused) {
  std::string flac =
      bytesOf(write(sine(440, modelRate, 0.5), modelRate, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  flac[flac.size() / 2] ^= 0x10;
  EXPECT_THAT(failureOfBytes(flac), HasSubstr("expected samples without damage, found"));
}

TEST_F(AudioFileTest, WithHeadersThatLieAreRefused) {
  const std::string wav =
      bytesOf(write(sine(440, modelRate, 0.1), modelRate, 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16));
  const size_t data = wav.find("data") + 4;
  auto changed = [&](size_t at, const std::string &bytes) {
    std::string text = wav;
    return text.replace(at, bytes.size(), bytes);
  };
  EXPECT_EQ(failureOfBytes(changed(data, "\xfe\xff\xff\xff")),
            "expected 4294967294 bytes of samples as the file says, found 3200");
  EXPECT_EQ(failureOfBytes(changed(data, std::string(4, '\0'))), "expected samples, found none");
  EXPECT_THAT(failureOfBytes(changed(16, "\xf0\xff\xff\xff")), HasSubstr("expected ")); // fmt
  EXPECT_THAT(failureOfBytes(changed(22, std::string(2, '\0'))),
              HasSubstr("expected ")); // channels
  EXPECT_THAT(failureOfBytes(changed(22, "\xff\xff")), HasSubstr("expected "));
  EXPECT_THAT(failureOfBytes(changed(24, "\xff\xff\xff\xff")), HasSubstr("expected ")); // rate
  EXPECT_THAT(failureOfBytes(changed(20, "\x77\x77")), HasSubstr("expected "));         // format
  // A stream of unknown length is read to its end.
  EXPECT_EQ(read(folder.write("stream", changed(data, "\xff\xff\xff\xff"))).size(), 1600u);
}

TEST_F(AudioFileTest, OfFlacMayNotPromiseMoreThanTheyHold) {
  std::string flac =
      bytesOf(write(sine(440, modelRate, 0.5), modelRate, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  flac[21] |= 0x0f; // the highest bits of the number of samples: 2^36
  EXPECT_THAT(failureOfBytes(flac), HasSubstr("samples as the file says, found 8000"));
}

} // namespace

/// Reading a pipe would wait for a writer.
TEST_F(AudioFileTest, PipesAndFoldersAreErrors) {
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(readAudio(pipe, modelRate).error().message,
            pipe + ": expected a file, found a device or a pipe");
  EXPECT_EQ(readAudio(folder.path(), modelRate).error().message,
            folder.path().string() + ": expected a file, found a directory");
}
