//===- VocabularyTest.cpp - Splitting and numbering ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests text that is and is not UTF-8, both ways of splitting, and variants of
// vocabulary files.
#include "heddle/Generation/Vocabulary.h"

#include <gmock/gmock.h>

using namespace heddle;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

std::vector<std::string> split(std::string_view text, Split how) {
  auto tokens = splitText(text, how, "text");
  return tokens ? *tokens : std::vector<std::string>{"error: " + tokens.error().message};
}

TEST(SplitText, WordsLieBetweenWhiteSpace) {
  EXPECT_THAT(split("我 是 谁", Split::Space), ElementsAre("我", "是", "谁"));
  EXPECT_THAT(split("  who\tam \n i ", Split::Space), ElementsAre("who", "am", "i"));
  EXPECT_THAT(split("我\u3000是", Split::Space), ElementsAre("我", "是")); // the ideographic space
}

TEST(SplitText, CharactersAreCodePointsWithoutWhiteSpace) {
  EXPECT_THAT(split("中国 人。", Split::Character), ElementsAre("中", "国", "人", "。"));
  EXPECT_THAT(split("a\U0001F600b", Split::Character), ElementsAre("a", "\U0001F600", "b"));
}

TEST(SplitText, BlanksAreTokensBetweenCharactersWhereTheyAreAsked) {
  auto tokens = splitText("a b\tc", Split::Character, "text", true);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_THAT(*tokens, ElementsAre("a", " ", "b", " ", "c"));
}

TEST(SplitText, NothingGivesNothing) {
  EXPECT_THAT(split("", Split::Space), IsEmpty());
  EXPECT_THAT(split(" \u3000\t", Split::Character), IsEmpty());
}

TEST(SplitText, OtherBytesAreNamed) {
  EXPECT_THAT(split("ab\xff", Split::Space),
              ElementsAre("error: text: expected UTF-8, found byte 0xff at offset 2"));
  // A truncated sequence, a surrogate, and an overlong slash.
  EXPECT_THAT(split("\xe6\x88", Split::Space),
              ElementsAre("error: text: expected UTF-8, found byte 0xe6 at offset 0"));
  EXPECT_THAT(split("\xed\xa0\x80", Split::Character),
              ElementsAre("error: text: expected UTF-8, found byte 0xed at offset 0"));
  EXPECT_THAT(split("x \xc0\xaf", Split::Space),
              ElementsAre("error: text: expected UTF-8, found byte 0xc0 at offset 2"));
}

TEST(Vocabulary, NumbersLinesFromZero) {
  auto vocabulary = Vocabulary::parse("<pad>\n<unk>\n我\n是", "source.txt");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->size(), 4);
  EXPECT_EQ(vocabulary->find("是"), 3);
  EXPECT_EQ(vocabulary->find("谁"), std::nullopt);
  EXPECT_EQ(vocabulary->token(2), "我");
}

TEST(Vocabulary, TakesEmptyLinesCarriageReturnsAndTwins) {
  auto vocabulary = Vocabulary::parse("a\r\n\nb\na\n", "v.txt");
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->size(), 4);
  EXPECT_EQ(vocabulary->find("a"), 0);
  EXPECT_EQ(vocabulary->find("b"), 2);
}

TEST(Vocabulary, RefusesWhatIsNoText) {
  auto empty = Vocabulary::parse("", "v.txt");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message, "v.txt: expected one token a line, found an empty file");
  auto binary = Vocabulary::parse("a\n\x80", "v.txt");
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().message, "v.txt: expected UTF-8, found byte 0x80 at offset 2");
}

} // namespace
