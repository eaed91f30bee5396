//===- LanguageTest.cpp - Languages and tasks against Transformers --------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests `translate` on the folders of test/data/languages, each with its tokenizer of
// test/data/tokenizers/folders, against texts of Transformers (make.py).

#include "LanguageFolders.h"
#include "Models.h"

#include "heddle/ExecutionEngine/Jit.h"
#include "heddle/Generation/Commands.h"

#include <gmock/gmock.h>
#include <sstream>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;

namespace {

class LanguageTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    putFolder(GetParam(), "folders/" + GetParam(), folder.path());
    auto compiled = jit(folder.path().string(), {.device = "cpu"});
    ASSERT_TRUE(compiled) << compiled.error().message;
    session.emplace(std::move(*compiled));
  }
  std::string translate(TranslateCommand command) {
    std::istringstream in;
    std::ostringstream out, notes;
    Status status = translateCommand(*session, command, in, out, notes);
    return status ? out.str() : "error: " + status.error().message;
  }
  TemporaryFolder folder;
  std::optional<Session> session;
};

TEST_P(LanguageTest, TextsAreThoseOfTransformers) {
  HEDDLE_ASSERT(answers, goldenOf(GetParam(), "answers.json"));
  EXPECT_GE(answers.size(), 10u);
  for (const auto &answer : answers) {
    TranslateCommand command{.text = {.texts = {answer["text"].get<std::string>()}}};
    for (auto [key, value] :
         {std::pair("from", &command.from), {"to", &command.to}, {"task", &command.task}})
      if (answer.contains(key))
        *value = answer[key].get<std::string>();
    EXPECT_EQ(translate(command), answer["answer"].get<std::string>() + "\n")
        << command.from.value_or("") << " " << command.to.value_or("") << " "
        << command.task.value_or("") << ": " << answer["text"];
  }
}

TEST_P(LanguageTest, WhatTheModelDoesNotKnowIsAnError) {
  const TextCommand a{.texts = {"a"}};
  if (GetParam() == "t5") {
    EXPECT_EQ(translate({.text = a, .to = "de"}),
              "error: --to: expected a model with languages, found one without");
    EXPECT_EQ(translate({.text = a, .task = "question"}),
              "error: --task: expected a task of the model (summarization, translation_en_to_de), "
              "found 'question'");
    return;
  }
  EXPECT_EQ(translate({.text = a, .task = "question"}),
            "error: --task: expected a model with tasks, found one without");
  EXPECT_THAT(translate({.text = a, .to = "Elvish"}),
              testing::AllOf(HasSubstr("error: --to: expected a language of the model ("),
                             HasSubstr("), found 'Elvish'")));
  if (GetParam() == "marian") {
    EXPECT_EQ(translate({.text = a, .to = "eng"}),
              "error: --to: expected a language of the model (deu, fra), found 'eng'");
    EXPECT_EQ(translate({.text = a, .from = "fra"}),
              "error: --from: expected a model that is told the language of a text, found one that "
              "is not");
  } else if (GetParam() != "mbart") { // its folder defines the language with which writing begins
    EXPECT_THAT(translate({.text = a}), HasSubstr("), found none"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, LanguageTest,
                         testing::Values("t5", "mbart", "mbart50", "m2m-100", "nllb", "marian"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

} // namespace
