//===- LogMelTest.cpp - Log-mel against Transformers --------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares spectrograms with Transformers. test/data/audio/make.py writes the audio
// and the expected values.
#include "heddle/Audio/LogMel.h"

#include "heddle/Audio/AudioFile.h"
#include "heddle/Runtime/Npy.h"
#include "heddle/Support/MappedBytes.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace heddle;

namespace {

const std::string folder = HEDDLE_SOURCE_DIR "/test/data/audio/";

LogMel melOf(const std::string &name) {
  auto text = readTextFile(folder + "golden/" + name + ".json", 1 << 20);
  EXPECT_TRUE(text) << name;
  auto mel = LogMel::fromJson(text ? *text : "", name);
  EXPECT_TRUE(mel) << (mel ? "" : mel.error().message);
  return mel ? *mel : LogMel();
}

std::string failureOf(const std::string &text) {
  auto mel = LogMel::fromJson(text, "p.json");
  return mel ? "no failure" : mel.error().message;
}

struct Golden {
  std::string name;
  int64_t step;       ///< every step-th frame is stored
  size_t count;       ///< number of samples
  int64_t frames = 0; ///< number of all frames
};

class LogMelTest : public testing::TestWithParam<Golden> {};

TEST_P(LogMelTest, IsThatOfTheFeatureExtractor) {
  const auto &[name, step, count, frames] = GetParam();
  auto samples = readAudio(folder + "voice.wav", 16000);
  ASSERT_TRUE(samples) << samples.error().message;
  ASSERT_EQ(samples->size(), 20800u);
  samples->resize(count);
  if (name == "quiet")
    samples->assign(count, 0);
  auto golden = readNpy(folder + "golden/" + name + "-" + std::to_string(step) + ".npy");
  ASSERT_TRUE(golden) << golden.error().message;
  const MelFrames found = melOf(name).apply(*samples);
  EXPECT_EQ(found.frames, frames);
  ASSERT_EQ(golden->values<float>().size(),
            static_cast<size_t>(found.bands * ((found.frames + step - 1) / step)));
  float largest = 0;
  size_t i = 0;
  for (int64_t band = 0; band < found.bands; ++band)
    for (int64_t frame = 0; frame < found.frames; frame += step)
      largest = std::max(largest,
                         std::abs(found.values[static_cast<size_t>(band * found.frames + frame)] -
                                  golden->values<float>()[i++]));
  EXPECT_LT(largest, 1e-4f);
  RecordProperty("largest", std::to_string(largest));
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, LogMelTest,
    testing::Values(Golden{"80", 37, 20800, 3000}, Golden{"128", 37, 20800, 3000},
                    Golden{"short", 1, 3000, 100}, Golden{"long", 3, 20800, 130},
                    Golden{"quiet", 20, 100, 100}, Golden{"other", 2, 20800, 159},
                    Golden{"slow", 3, 20800, 130}),
    [](const auto &info) { return "of_" + info.param.name; });

TEST(LogMelWindows, AreCutFromAllFrames) {
  const LogMel mel = melOf("long");
  EXPECT_EQ(mel.windowFrames(), 100);
  EXPECT_EQ(mel.rate(), 16000);
  EXPECT_EQ(mel.bands(), 80);
  EXPECT_DOUBLE_EQ(mel.secondsAFrame(), 0.01);
  EXPECT_EQ(mel.framesOf(161), 2);
  MelFrames frames{2, 130, std::vector<float>(260)};
  for (size_t i = 0; i < frames.values.size(); ++i)
    frames.values[i] = static_cast<float>(i + 1);
  const std::vector<float> window = mel.window(frames, 70);
  ASSERT_EQ(window.size(), 200u);
  EXPECT_EQ(window[0], 71);
  EXPECT_EQ(window[59], 130);
  EXPECT_EQ(window[60], 0);
  EXPECT_EQ(window[100], 201);
  EXPECT_EQ(window[160], 0);
  EXPECT_THAT(mel.window(frames, 131), testing::Each(0));
}

TEST(LogMelSettings, ThatAreMissingAreWhispers) {
  auto mel = LogMel::fromJson(R"({"feature_size": 128})", "p.json");
  ASSERT_TRUE(mel) << mel.error().message;
  EXPECT_EQ(mel->bands(), 128);
  EXPECT_EQ(mel->windowFrames(), 3000);
}

TEST(LogMelSettings, ThatAreWrongAreOneLine) {
  EXPECT_EQ(failureOf("[]"), "p.json: expected an object, found a list");
  EXPECT_EQ(failureOf(R"({"feature_extractor_type": "ViTFeatureExtractor"})"),
            "p.json: feature_extractor_type: expected 'WhisperFeatureExtractor', found "
            "'ViTFeatureExtractor'");
  EXPECT_EQ(failureOf(R"({"padding_side": "left"})"),
            "p.json: padding_side: expected 'right', found 'left'");
  EXPECT_EQ(failureOf(R"({"dither": 0.1})"), "p.json: dither: expected 0, found 0.1");
  EXPECT_EQ(failureOf(R"({"feature_size": 0})"),
            "p.json: feature_size: expected a whole number from 1 to 1024, found 0");
  EXPECT_EQ(failureOf(R"({"sampling_rate": 1e300})"),
            "p.json: sampling_rate: expected a whole number from 4000 to 96000, found 1e+300");
  EXPECT_EQ(failureOf(R"({"hop_length": "160"})"),
            "p.json: hop_length: expected a whole number from 1 to 16384, found '160'");
  EXPECT_EQ(failureOf(R"({"n_fft": 401})"), "p.json: n_fft: expected an even number, found 401");
  EXPECT_EQ(failureOf(R"({"chunk_length": -1})"),
            "p.json: chunk_length: expected a whole number from 1 to 300, found -1");
  EXPECT_EQ(failureOf(R"({"chunk_length": 1, "sampling_rate": 4000, "n_fft": 8192})"),
            "p.json: chunk_length: expected more seconds, for these n_fft and hop_length, found 1");
  EXPECT_EQ(failureOf(R"({"padding_value": "0"})"),
            "p.json: padding_value: expected a number, found '0'");
}

} // namespace
