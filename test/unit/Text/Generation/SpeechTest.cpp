//===- SpeechTest.cpp - Parts of a transcription ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares parts of a transcription with Transformers, whose results
// test/data/speech/make.py writes.
#include "heddle/Generation/Speech.h"

#include "TokenRules.h"

#include "heddle/Generation/Transcriber.h"
#include "heddle/Support/Json.h"
#include "heddle/Support/MappedBytes.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using testing::ElementsAre;
using Json = nlohmann::ordered_json;

namespace {

constexpr int32_t firstTime = 10; // as in make.py

Json goldens(const char *part) {
  const std::string path = HEDDLE_SOURCE_DIR "/test/data/speech/golden.json";
  auto text = readTextFile(path, 1 << 20);
  EXPECT_TRUE(text);
  auto json = parseJson(text ? *text : "", path);
  EXPECT_TRUE(json);
  Json cases = json ? (*json)[part] : Json::array();
  EXPECT_GE(cases.size(), 6u);
  return cases;
}

//===- Timestamps --------------------------------------------------------===//

std::vector<int> allowedBy(const TimestampRules &rules, std::vector<float> scores,
                           bool probabilities, const TokenIds &said) {
  DecodingOptions options;
  options.timestamps = rules;
  TokenRules all(options, probabilities);
  const std::span<const float> changed = all.apply(scores, 0, said);
  std::vector<int> allowed;
  for (size_t i = 0; i < changed.size(); ++i)
    if (changed[i] > (probabilities ? 0 : -std::numeric_limits<float>::infinity())) {
      allowed.push_back(static_cast<int>(i));
      EXPECT_EQ(changed[i], scores[i]);
    }
  return allowed;
}

TEST(TimestampRulesTest, AreThoseOfTransformers) {
  for (const Json &golden : goldens("rules")) {
    TimestampRules rules{firstTime - 1, firstTime, 5, {}};
    if (!golden["latest"].is_null())
      rules.latestStart = golden["latest"].get<int32_t>();
    const auto said = golden["said"].get<TokenIds>();
    auto scores = golden["scores"].get<std::vector<float>>();
    const auto allowed = golden["allowed"].get<std::vector<int>>();
    EXPECT_EQ(allowedBy(rules, scores, false, said), allowed) << golden;
    for (float &score : scores)
      score = std::exp(score) / 1000;
    EXPECT_EQ(allowedBy(rules, scores, true, said), allowed) << golden;
  }
}

TEST(TimestampRulesTest, LookAtNoTokenBeyondTheVocabulary) {
  const TimestampRules rules{40, 41, 39, 50};
  EXPECT_THAT(allowedBy(rules, {1, 2}, false, {0}), ElementsAre(0, 1));
  // If no token remains, a sequence continues as without rules.
  EXPECT_THAT(allowedBy(rules, {1, 2}, false, {}), ElementsAre(0, 1));
  EXPECT_THAT(allowedBy(rules, {1, 2}, false, {0, 99}), ElementsAre(0, 1));
}

//===- Segments and windows ----------------------------------------------===//

TEST(SpeechSegments, AreThoseOfTransformers) {
  for (const Json &golden : goldens("segments")) {
    const auto said = golden["said"].get<TokenIds>();
    const SpeechCut cut =
        cutSegments(said, firstTime, golden["frames"].get<int64_t>(), golden["start"]);
    EXPECT_EQ(cut.frames, golden["offset"].get<int64_t>()) << golden;
    ASSERT_EQ(cut.segments.size(), golden["segments"].size()) << golden;
    for (size_t i = 0; i < cut.segments.size(); ++i) {
      const Json &segment = golden["segments"][i];
      EXPECT_NEAR(cut.segments[i].start, segment[0].get<double>(), 1e-5) << golden;
      EXPECT_NEAR(cut.segments[i].end, segment[1].get<double>(), 1e-5) << golden;
      EXPECT_EQ(cut.segments[i].tokens, segment[2].get<TokenIds>()) << golden;
    }
    EXPECT_EQ(allTokens(cut.segments, firstTime), golden["before"].get<TokenIds>()) << golden;
  }
}

TEST(SpeechSegments, OfNothingAreNone) {
  const SpeechCut cut = cutSegments({}, firstTime, 3000, 0);
  EXPECT_TRUE(cut.segments.empty());
  EXPECT_EQ(cut.frames, 3000);
}

TEST(SpeechWindowsTest, GoOnWhereTheLastSegmentEnds) {
  SpeechWindows windows(6500, 3000);
  EXPECT_EQ(windows.frames(), 3000);
  windows.advance(2840);
  EXPECT_EQ(windows.begin(), 2840);
  windows.advance(3000);
  EXPECT_EQ(windows.frames(), 660);
  windows.advance(0); // would otherwise repeat forever
  EXPECT_TRUE(windows.isDone());
  EXPECT_TRUE(SpeechWindows(0, 3000).isDone());
}

//===- Checks ------------------------------------------------------------===//

TEST(SpeechChecksTest, CountRepetitionsAsTransformersDoes) {
  for (const Json &golden : goldens("ratios"))
    EXPECT_NEAR(
        compressionRatio(golden["tokens"].get<TokenIds>(), golden["vocabulary"].get<size_t>()),
        golden["ratio"].get<double>(), 1e-12);
  EXPECT_EQ(compressionRatio({}, 51865), 0);
}

TEST(SpeechChecksTest, TryOneTemperatureAfterTheOther) {
  const SpeechAttempt good{{1, 2, 3}, -0.5, 0.9}, unlikely{{1, 2, 3}, -1.5, 0.1},
      repeats{TokenIds(100, 7), -0.1, 0}, silent{{1}, -1.5, 0.7};
  std::vector<double> tried;
  auto choose = [&](std::vector<SpeechAttempt> attempts) {
    tried.clear();
    auto choice = chooseAttempt({}, [&](double temperature) -> Expected<SpeechAttempt> {
      tried.push_back(temperature);
      return attempts[std::min(tried.size(), attempts.size()) - 1];
    });
    EXPECT_TRUE(choice);
    return *choice;
  };
  EXPECT_EQ(choose({good}).temperature, 0);
  EXPECT_THAT(tried, ElementsAre(0));
  const SpeechChoice third = choose({unlikely, repeats, good});
  EXPECT_THAT(tried, ElementsAre(0, 0.2, 0.4));
  EXPECT_EQ(third.attempt.meanLogProbability, -0.5);
  EXPECT_TRUE(third.informs());
  EXPECT_FALSE(third.isSilent);
  const SpeechChoice last = choose({unlikely});
  EXPECT_THAT(tried, ElementsAre(0, 0.2, 0.4, 0.6, 0.8, 1));
  EXPECT_FALSE(last.informs());
  EXPECT_TRUE(choose({silent}).isSilent);
  EXPECT_THAT(tried, ElementsAre(0));
  auto failed =
      chooseAttempt({}, [](double) -> Expected<SpeechAttempt> { return inputError("no"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no");
}

TEST(SpeechChecksTest, FallBackAsTransformersDoes) {
  for (const Json &golden : goldens("fallbacks")) {
    SpeechChecks checks;
    checks.mostCompression = golden["thresholds"][0];
    checks.leastLogProbability = golden["thresholds"][1];
    checks.silence = golden["thresholds"][2];
    checks.vocabulary = 300;
    std::vector<double> tried;
    auto choice = chooseAttempt(checks, [&](double temperature) -> Expected<SpeechAttempt> {
      if (tried.size() == golden["attempts"].size())
        return inputError("expected no further attempt");
      const Json &attempt = golden["attempts"][tried.size()];
      tried.push_back(temperature);
      SpeechAttempt made{attempt["tokens"].get<TokenIds>(), attempt["log"], golden["silence"]};
      if (attempt["ends"])
        made.end = 5;
      return made;
    });
    ASSERT_TRUE(choice) << choice.error().message << golden;
    EXPECT_EQ(tried, golden["tried"].get<std::vector<double>>()) << golden;
    EXPECT_EQ(choice->attempt.tokens, golden["said"].get<TokenIds>()) << golden;
    EXPECT_EQ(choice->isSilent, golden["skipped"].get<bool>()) << golden;
    EXPECT_EQ(choice->informs(), golden["informs"].get<bool>()) << golden;
  }
}

//===- Draws -------------------------------------------------------------===//

/// A model with equal scores for every position of every sequence.
class SameScores : public StepModel {
public:
  explicit SameScores(std::vector<float> scores) : row(std::move(scores)) {}
  Expected<std::span<const float>> admit(std::span<const int32_t>,
                                         std::span<const size_t> sequences) override {
    all.clear();
    for (size_t i = 0; i < sequences.size(); ++i)
      all.insert(all.end(), row.begin(), row.end());
    return std::span<const float>(all);
  }
  Expected<std::span<const float>> step(std::span<const int32_t>) override {
    return inputError("expected one token a sequence");
  }
  Status reorder(std::span<const int32_t>) override { return {}; }
  bool givesProbabilities() const override { return false; }

private:
  std::vector<float> row, all;
};

/// How often each token is drawn, and the reported log probability of each token.
struct Draws {
  std::vector<double> counts, logs;
};

constexpr size_t drawCount = 20000;

Draws drawn(const Json &golden, double temperature) {
  const auto scores = golden["scores"].get<std::vector<float>>();
  Draws draws{std::vector<double>(scores.size()), std::vector<double>(scores.size(), std::nan(""))};
  DecodingOptions options;
  options.limit = 1;
  options.sample = true;
  options.temperature = temperature;
  options.topK = golden["topK"];
  options.topP = golden["topP"];
  options.seed = 3;
  std::vector<double> logs;
  options.onProbability = [&](size_t, double log) { logs.push_back(log); };
  SameScores model(scores);
  auto said = decodeSequences(model, drawCount, options);
  EXPECT_TRUE(said);
  for (size_t i = 0; said && i < drawCount; ++i) {
    const auto token = static_cast<size_t>((*said)[i].at(0));
    ++draws.counts[token];
    draws.logs[token] = logs[i];
  }
  return draws;
}

/// Pearson's chi-squared statistic of counts and shares, in standard deviations above its mean,
/// which is the number of tokens minus 1. Infinity if a drawn token has probability 0.
double deviations(const std::vector<double> &counts, const std::vector<double> &shares) {
  double statistic = 0, free = -1;
  for (size_t token = 0; token < counts.size(); ++token) {
    const double expected = shares[token] * drawCount;
    if (expected > 0)
      statistic += (counts[token] - expected) * (counts[token] - expected) / expected, ++free;
    else if (counts[token] > 0)
      return std::numeric_limits<double>::infinity();
  }
  return (statistic - free) / std::sqrt(2 * free);
}

TEST(SpeechDraws, AreAsLikelyAsThoseOfTransformers) {
  constexpr double most = 4; // a chance of about 1 in 1,000 each; seeds are fixed
  for (const Json &golden : goldens("draws")) {
    const double temperature = golden["temperature"];
    const auto shares = golden["shares"].get<std::vector<double>>();
    const Draws draws = drawn(golden, temperature);
    EXPECT_LT(deviations(draws.counts, shares), most) << golden;
    for (size_t token = 0; token < shares.size(); ++token)
      if (draws.counts[token] > 0 && golden["logs"][token].is_number())
        EXPECT_NEAR(draws.logs[token], golden["logs"][token].get<double>(), 1e-5) << golden;
    // The statistic detects another temperature.
    EXPECT_GT(deviations(drawn(golden, temperature * 1.2).counts, shares), most) << golden;
  }
}

//===- Transcripts -------------------------------------------------------===//

TEST(TranscriptTest, BecomesLines) {
  const Transcript transcript{
      "en", 9, {{0, 2.5, " Hello,"}, {2.5, 3, " "}, {61.04, 62, " you\nthere."}}};
  EXPECT_EQ(lineText(transcript), "Hello,  you there.\n");
  EXPECT_EQ(timedText(transcript), "[00:00:00.000 --> 00:00:02.500] Hello,\n"
                                   "[00:01:01.040 --> 00:01:02.000] you there.\n");
  EXPECT_EQ(lineText({}), "\n");
  EXPECT_EQ(timedText({}), "");
}

TEST(TranscriptTest, BecomesSubtitles) {
  const Transcript transcript{
      "en", 4000, {{0, 2.5, " Hello.\n"}, {2.5, 3, "  "}, {3661.0415, 3600, " one\n\ntwo --> 3"}}};
  EXPECT_EQ(srtText(transcript), "1\n00:00:00,000 --> 00:00:02,500\nHello.\n\n"
                                 "2\n01:01:01,042 --> 01:01:01,042\none  two -> 3\n\n");
  EXPECT_EQ(srtText({}), "");
}

TEST(TranscriptTest, BecomesJson) {
  const Transcript transcript{"en", 6.5, {{0, 0.1 + 0.2, " Say \"a\"."}, {2, 3, " \xff b"}}};
  auto json = parseJson(jsonText(transcript), "t");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->dump(), R"({"language":"en","seconds":6.5,"text":"Say \"a\". )"
                          "\xEF\xBF\xBD b\",\"segments\":["
                          R"({"start":0.0,"end":0.3,"text":"Say \"a\"."},)"
                          "{\"start\":2.0,\"end\":3.0,\"text\":\"\xEF\xBF\xBD b\"}]}");
}

} // namespace
