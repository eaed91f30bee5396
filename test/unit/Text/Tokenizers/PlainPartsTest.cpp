//===- PlainPartsTest.cpp - Special tokens as text ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In plain parts of a text, special tokens are text, for every kind of
// tokenizer.
#include "OldFolder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using test::idsOf;
using testing::Contains;
using testing::Not;

namespace {

namespace fs = std::filesystem;

EncodeOptions plainIn(const std::string &text, size_t begin = 0, size_t end = std::string::npos) {
  return {
      .specialTokens = false,
      .plain = {{static_cast<uint32_t>(begin), static_cast<uint32_t>(std::min(end, text.size()))}}};
}

std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  for (const auto &entry :
       fs::directory_iterator(std::string(HEDDLE_SOURCE_DIR) + "/test/data/tokenizers"))
    if (entry.is_directory() && fs::exists(entry.path() / "tokenizer.json"))
      found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

TEST(PlainParts, HoldNoSpecialTokenOfAnyKind) {
  size_t tried = 0;
  for (const fs::path &folder : folders()) {
    const auto tokenizer = openTokenizer(folder.string());
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    std::ifstream file(folder / "tokenizer.json");
    const auto json = nlohmann::json::parse(file);
    for (const auto &token : json["added_tokens"]) {
      const std::string content = token["content"];
      if (!token["special"].get<bool>() || content.size() < 2)
        continue;
      const int32_t id = *tokenizer->tokenToId(content);
      const auto unknown = tokenizer->tokenToId("<unk>");
      if (id == unknown || content == "[UNK]" || content == "<|unk|>")
        continue; // this token also represents other text
      const std::string text = "a" + content + " b " + content + content + "c";
      EXPECT_THAT(idsOf(*tokenizer, text, plainIn(text)), Not(Contains(id))) << folder << content;
      // The first occurrence comes from the template and is outside of all plain parts.
      const auto first = idsOf(*tokenizer, text, plainIn(text, 1 + content.size()));
      if (std::ranges::count(idsOf(*tokenizer, text, {.specialTokens = false}), id) == 3) {
        EXPECT_EQ(std::ranges::count(first, id), 1) << folder << content;
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 20u);
}

TEST(PlainParts, OrdinaryTextHasTheSameIds) {
  for (const fs::path &folder : folders()) {
    const auto tokenizer = openTokenizer(folder.string());
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    for (const std::string text :
         {"Hello,  world!\n\n\tIt's 12345 <p>née</p> 世界 <|x", "  a\n", "x"})
      EXPECT_EQ(idsOf(*tokenizer, text, plainIn(text)),
                idsOf(*tokenizer, text, {.specialTokens = false}))
          << folder;
  }
}

std::string fileWith(const std::string &model) {
  return R"({"added_tokens": [{"id": 0, "content": "<s>", "special": true, "normalized": false},
    {"id": 1, "content": "<u>", "special": false, "normalized": false},
    {"id": 2, "content": "<s>x", "special": false, "normalized": false}], "model": )" +
         model + "}";
}

TEST(PlainParts, MarksAndShorterTokens) {
  auto tokenizer = Tokenizer::fromJson(
      fileWith(R"({"type": "Unigram", "unk_id": 3, "vocab": [["<s>", 0], ["<u>", 0], ["<s>x", 0],
        ["?", -9], ["<", -1], ["s", -1], ["u", -1], [">", -1], ["x", -1], ["s>", -1.5]]})"),
      "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto ids = [&](const std::string &text, size_t begin, bool marks) {
    EncodeOptions options = plainIn(text, begin);
    if (marks)
      options.marks = [](std::string_view token) { return token == "<u>" || token == "<s>x"; };
    return idsOf(*tokenizer, text, options);
  };
  using testing::ElementsAre;
  // The model's own vocabulary contains these tokens too.
  EXPECT_THAT(ids("<s><u>", 0, true), ElementsAre(4, 9, 4, 6, 7));
  EXPECT_THAT(ids("<s><u>", 0, false), ElementsAre(4, 9, 1));
  EXPECT_THAT(ids("<s>x", 3, true), ElementsAre(0, 8)); // x is plain and not part of a token
  EXPECT_THAT(ids("<s>x", 3, false), ElementsAre(2));
  EXPECT_THAT(ids("<s>", 1, true), ElementsAre(4, 9)); // half of the token is plain
}

} // namespace
