//===- TranslateTest.cpp - The translation example, text to text --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests `translate` through the library that both drivers call: the sequence of the README, the
// held-out sequences with their required accuracy, batches, limits and invalid text.
#include "Models.h"
#include "heddle/Generation/Commands.h"

#include <fstream>
#include <sstream>

using namespace heddle;
using namespace heddle::test;

namespace {

class TranslateTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!artifactFolder())
      GTEST_SKIP() << "HEDDLE_TEST_ARTIFACTS names no artifacts";
    auto opened = openArtifact("translate", {.device = GetParam()});
    if (!opened && isMissingDevice(opened.error()))
      GTEST_SKIP() << opened.error().message;
    ASSERT_TRUE(opened) << opened.error().message;
    session.emplace(std::move(*opened));
  }

  std::string translate(const TranslateCommand &command, const std::string &lines = "") {
    std::istringstream in(lines);
    std::ostringstream out;
    Status status = translateCommand(*session, command, in, out, notes);
    return status ? out.str() : out.str() + "error: " + status.error().message;
  }

  std::optional<Session> session;
  std::ostringstream notes;
};

/// Chinese and English of the first `count` pairs in a file of examples/translate.
std::vector<std::pair<std::string, std::string>> readPairs(const std::string &file, size_t count) {
  std::ifstream in(std::string(HEDDLE_SOURCE_DIR) + "/examples/translate/" + file);
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::string line; pairs.size() < count && std::getline(in, line);)
    pairs.emplace_back(line.substr(0, line.find('\t')), line.substr(line.find('\t') + 1));
  return pairs;
}

TEST_P(TranslateTest, KnowsWhoIAm) {
  EXPECT_EQ(translate({.text = {.texts = {"我 是 谁"}}}), "who am i\n");
  EXPECT_EQ(translate({.text = {.texts = {"我 是 谁", "中国人 有 中国 梦"}}}),
            "who am i\nthe chinese people have a chinese dream\n");
}

TEST_P(TranslateTest, HeldOutSequencesMatchExactly) {
  const bool cpu = GetParam() == "cpu";
  const auto pairs = readPairs("held-out.tsv", cpu ? 500 : 60);
  std::string lines;
  for (const auto &[chinese, english] : pairs)
    lines += chinese + "\n";
  std::istringstream translated(translate({.text = {.batch = 32}}, lines));
  size_t exact = 0;
  for (const auto &[chinese, english] : pairs) {
    std::string line;
    ASSERT_TRUE(std::getline(translated, line));
    exact += line == english;
  }
  EXPECT_GE(exact * 100, pairs.size() * 95) << exact << " of " << pairs.size();
}

TEST_P(TranslateTest, BatchesDoNotChangeTranslations) {
  std::string lines;
  for (const auto &[chinese, english] : readPairs("patterns.tsv", 20))
    lines += chinese + "\n";
  const std::string one = translate({}, lines);
  EXPECT_EQ(translate({.text = {.batch = 7}}, lines), one);
  EXPECT_EQ(translate({.text = {.batch = 20}}, lines), one);
}

/// New texts replace finished ones in a batch, also with beams: one batch has memory of many
/// lengths.
TEST_P(TranslateTest, TextsJoinBatches) {
  std::string lines, answers;
  for (const auto &[chinese, english] : readPairs("patterns.tsv", 14)) {
    lines += chinese + "\n";
    answers += translate({.writing = {.beam = 2}}, chinese + "\n");
  }
  EXPECT_EQ(translate({.text = {.batch = 3}, .writing = {.beam = 2}}, lines), answers);
}

TEST_P(TranslateTest, EmptyTextsGiveEmptyLines) {
  EXPECT_EQ(translate({.text = {.batch = 4}}, "\n我 是 谁\n  \n"), "\nwho am i\n\n");
  EXPECT_EQ(translate({}, ""), "");
}

TEST_P(TranslateTest, LimitsCutTranslations) {
  EXPECT_EQ(translate({.text = {.texts = {"我 是 谁"}}, .writing = {.limit = 2}}), "who am\n");
  EXPECT_EQ(translate({.text = {.texts = {"我 是 谁"}}, .writing = {.limit = 41}}),
            "error: --limit: expected 1 to 40, the tokens that the model's caches hold, found 41");
  EXPECT_EQ(translate({.text = {.texts = {"我 是 谁"}, .batch = 0}}),
            "error: --batch: expected at least 1, found 0");
}

TEST_P(TranslateTest, BadTextIsAnErrorAfterTheGoodOnes) {
  EXPECT_EQ(translate({.text = {.batch = 8}}, "我 是 谁\n我 是 who\n我 是 谁\n"),
            "who am i\nerror: line 2: expected words of source.txt, found 'who'");
  EXPECT_EQ(translate({.text = {.texts = {"\xff"}}}),
            "error: text: expected UTF-8, found byte 0xff at offset 0");
}

INSTANTIATE_TEST_SUITE_P(Devices, TranslateTest, testing::Values<std::string>("cpu", "vulkan"),
                         [](const auto &info) { return info.param; });

} // namespace
