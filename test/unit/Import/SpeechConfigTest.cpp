//===- SpeechConfigTest.cpp - Speech settings of folders ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads generation_config.json of speech models and compares the prompts that follow from it with
// Transformers.
#include "SpeechConfig.h"

#include "heddle/Generation/Speech.h"

#include <gmock/gmock.h>

using namespace heddle;
using testing::ElementsAre;

namespace {

constexpr const char *multilingual = R"({"decoder_start_token_id": 50, "eos_token_id": [49, 48],
  "no_timestamps_token_id": 62, "max_initial_timestamp_index": 50, "suppress_tokens": [1, 60, 61],
  "lang_to_id": {"<|en|>": 51, "<|zh|>": 52, "<|my|>": 53},
  "task_to_id": {"transcribe": 58, "translate": 57}})";
constexpr const char *english = R"({"decoder_start_token_id": 50, "eos_token_id": 49,
  "no_timestamps_token_id": 62, "prev_sot_token_id": 59})";

SpeechTokens tokensOf(const std::string &text) {
  auto facts = readSpeechFacts(Json::parse(text), "g.json");
  EXPECT_TRUE(facts) << (facts ? "" : facts.error().message);
  return SpeechTokens(facts ? *facts : SpeechFacts());
}

template <typename T>
std::string messageOf(const Expected<T> &result) {
  return result ? "no failure" : result.error().message;
}

std::string failure(const std::string &text) {
  return messageOf(readSpeechFacts(Json::parse(text), "g.json"));
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
  const SpeechTokens tokens = tokensOf(("{" + std::string(names) + "}"));
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
      ("{" + std::string(names) + R"(, "forced_decoder_ids": [[1, 51], [2, 58], [3, 62]]})"));
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
  EXPECT_EQ(failure("[]"), "g.json: expected an object, found a list");
  EXPECT_EQ(failure("{}"), "g.json: expected a key decoder_start_token_id, found none");
  EXPECT_EQ(failure(R"({"decoder_start_token_id": -1})"),
            "g.json: decoder_start_token_id: expected a token, found -1");
  EXPECT_EQ(failure(R"({"decoder_start_token_id": 1, "no_timestamps_token_id": 2})"),
            "g.json: expected a key eos_token_id, found none");
  const std::string good =
      R"({"decoder_start_token_id": 1, "no_timestamps_token_id": 2, "eos_token_id": 3, )";
  EXPECT_EQ(failure((good + R"("lang_to_id": 1})")),
            "g.json: lang_to_id: expected an object, found 1");
  EXPECT_EQ(failure((good + R"("task_to_id": {"translate": "x"}})")),
            "g.json: task_to_id.translate: expected a token, found 'x'");
}

/// `multilingual` with additional keys.
std::string with(const std::string &keys) {
  return std::string(multilingual).insert(1, keys + ", ");
}

TEST(SpeechTokensTest, SayWhatTheFolderAsksFor) {
  EXPECT_FALSE(tokensOf(multilingual).usualLanguage());
  EXPECT_FALSE(tokensOf(multilingual).usuallyTranslates());
  const SpeechTokens old = tokensOf(with(R"("forced_decoder_ids": [[1, 52], [2, 57]])"));
  EXPECT_EQ(old.usualLanguage(), 52);
  EXPECT_TRUE(old.usuallyTranslates());
  const SpeechTokens heard = tokensOf(with(R"("forced_decoder_ids": [[1, null], [2, 58]])"));
  EXPECT_FALSE(heard.usualLanguage());
  EXPECT_FALSE(heard.usuallyTranslates());
  const SpeechTokens named = tokensOf(
      with(R"("forced_decoder_ids": [[1, 52]], "language": "English", "task": "translate")"));
  EXPECT_EQ(named.usualLanguage(), 51);
  EXPECT_TRUE(named.usuallyTranslates());
  const SpeechTokens alone = tokensOf(with(R"("is_multilingual": false)"));
  EXPECT_EQ(messageOf(alone.language("zh")), "--language: expected en, the only one, found 'zh'");
  auto failureOf = [](const char *keys) { return failure(with(keys)); };
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
  EXPECT_EQ(failure(
                R"({"decoder_start_token_id": 50, "eos_token_id": 49, "no_timestamps_token_id": 62,
                    "is_multilingual": false, "forced_decoder_ids": [[1, 62]]})"),
            "no failure");
}

TEST(SpeechTokensTest, AskForTimesChecksAndWhatWasSaid) {
  const SpeechTokens usual = tokensOf(multilingual);
  EXPECT_FALSE(usual.usuallyTimes());
  EXPECT_TRUE(usual.usuallyUsesEarlierText());
  EXPECT_EQ(usual.checks().mostCompression, 1.35);
  const SpeechTokens asking =
      tokensOf(with(R"("return_timestamps": true, "condition_on_prev_tokens": false,
      "compression_ratio_threshold": 2, "logprob_threshold": -0.5, "no_speech_threshold": null)"));
  EXPECT_TRUE(asking.usuallyTimes());
  EXPECT_FALSE(asking.usuallyUsesEarlierText());
  EXPECT_EQ(asking.checks().mostCompression, 2);
  EXPECT_EQ(asking.checks().leastLogProbability, -0.5);
  EXPECT_EQ(asking.checks().silence, 0.6);
  EXPECT_EQ(failure(with(R"("logprob_threshold": "low")")),
            "g.json: logprob_threshold: expected a number, found 'low'");
}

TEST(SpeechTokensTest, RefuseWhatIsNotFollowed) {
  auto failureOf = [](const std::string &keys) { return failure(with(keys)); };
  for (const auto &[keys, message] :
       {std::pair(R"("num_beam_groups": 2)", "num_beam_groups: expected 1, found 2"),
        {R"("eta_cutoff": 0.9)", "eta_cutoff: expected 0.0, found 0.9"},
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
       {R"("num_beam_groups": 1, "eta_cutoff": 0, "diversity_penalty": 0.0, "max_time": null)",
        R"("bad_words_ids": [[1], [2, 3]], "forced_eos_token_id": [49], "sequence_bias": false)",
        R"("alignment_heads": [[1, 0]], "median_filter_width": 7, "guidance_scale": 1)"})
    EXPECT_EQ(failureOf(keys), "no failure") << keys;
}

TEST(SpeechTokensTest, KnowHowManyMayFollow) {
  EXPECT_EQ(tokensOf(multilingual).mostBehind(4, 20), 17);
  EXPECT_EQ(tokensOf(with(R"("max_length": 15)")).mostBehind(4, 20), 11);
  EXPECT_EQ(tokensOf(with(R"("max_length": 15, "max_new_tokens": 9)")).mostBehind(4, 20), 9);
  EXPECT_EQ(tokensOf(with(R"("max_length": 3)")).mostBehind(4, 20), 0);
  EXPECT_EQ(tokensOf(multilingual).leastBehind(4), 0);
  EXPECT_EQ(tokensOf(with(R"("min_length": 9)")).leastBehind(4), 5);
  EXPECT_EQ(tokensOf(with(R"("min_length": 3)")).leastBehind(4), 0);
  EXPECT_EQ(tokensOf(with(R"("min_length": 9, "min_new_tokens": 2)")).leastBehind(4), 2);
}

} // namespace
