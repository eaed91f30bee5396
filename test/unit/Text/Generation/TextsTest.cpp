//===- TextsTest.cpp - The texts of a command ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests texts from arguments, a file or standard input, which errors name.
#include "TemporaryFolder.h"
#include "TextBatches.h"

#include <gmock/gmock.h>
#include <sstream>

using namespace heddle;
using testing::ElementsAre;

namespace {

std::vector<std::string> allOf(Texts &texts) {
  std::vector<std::string> all;
  for (std::string text; texts.next(text);)
    all.push_back(text);
  return all;
}

/// A buffer that fails after its first line.
class Broken : public std::streambuf {
  int_type underflow() override {
    if (line.empty())
      throw 1; // std::istream treats it as a device failure
    text = std::exchange(line, "");
    setg(text.data(), text.data(), text.data() + text.size());
    return traits_type::to_int_type(text[0]);
  }
  std::string line = "one\n", text;
};

TEST(Texts, ArgumentsComeBeforeStandardInput) {
  std::istringstream in("a line\n");
  const std::vector<std::string> arguments = {"one", "", "three"};
  Texts texts(arguments, in);
  std::string text;
  ASSERT_TRUE(texts.next(text));
  EXPECT_EQ(texts.place(), "text 1");
  EXPECT_EQ(texts.number(), 0u);
  EXPECT_TRUE(texts.isNextAtHand());
  EXPECT_NEAR(*texts.share(), 1.0 / 3, 1e-9);
  EXPECT_THAT(allOf(texts), ElementsAre("", "three"));
  EXPECT_EQ(*texts.share(), 1);
  EXPECT_TRUE(texts.finish());
}

TEST(Texts, OneArgumentNeedsNoNumber) {
  std::istringstream in;
  const std::vector<std::string> arguments = {"one"};
  Texts texts(arguments, in);
  EXPECT_THAT(allOf(texts), ElementsAre("one"));
  EXPECT_EQ(texts.place(), "text");
}

TEST(Texts, LinesOfStandardInput) {
  std::istringstream in("one\n\nthree");
  const std::vector<std::string> none;
  Texts texts(none, in);
  EXPECT_TRUE(texts.isNextAtHand());
  EXPECT_THAT(allOf(texts), ElementsAre("one", "", "three"));
  EXPECT_EQ(texts.place(), "line 3");
  EXPECT_EQ(texts.share(), std::nullopt);
  EXPECT_FALSE(texts.isNextAtHand());
  EXPECT_TRUE(texts.finish());
}

TEST(Texts, AReadErrorIsSaid) {
  Broken buffer;
  std::istream in(&buffer);
  const std::vector<std::string> none;
  Texts texts(none, in);
  EXPECT_THAT(allOf(texts), ElementsAre("one"));
  EXPECT_EQ(texts.finish().error().message,
            "line 2: expected a line that fits in memory, found a read error");
}

TEST(Texts, AFileSaysHowMuchIsRead) {
  test::TemporaryFolder folder;
  const std::string name = folder.write("texts.txt", "12345678\n\n1234567890\n");
  TextCommand command;
  command.input = name;
  std::istringstream in("not read\n");
  Texts texts(command, in);
  std::string text;
  ASSERT_TRUE(texts.next(text));
  EXPECT_EQ(text, "12345678");
  EXPECT_EQ(texts.place(), name + ": line 1");
  EXPECT_NEAR(*texts.share(), 9.0 / 21, 1e-9);
  EXPECT_THAT(allOf(texts), ElementsAre("", "1234567890"));
  EXPECT_TRUE(texts.finish());
}

TEST(Texts, AMissingFileIsNamed) {
  TextCommand command;
  command.input = "/no/such/texts.txt";
  std::istringstream in("not read\n");
  Texts texts(command, in);
  EXPECT_THAT(allOf(texts), ElementsAre());
  EXPECT_EQ(texts.finish().error().message,
            "/no/such/texts.txt: expected a file that can be read, found none");
}

TEST(Texts, ThoseThatAreLeftOutHaveNoSource) {
  EXPECT_THAT(sourcesOf({{{1, 2}, 0}, {{}, 1, true}, {{3}, 2}}),
              ElementsAre(ElementsAre(1, 2), ElementsAre(3)));
}

TEST(Texts, WhatCannotBeWrittenIsAnError) {
  std::ostringstream out;
  EXPECT_TRUE(written(out));
  out.setstate(std::ios::badbit);
  EXPECT_EQ(written(out).error().message,
            "standard output: expected to write all results, found an error");
}

} // namespace
