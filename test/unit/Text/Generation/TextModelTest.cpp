//===- TextModelTest.cpp - Text to ids and back -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests each rule of texts (docs/model-description.md), and malformed facts.
#include "heddle/Generation/TextModel.h"

#include <gmock/gmock.h>

using namespace heddle;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Expected<std::string> readMember(const std::string &name) {
  if (name == "source.txt")
    return std::string("P\nU\nS\nE\n我\n是\n谁\n");
  if (name == "target.txt")
    return std::string("P\nU\nS\nE\nwho\nam\ni\n");
  return inputError("no member " + name);
}

/// A model whose source side has `keys` in addition to its vocabulary.
Expected<TextModel> model(const std::string &keys) {
  return readTextModel(
      R"({"text": {"kind": "encoder-decoder"}, "source": {"vocabulary-file": "source.txt")" + keys +
          R"(}, "target": {"vocabulary-file": "target.txt", "limit": 9}})",
      readMember);
}

std::vector<int32_t> ids(const std::string &keys, const std::string &text) {
  auto facts = model(keys);
  EXPECT_TRUE(facts) << facts.error().message;
  auto encoded = facts->source->encode(text, "text");
  EXPECT_TRUE(encoded) << encoded.error().message;
  return encoded->ids;
}

std::string failure(const std::string &keys, const std::string &text) {
  auto facts = model(keys);
  if (!facts)
    return facts.error().message;
  auto encoded = facts->source->encode(text, "text");
  return encoded ? "no error" : encoded.error().message;
}

TEST(TextModel, KeysLeftOutHaveTheirDefaults) {
  auto facts = model("");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->kind, "encoder-decoder");
  EXPECT_FALSE(facts->sequenceFirst);
  EXPECT_EQ(facts->source->limit, 256);
  EXPECT_EQ(facts->target->limit, 9);
  EXPECT_EQ(facts->target->start, 2);
}

TEST(TextModel, WordsBecomeIds) {
  EXPECT_THAT(ids("", "我 是 谁"), ElementsAre(4, 5, 6));
  EXPECT_THAT(ids(R"(, "split": "character")", "我是 谁"), ElementsAre(4, 5, 6));
  EXPECT_THAT(ids("", ""), IsEmpty());
}

TEST(TextModel, UnknownWordsHaveAnIdOrAreAnError) {
  EXPECT_THAT(ids("", "我 不 是"), ElementsAre(4, 1, 5));
  EXPECT_THAT(ids(R"(, "unknown": 3)", "不"), ElementsAre(3));
  EXPECT_EQ(failure(R"(, "unknown": null)", "我 不"),
            "text: expected words of source.txt, found '不'");
}

TEST(TextModel, StartAndEndAreAddedWhereAsked) {
  EXPECT_THAT(ids(R"(, "add": true)", "我"), ElementsAre(2, 4, 3));
  EXPECT_THAT(ids(R"(, "add": true, "start": null)", "我"), ElementsAre(4, 3));
  EXPECT_THAT(ids(R"(, "add": true, "ends": [])", ""), ElementsAre(2));
}

/// A prompt is part of the text, including all its whitespace.
TEST(TextModel, APromptIsPartOfTheText) {
  auto idsOf = [](const std::string &text, std::string_view before) {
    auto model =
        readTextModel(R"({"text": {"kind": "encoder"}, "source": {"tokenizer-file": "t.json"}})",
                      [](const std::string &) -> Expected<std::string> {
                        return std::string(R"({"model": {"type": "WordLevel", "unk_token": "?",
                                           "vocab": {"?": 0, "a b": 1, "q: a b": 2, "q: ": 3}}})");
                      });
    EXPECT_TRUE(model);
    auto encoded = model->input().encode(text, "text", {.before = before});
    EXPECT_TRUE(encoded) << encoded.error().message;
    return std::pair(encoded->ids, encoded->empty);
  };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(idsOf("a b", ""), std::pair(Ids{1}, false));
  EXPECT_EQ(idsOf("a b\r", ""), std::pair(Ids{0}, false));
  EXPECT_EQ(idsOf("a b", "q: "), std::pair(Ids{2}, false));
  EXPECT_EQ(idsOf("", "q: "), std::pair(Ids{3}, false)); // only the prompt
  EXPECT_EQ(idsOf("", ""), std::pair(Ids{}, true));
}

/// The whitespace at the end of a prompt is one of the tokens that are excluded from a vector.
TEST(TextModel, RowsOfAPromptAreCounted) {
  auto model = readTextModel(
      R"({"source": {"tokenizer-file": "t.json"}, "text": {"kind": "encoder", "pools-parts": true,
          "prompt-is-pooled": false, "prompts": {"ask": "q: "}}})",
      [](const std::string &) -> Expected<std::string> {
        return std::string(R"({
          "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": false},
          "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "q:": 1, " ": 2}}})");
      });
  ASSERT_TRUE(model) << model.error().message;
  auto context = model->contextAfterPrompt("ask");
  ASSERT_TRUE(context) << context.error().message;
  EXPECT_EQ(context->leftOut, 2);
}

TEST(TextModel, LengthPadsRefusesOrCuts) {
  EXPECT_THAT(ids(R"(, "length": 5)", "我 是"), ElementsAre(4, 5, 0, 0, 0));
  const std::string tooLong = "text: expected at most 2 tokens, found 3; --truncate cuts a text";
  EXPECT_EQ(failure(R"(, "length": 2)", "我 是 谁"), tooLong);
  EXPECT_THAT(ids(R"(, "most": 5)", "我 是"), ElementsAre(4, 5));
  EXPECT_EQ(failure(R"(, "most": 2)", "我 是 谁"), tooLong);
  auto facts = model(R"(, "length": 2, "cut": true)");
  ASSERT_TRUE(facts) << facts.error().message;
  auto encoded = facts->source->encode("我 是 谁", "text");
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_THAT(encoded->ids, ElementsAre(4, 5));
  EXPECT_EQ(encoded->cut, 1);
}

TEST(TextModel, IdsBecomeTextWithoutSpecialOnes) {
  auto facts = model("");
  ASSERT_TRUE(facts) << facts.error().message;
  const std::vector<int32_t> some = {2, 4, 5, 1, 6, 3, 0};
  EXPECT_EQ(facts->target->decode(some), "who am i");
  facts->target->split = Split::Character;
  EXPECT_EQ(facts->target->decode(some), "whoami");
}

TEST(TextModel, FactsThatAreNoFactsAreErrors) {
  EXPECT_EQ(failure(R"(, "start": 7)", ""),
            "source.start: expected an id below 7, the tokens of source.txt, found 7");
  EXPECT_EQ(failure(R"(, "padding": -1)", ""),
            "source.padding: expected an id or a count, found -1");
  EXPECT_EQ(failure(R"(, "split": "word")", ""),
            "source.split: expected one of space, character, found 'word'");
  EXPECT_FALSE(readTextModel(R"({"text": {"kind": 3}})", readMember));
  EXPECT_FALSE(readTextModel("[", readMember));
  EXPECT_FALSE(readTextModel("", readMember));
  EXPECT_FALSE(readTextModel(
      R"({"text": {"kind": "encoder"}, "source": {"vocabulary-file": "gone.txt"}})", readMember));
}

TEST(TextModel, LanguagesAreTokensOfTheTokenizer) {
  auto failureWith = [](const std::string &token) {
    auto model = readTextModel(
        R"({"source": {"tokenizer-file": "t.json"}, "target": {"tokenizer-file": "t.json"},
            "text": {"kind": "encoder-decoder", "languages": {"tokens": {"de": )" +
            token + "}}}}",
        [](const std::string &) {
          return Expected<std::string>(
              R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}})");
        });
    return model ? "no error" : model.error().message;
  };
  EXPECT_EQ(failureWith("1"), "no error");
  const std::string place = "text.languages.tokens.de: expected ";
  EXPECT_EQ(failureWith("2"), place + "the id of a token of the source's tokenizer, found 2");
  EXPECT_EQ(failureWith("\"a\""), place + "an id or a count, found 'a'");
  for (const char *token : {"-1", "4294967297"})
    EXPECT_EQ(failureWith(token), place + "an id or a count, found " + token);
}

TEST(TextModel, SidesWithoutTextHaveNoVocabulary) {
  auto facts = readTextModel(
      R"({"text": {"kind": "encoder", "sequence-first": true}, "source": {}})", readMember);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_TRUE(facts->sequenceFirst);
  EXPECT_FALSE(facts->source->vocabulary);
  EXPECT_FALSE(facts->target);
}

} // namespace
