//===- LabelsTest.cpp - Vectors of T5 and classes of BART -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests the encoder of a T5 as an embedder, and classification by a BART with its own classes and
// with arbitrary labels, against Transformers' pipelines (test/data/languages/make.py).

#include "LanguageFolders.h"
#include "Models.h"

#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Generation/Commands.h"
#include "heddle/Generation/TextEncoder.h"

#include <gmock/gmock.h>
#include <sstream>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {

/// A folder without a pooling configuration gives the mean of a text's rows.
TEST(T5, EmbedsTexts) {
  TemporaryFolder folder;
  putFolder("t5", "folders/t5", folder.path());
  JitOptions options;
  options.needsVectors = true;
  HEDDLE_ASSERT(session, jit(folder.path().string(), options));
  HEDDLE_ASSERT(encoder, TextEncoder::create(session));
  HEDDLE_ASSERT(texts, goldenOf("t5", "vectors.json"));
  for (const auto &text : texts) {
    HEDDLE_ASSERT(found, encoder.encode({text["text"].get<std::string>()}));
    const auto expected = text["vector"].get<std::vector<float>>();
    ASSERT_EQ(found[0].size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found[0][i], expected[i], 1e-4) << text["text"];
  }
}

class ClassesTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    putFolder("bart-classes", "roberta", folder->path());
    auto compiled = jit(folder->path().string(), {.device = "cpu"});
    ASSERT_TRUE(compiled) << compiled.error().message;
    session = new Session(std::move(*compiled));
  }
  static void TearDownTestSuite() {
    delete session;
    delete folder;
  }
  static std::string classify(const ClassifyCommand &command) {
    std::istringstream in;
    std::ostringstream out, notes;
    Status status = classifyCommand(*session, command, in, out, notes);
    return status ? out.str() : out.str() + "error: " + status.error().message;
  }
  static ClassifyCommand commandOf(const nlohmann::ordered_json &golden) {
    ClassifyCommand command{.all = true};
    command.labels = golden.value("labels", command.labels);
    if (golden.contains("hypothesis"))
      command.hypothesis = golden["hypothesis"].get<std::string>();
    command.manyLabels = golden.value("many", false);
    return command;
  }
  static inline TemporaryFolder *folder = nullptr;
  static inline Session *session = nullptr;
};

/// Compares the scores of output lines, which must be in descending order.
void expectScores(const std::string &lines, const nlohmann::ordered_json &scores) {
  std::istringstream in(lines);
  double last = 1;
  size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, line.npos) << line;
    const double score = std::stod(line.substr(tab + 1));
    EXPECT_NEAR(score, scores.value(line.substr(0, tab), -1.0), 1e-4) << line;
    EXPECT_LE(score, last);
    last = score;
  }
  EXPECT_EQ(count, scores.size());
}

TEST_F(ClassesTest, ScoresAreThoseOfThePipelines) {
  HEDDLE_ASSERT(texts, goldenOf("bart-classes", "classes.json"));
  EXPECT_GE(texts.size(), 25u);
  for (const auto &text : texts) {
    ClassifyCommand command = commandOf(text);
    command.run.text.texts = {text["text"].get<std::string>()};
    SCOPED_TRACE(text.dump());
    expectScores(classify(command), text["scores"]);
  }
}

TEST_F(ClassesTest, TextsTogetherGiveTheLinesOfEachAlone) {
  ClassifyCommand command{.labels = {"sports", "love"}};
  std::string alone;
  const std::vector<std::string> texts = {"a", "the quick brown fox jumps", "", "def compute"};
  for (const std::string &text : texts) {
    command.run.text.texts = {text};
    std::string line = classify(command);
    line.insert(line.size() - 1, "\t" + text); // with several texts, each line names its text
    alone += line;
  }
  command.run.text.texts = texts;
  EXPECT_EQ(classify(command), alone);
  EXPECT_EQ(std::ranges::count(alone, '\n'), 4);
}

TEST_F(ClassesTest, LabelsThatSayNothingAreErrors) {
  ClassifyCommand command{.labels = {"a", ""}};
  command.run.text.texts = {"a"};
  EXPECT_EQ(classify(command),
            "error: --labels: expected labels with commas between them, found an empty one");
  command.labels = {"a"};
  command.hypothesis = "none";
  EXPECT_EQ(classify(command), "error: --hypothesis: expected a sentence with {} where a label "
                               "stands, found 'none'");
  command.hypothesis = "{}";
  command.pair = "b";
  EXPECT_EQ(classify(command), "error: --pair: expected no --labels with it, found some");
  command.labels.clear();
  EXPECT_EQ(classify(command), "error: --hypothesis: expected --labels with it, found none");
  std::istringstream in;
  std::ostringstream out;
  Status translated = translateCommand(*session, {.text = command.run.text}, in, out, out);
  ASSERT_FALSE(translated);
  EXPECT_THAT(translated.error().message,
              HasSubstr("expected a model that writes text, found one with classes"));
}

} // namespace
