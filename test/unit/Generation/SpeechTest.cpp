//===- SpeechTest.cpp - Parts of a transcription ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares parts of a transcription with Transformers, whose results
// test/speech/make.py writes.
#include "heddle/Generation/Speech.h"

#include "TokenRules.h"

#include "heddle/Generation/Transcript.h"
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
  const std::string path = HEDDLE_SOURCE_DIR "/test/speech/golden.json";
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

//===- Prompts -----------------------------------------------------------===//

constexpr const char *multilingual = R"({"decoder_start_token_id": 50, "eos_token_id": [49, 48],
  "no_timestamps_token_id": 62, "max_initial_timestamp_index": 50, "suppress_tokens": [1, 60, 61],
  "lang_to_id": {"<|en|>": 51, "<|zh|>": 52, "<|my|>": 53},
  "task_to_id": {"transcribe": 58, "translate": 57}})";
constexpr const char *english = R"({"decoder_start_token_id": 50, "eos_token_id": 49,
  "no_timestamps_token_id": 62, "prev_sot_token_id": 59})";

SpeechTokens tokensOf(const char *text) {
  auto tokens = SpeechTokens::fromJson(text, "g.json");
  EXPECT_TRUE(tokens) << (tokens ? "" : tokens.error().message);
  return tokens ? *tokens : SpeechTokens();
}

template <typename T>
std::string messageOf(const Expected<T> &result) {
  return result ? "no failure" : result.error().message;
}

TEST(SpeechTokensTest, OfAllLanguagesMakePrompts) {
  const SpeechTokens tokens = tokensOf(multilingual);
  for (const char *name : {"zh", "Chinese", "mandarin", "<|zh|>"}) {
    auto language = tokens.language(name);
    ASSERT_TRUE(language) << name;
    EXPECT_EQ(*language, 52) << name;
  }
  EXPECT_THAT(*tokens.prompt(52, false, false), ElementsAre(50, 52, 58, 62));
  EXPECT_THAT(*tokens.prompt(51, true, true), ElementsAre(50, 51, 57));
  EXPECT_EQ(tokens.codeOf(53), "my");
  EXPECT_EQ(tokens.noSpeech(), 61);
  EXPECT_EQ(tokens.timestamps().first, 63);
  EXPECT_EQ(tokens.timestamps().end, 49);
  EXPECT_EQ(tokens.timestamps().latestStart, 50);
  std::vector<float> scores(64, 9);
  scores[51] = 1, scores[52] = 3, scores[53] = 3;
  EXPECT_EQ(tokens.likeliestLanguage(scores), 52);
  const std::string expected = "--language: expected one of en, my, zh, found ";
  EXPECT_EQ(messageOf(tokens.language("de")), expected + "'de'");
}

/// Older files without timestamps: the forced tokens are the prompt, and the tokens are those of
/// the tokenizer.
TEST(SpeechTokensTest, OfOldFilesMakeThePromptsOfTransformers) {
  constexpr const char *names = R"("decoder_start_token_id": 50, "eos_token_id": 49,
    "tokenizer tokens": {"<|en|>": 51, "<|zh|>": 52, "<|translate|>": 57, "<|transcribe|>": 58,
                         "<|notimestamps|>": 62})";
  const SpeechTokens tokens = tokensOf(("{" + std::string(names) + "}").c_str());
  EXPECT_FALSE(tokens.usualLanguage());
  EXPECT_FALSE(tokens.likeliestLanguage(std::vector<float>(64)));
  EXPECT_THAT(*tokens.prompt({}, false, false), ElementsAre(50));
  EXPECT_THAT(*tokens.prompt(*tokens.language("chinese"), false, false), ElementsAre(50, 52, 58));
  EXPECT_THAT(*tokens.prompt({}, true, false), ElementsAre(50, 57));
  EXPECT_EQ(tokens.noSpeech(), 61);
  ASSERT_FALSE(tokens.checkTimes());
  EXPECT_EQ(
      tokens.checkTimes().error().message,
      "no_timestamps_token_id: expected a token of the folder's settings where times are told, as "
      "of all audio beyond one window, found none");
  const SpeechTokens forced = tokensOf(
      ("{" + std::string(names) + R"(, "forced_decoder_ids": [[1, 51], [2, 58], [3, 62]]})")
          .c_str());
  EXPECT_EQ(forced.usualLanguage(), 51);
  EXPECT_THAT(*forced.prompt(51, false, false), ElementsAre(50, 51, 58, 62));
  EXPECT_TRUE(tokensOf(multilingual).checkTimes());
}

TEST(SpeechTokensTest, OfEnglishAloneMakePrompts) {
  const SpeechTokens tokens = tokensOf(english);
  auto language = tokens.language("English");
  ASSERT_TRUE(language);
  EXPECT_FALSE(*language);
  EXPECT_EQ(tokens.codeOf({}), "en");
  EXPECT_FALSE(tokens.likeliestLanguage(std::vector<float>(64)));
  EXPECT_THAT(*tokens.prompt({}, false, false), ElementsAre(50, 62));
  EXPECT_THAT(*tokens.prompt({}, false, true), ElementsAre(50));
  EXPECT_EQ(messageOf(tokens.language("fr")), "--language: expected en, the only one, found 'fr'");
  EXPECT_EQ(messageOf(tokens.prompt({}, true, false)),
            "--task: expected transcribe, the only one, found translate");
}

TEST(SpeechTokensTest, StandBehindWhatWasSaid) {
  const TokenIds said{1, 2, 3, 4, 5};
  EXPECT_THAT(tokensOf(english).behind(said, {50, 62}, 8), ElementsAre(59, 3, 4, 5, 50, 62));
  EXPECT_THAT(tokensOf(multilingual).behind(said, {50}, 448), ElementsAre(60, 1, 2, 3, 4, 5, 50));
  EXPECT_THAT(tokensOf(english).behind({}, {50, 62}, 8), ElementsAre(50, 62));
}

TEST(SpeechTokensTest, ThatAreWrongAreOneLine) {
  auto failureOf = [](const char *text) {
    return messageOf(SpeechTokens::fromJson(text, "g.json"));
  };
  EXPECT_EQ(failureOf("[]"), "g.json: expected an object, found a list");
  EXPECT_EQ(failureOf("{}"), "g.json: expected a key decoder_start_token_id, found none");
  EXPECT_EQ(failureOf(R"({"decoder_start_token_id": -1})"),
            "g.json: decoder_start_token_id: expected a token, found -1");
  EXPECT_EQ(failureOf(R"({"decoder_start_token_id": 1, "no_timestamps_token_id": 2})"),
            "g.json: expected a key eos_token_id, found none");
  const std::string good =
      R"({"decoder_start_token_id": 1, "no_timestamps_token_id": 2, "eos_token_id": 3, )";
  EXPECT_EQ(failureOf((good + R"("lang_to_id": 1})").c_str()),
            "g.json: lang_to_id: expected an object, found 1");
  EXPECT_EQ(failureOf((good + R"("task_to_id": {"translate": "x"}})").c_str()),
            "g.json: task_to_id.translate: expected a token, found 'x'");
}

/// `multilingual` with additional keys.
std::string with(const std::string &keys) {
  return std::string(multilingual).insert(1, keys + ", ");
}

TEST(SpeechTokensTest, SayWhatTheFolderAsksFor) {
  EXPECT_FALSE(tokensOf(multilingual).usualLanguage());
  EXPECT_FALSE(tokensOf(multilingual).usuallyTranslates());
  const SpeechTokens old = tokensOf(with(R"("forced_decoder_ids": [[1, 52], [2, 57]])").c_str());
  EXPECT_EQ(old.usualLanguage(), 52);
  EXPECT_TRUE(old.usuallyTranslates());
  const SpeechTokens heard =
      tokensOf(with(R"("forced_decoder_ids": [[1, null], [2, 58]])").c_str());
  EXPECT_FALSE(heard.usualLanguage());
  EXPECT_FALSE(heard.usuallyTranslates());
  const SpeechTokens named = tokensOf(
      with(R"("forced_decoder_ids": [[1, 52]], "language": "English", "task": "translate")")
          .c_str());
  EXPECT_EQ(named.usualLanguage(), 51);
  EXPECT_TRUE(named.usuallyTranslates());
  const SpeechTokens alone = tokensOf(with(R"("is_multilingual": false)").c_str());
  EXPECT_EQ(messageOf(alone.language("zh")), "--language: expected en, the only one, found 'zh'");
  auto failureOf = [](const char *keys) {
    return messageOf(SpeechTokens::fromJson(with(keys), "g.json"));
  };
  EXPECT_EQ(failureOf(R"("language": "fr")"),
            "g.json: language: expected a language of lang_to_id, found 'fr'");
  EXPECT_EQ(failureOf(R"("language": 3)"), "g.json: language: expected a string, found 3");
  EXPECT_EQ(failureOf(R"("task": "sing")"),
            "g.json: task: expected a task of task_to_id, found 'sing'");
  EXPECT_EQ(failureOf(R"("is_multilingual": 1)"),
            "g.json: is_multilingual: expected true or false, found 1");
  EXPECT_EQ(failureOf(R"("forced_decoder_ids": 1)"),
            "g.json: forced_decoder_ids: expected a list, found 1");
  EXPECT_EQ(failureOf(R"("forced_decoder_ids": [[1, "x"]])"),
            "g.json: forced_decoder_ids.0: expected a place and a token, found a list");
  EXPECT_EQ(failureOf(R"("forced_decoder_ids": [[1, 52], [3, 58]])"),
            "g.json: forced_decoder_ids.1.0: expected place 2, found 3");
  const std::string order =
      ": expected a language, a task and no_timestamps_token_id, in this order, found ";
  EXPECT_EQ(failureOf(R"("forced_decoder_ids": [[1, 7]])"),
            "g.json: forced_decoder_ids.0.1" + order + "7");
  EXPECT_EQ(failureOf(R"("forced_decoder_ids": [[1, 52], [2, 62], [3, 58]])"),
            "g.json: forced_decoder_ids.2.1" + order + "58");
  EXPECT_EQ(failureOf(R"("forced_decoder_ids": [[1, 52], [2, 58], [3, 62]])"), "no failure");
  EXPECT_EQ(messageOf(SpeechTokens::fromJson(
                R"({"decoder_start_token_id": 50, "eos_token_id": 49, "no_timestamps_token_id": 62,
                    "is_multilingual": false, "forced_decoder_ids": [[1, 62]]})",
                "g.json")),
            "no failure");
}

TEST(SpeechTokensTest, AskForTimesChecksAndWhatWasSaid) {
  const SpeechTokens usual = tokensOf(multilingual);
  EXPECT_FALSE(usual.usuallyTimes());
  EXPECT_TRUE(usual.usuallyUsesEarlierText());
  EXPECT_EQ(usual.checks().mostCompression, 1.35);
  const SpeechTokens asking =
      tokensOf(with(R"("return_timestamps": true, "condition_on_prev_tokens": false,
      "compression_ratio_threshold": 2, "logprob_threshold": -0.5, "no_speech_threshold": null)")
                   .c_str());
  EXPECT_TRUE(asking.usuallyTimes());
  EXPECT_FALSE(asking.usuallyUsesEarlierText());
  EXPECT_EQ(asking.checks().mostCompression, 2);
  EXPECT_EQ(asking.checks().leastLogProbability, -0.5);
  EXPECT_EQ(asking.checks().silence, 0.6);
  EXPECT_EQ(messageOf(SpeechTokens::fromJson(with(R"("logprob_threshold": "low")"), "g.json")),
            "g.json: logprob_threshold: expected a number, found 'low'");
}

TEST(SpeechTokensTest, RefuseWhatIsNotFollowed) {
  auto failureOf = [](const std::string &keys) {
    return messageOf(SpeechTokens::fromJson(with(keys), "g.json"));
  };
  for (const auto &[keys, message] :
       {std::pair(R"("num_beam_groups": 2)", "num_beam_groups: expected 1, found 2"),
        {R"("typical_p": 0.9)", "typical_p: expected 1, found 0.9"},
        {R"("return_token_timestamps": true)",
         "return_token_timestamps: expected false, found true"},
        {R"("prompt_condition_type": "all-segments")",
         "prompt_condition_type: expected 'first-segment', found 'all-segments'"},
        {R"("_detect_timestamp_from_logprob": false)",
         "_detect_timestamp_from_logprob: expected true, found false"},
        {R"("sequence_bias": [[[1, 2], 3.0]])", "sequence_bias: expected null, found a list"},
        {R"("forced_eos_token_id": [1, 2])",
         "forced_eos_token_id: expected one token, found a list"}})
    EXPECT_EQ(failureOf(keys), "g.json: " + std::string(message) + ", which is not followed");
  // Keys whose values have no effect.
  for (const char *keys :
       {R"("num_beam_groups": 1, "typical_p": 1.0, "diversity_penalty": 0.0, "max_time": null)",
        R"("bad_words_ids": [[1], [2, 3]], "forced_eos_token_id": [49], "sequence_bias": false)",
        R"("alignment_heads": [[1, 0]], "median_filter_width": 7, "guidance_scale": 1)"})
    EXPECT_EQ(failureOf(keys), "no failure") << keys;
}

TEST(SpeechTokensTest, KnowHowManyMayFollow) {
  EXPECT_EQ(tokensOf(multilingual).mostBehind(4, 20), 17);
  EXPECT_EQ(tokensOf(with(R"("max_length": 15)").c_str()).mostBehind(4, 20), 11);
  EXPECT_EQ(tokensOf(with(R"("max_length": 15, "max_new_tokens": 9)").c_str()).mostBehind(4, 20),
            9);
  EXPECT_EQ(tokensOf(with(R"("max_length": 3)").c_str()).mostBehind(4, 20), 0);
  EXPECT_EQ(tokensOf(multilingual).leastBehind(4), 0);
  EXPECT_EQ(tokensOf(with(R"("min_length": 9)").c_str()).leastBehind(4), 5);
  EXPECT_EQ(tokensOf(with(R"("min_length": 3)").c_str()).leastBehind(4), 0);
  EXPECT_EQ(tokensOf(with(R"("min_length": 9, "min_new_tokens": 2)").c_str()).leastBehind(4), 2);
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
