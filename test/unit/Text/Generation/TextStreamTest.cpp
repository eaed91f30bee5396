//===- TextStreamTest.cpp - Text of a stream of tokens ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests characters of several tokens, whitespace, and texts that end an answer.
#include "heddle/Generation/TextStream.h"

#include <gmock/gmock.h>

using namespace heddle;
using testing::ElementsAre;

namespace {

constexpr int32_t a = 0, b = 1, first = 2, second = 3, blank = 4;

/// Tokens are bytes: a, b, the two bytes of é, and a space.
const TextSide &bytes() {
  static const TextSide side = [] {
    auto tokenizer = Tokenizer::fromJson(
        R"({"version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                              "use_regex": true},
            "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                        "use_regex": true},
            "model": {"type": "BPE", "dropout": null, "unk_token": null,
                      "continuing_subword_prefix": null, "end_of_word_suffix": null,
                      "fuse_unk": false, "byte_fallback": false, "merges": [],
                      "vocab": {"a": 0, "b": 1, "Ã": 2, "©": 3, "Ġ": 4}}})",
        "tokenizer.json");
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    TextSide made;
    made.tokenizer = std::move(*tokenizer);
    return made;
  }();
  return side;
}

/// The text emitted after each token, followed by the remaining text.
std::vector<std::string> pieces(const std::vector<int32_t> &before,
                                const std::vector<int32_t> &tokens,
                                const std::vector<std::string> &stops = {}) {
  TextStream stream(bytes(), before, stops);
  std::vector<std::string> result;
  for (int32_t token : tokens)
    result.push_back(stream.add(token));
  result.push_back(stream.finish());
  return result;
}

TEST(TextStream, CharactersAreWhole) {
  EXPECT_THAT(pieces({a}, {b, first, second, blank, a}), ElementsAre("b", "", "é", " ", "a", ""));
  EXPECT_THAT(pieces({}, {a, first}), ElementsAre("a", "", "\ufffd"));
  EXPECT_THAT(pieces({}, {first, a, b}), ElementsAre("", "\ufffda", "b", ""));
}

TEST(TextStream, APromptMayBeLong) {
  EXPECT_THAT(pieces(std::vector<int32_t>(99, second), {a, first, second}),
              ElementsAre("a", "", "é", ""));
}

TEST(TextStream, StopsAreNoPartOfTheText) {
  EXPECT_THAT(pieces({}, {a, b, b, a}, {"ba"}), ElementsAre("a", "", "b", "", ""));
  EXPECT_THAT(pieces({}, {a, b, b}, {"ba"}), ElementsAre("a", "", "b", "b"));
  EXPECT_THAT(pieces({}, {a, b, a}, {"x", "b", "ab"}), ElementsAre("", "", "", ""));
  EXPECT_THAT(pieces({}, {a, first, second, b}, {"é"}), ElementsAre("a", "", "", "", ""));
  TextStream stream(bytes(), {}, {"b"});
  stream.add(a);
  EXPECT_FALSE(stream.stopped());
  stream.add(b);
  EXPECT_TRUE(stream.stopped());
}

/// The longest prefix of any stop text is held back.
TEST(TextStream, WhatMayBecomeAStopWaits) {
  EXPECT_THAT(pieces({}, {a, a, b}, {"aab ", "ab"}), ElementsAre("", "", "a", ""));
  EXPECT_THAT(pieces({}, {a, a, a}, {"aab ", "ab"}), ElementsAre("", "", "a", "aa"));
}

} // namespace
