//===- TokenizerTest.cpp - Features outside of the golden tests ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests padding, queries of tokens, files other than tokenizer.json, and
// malformed files and texts.
#include "OldFolder.h"

#include <chrono>
#include <gmock/gmock.h>

using namespace heddle;
using test::idsOf;
using test::OldFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

std::string folderOf(const std::string &kind) {
  return std::string(HEDDLE_SOURCE_DIR) + "/test/data/tokenizers/" + kind;
}

Tokenizer tokenizerOf(const std::string &kind) {
  auto tokenizer = openTokenizer(folderOf(kind));
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return *tokenizer;
}

/// The file t.json with a model and optional further sections.
std::string fileWith(const std::string &model, const std::string &sections = "") {
  return "{" + sections + "\"model\": " + model + "}";
}
const std::string words = R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}})";

std::string errorOf(const std::string &json) {
  auto tokenizer = Tokenizer::fromJson(json, "t.json");
  return tokenizer ? "no error" : tokenizer.error().message;
}

//===- Options and questions -----------------------------------------------===//

TEST(Tokenizer, PadsToALengthOrAMultiple) {
  const Tokenizer tokenizer = tokenizerOf("bert");
  ASSERT_TRUE(tokenizer.padding() && tokenizer.truncation());
  EXPECT_EQ(tokenizer.truncation()->length, 128);
  EXPECT_EQ(idsOf(tokenizer, "a", {.padding = tokenizer.padding()}).size(), 128u);
  EXPECT_THAT(idsOf(tokenizer, "a", {.padding = Padding{.multiple = 4, .id = 9}}),
              ElementsAre(2, testing::_, 3, 9));
  auto left = tokenizer.encode("a", {.padding = Padding{.length = 5, .left = true, .typeId = 7}});
  ASSERT_TRUE(left);
  EXPECT_THAT(left->attention, ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(left->typeIds, ElementsAre(7, 7, 0, 0, 0));
  EXPECT_THAT(left->special, ElementsAre(1, 1, 1, 0, 1));
  EXPECT_THAT(left->sequences, ElementsAre(-1, -1, -1, 0, -1));
}

TEST(Tokenizer, KnowsItsTokens) {
  const Tokenizer tokenizer = tokenizerOf("llama3");
  EXPECT_EQ(tokenizer.tokenToId("<|endoftext|>"), tokenizer.size() - 3);
  EXPECT_EQ(tokenizer.idToToken(static_cast<int32_t>(tokenizer.size()) - 1), "<|a|>b");
  EXPECT_TRUE(tokenizer.isSpecial(static_cast<int32_t>(tokenizer.size()) - 3));
  EXPECT_FALSE(tokenizer.isSpecial(static_cast<int32_t>(tokenizer.size()) - 1));
  EXPECT_EQ(tokenizer.idToToken(static_cast<int32_t>(tokenizer.size())), std::nullopt);
  EXPECT_EQ(tokenizer.idToToken(-1), std::nullopt);
  EXPECT_EQ(tokenizer.tokenToId("no such token"), std::nullopt);
}

TEST(Tokenizer, SpansAreBytesOfTheText) {
  const Tokenizer tokenizer = tokenizerOf("bert");
  auto tokens = tokenizer.encode("É x", {.specialTokens = false});
  ASSERT_TRUE(tokens);
  EXPECT_THAT(tokens->spans, ElementsAre(TokenSpan{0, 2}, TokenSpan{3, 4}));
}

//===- Texts that are wrong, or long ---------------------------------------===//

TEST(Tokenizer, TextMustBeUtf8) {
  auto tokens = tokenizerOf("gpt2").encode("ab\xff", {}, "line 3");
  ASSERT_FALSE(tokens);
  EXPECT_EQ(tokens.error().message, "line 3: expected UTF-8, found byte 0xff at offset 2");
}

TEST(Tokenizer, ALengthMustHoldTheSpecialTokens) {
  const Tokenizer tokenizer = tokenizerOf("bert");
  auto tokens = tokenizer.encode("a b c", {.truncation = Truncation{.length = 1}});
  ASSERT_FALSE(tokens);
  EXPECT_EQ(tokens.error().message,
            "text: expected a length of at least 2, the special tokens, found 1");
  EXPECT_THAT(idsOf(tokenizer, "a b c", {.truncation = Truncation{.length = 2}}),
              ElementsAre(2, 3));
}

TEST(Tokenizer, AWordOfAMillionLettersEnds) {
  std::string word;
  for (int i = 0; i < 1'000'000; ++i)
    word += static_cast<char>('a' + int64_t(i) * i % 26);
  const auto began = std::chrono::steady_clock::now();
  for (const char *kind : {"bert", "gpt2", "llama", "t5", "word-level"})
    EXPECT_FALSE(idsOf(tokenizerOf(kind), word).empty()) << kind;
  // Quadratic work would take hours.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::minutes(2));
}

TEST(Tokenizer, LongWordsDoNotCostTheirSquareWhateverTheFileSays) {
  auto tokenizer = Tokenizer::fromJson(
      fileWith(R"({"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "",
                   "max_input_chars_per_word": 1000000000, "vocab": {"?": 0, "a": 1, "aa": 2}})"),
      "t.json");
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(idsOf(*tokenizer, std::string(100'001, 'a')).size(), 50'001u);
}

TEST(Tokenizer, WithoutAnUnknownTokenOthersAreErrors) {
  auto tokenizer =
      Tokenizer::fromJson(fileWith(R"({"type": "Unigram", "vocab": [["a", -1]]})"), "t.json");
  ASSERT_TRUE(tokenizer);
  EXPECT_THAT(idsOf(*tokenizer, "aa"), ElementsAre(0, 0));
  auto tokens = tokenizer->encode("ab");
  ASSERT_FALSE(tokens);
  EXPECT_THAT(tokens.error().message, StartsWith("text: expected characters of the vocabulary"));
}

TEST(Tokenizer, ARegexThatTakesForeverIsAnError) {
  auto tokenizer = Tokenizer::fromJson(
      fileWith(words, R"("normalizer": {"type": "Replace", "pattern": {"Regex": "(a+)+$"},
                                        "content": ""}, )"),
      "t.json");
  ASSERT_TRUE(tokenizer);
  auto tokens = tokenizer->encode(std::string(100, 'a') + "b");
  ASSERT_FALSE(tokens);
  EXPECT_THAT(tokens.error().message, HasSubstr("regular expression"));
}

TEST(Tokenizer, TextThatGrowsWithoutBoundIsAnError) {
  std::string steps;
  for (int i = 0; i < 60; ++i)
    steps += std::string(i ? "," : "") +
             R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  auto tokenizer = Tokenizer::fromJson(
      fileWith(words, R"("normalizer": {"type": "Sequence", "normalizers": [)" + steps + "]}, "),
      "t.json");
  ASSERT_TRUE(tokenizer);
  auto tokens = tokenizer->encode("a");
  ASSERT_FALSE(tokens);
  EXPECT_THAT(tokens.error().message, HasSubstr("whose steps read and write at most"));
}

//===- Files that are wrong ------------------------------------------------===//

struct BadFile {
  const char *name, *json, *error;
};

class BadFiles : public testing::TestWithParam<BadFile> {};

TEST_P(BadFiles, GiveOneLine) {
  std::string json = GetParam().json;
  if (const size_t at = json.find("WORDS"); at != json.npos)
    json.replace(at, 5, words);
  EXPECT_EQ(errorOf(json), std::string("t.json") + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadFiles,
    testing::Values(
        BadFile{"NoJson", "{\"model\": ", ":1:11: expected valid JSON, found the end"},
        BadFile{"List", "[]", ": expected an object, found a list"},
        BadFile{"NoModel", "{}", ": expected a key model, found none"},
        BadFile{"ModelType", R"({"model": {"type": "Neural"}})",
                ": model.type: expected one of WordPiece, BPE, Unigram, WordLevel, found 'Neural'"},
        BadFile{"NumberAsType", R"({"model": {"type": 3}})",
                ": model.type: expected one of WordPiece, BPE, Unigram, WordLevel, found 3"},
        BadFile{"VocabAsList", R"({"model": {"type": "WordLevel", "vocab": []}})",
                ": model.vocab: expected an object, found a list"},
        BadFile{"NegativeId", R"({"model": {"type": "WordLevel", "vocab": {"a": -1}}})",
                ": model.vocab.a: expected an id from 0 to 2147483647, found -1"},
        BadFile{"HugeId", R"({"model": {"type": "WordLevel", "vocab": {"a": 4294967296}}})",
                ": model.vocab.a: expected an id from 0 to 2147483647, found 4294967296"},
        BadFile{"MergeOfOne", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})",
                ": model.merges.0: expected two tokens, found 'a'"},
        BadFile{"MergeWithoutToken",
                R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "a"]]}})",
                ": model.merges.0: expected tokens of the vocabulary, found 'aa'"},
        BadFile{"Dropout",
                R"({"model": {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []}})",
                ": model.dropout: expected null (dropout is for training), found 0.1"},
        BadFile{"UnknownId", R"({"model": {"type": "Unigram", "unk_id": 1, "vocab": [["a", 0]]}})",
                ": model.unk_id: expected a whole number from 0 to 0, found 1"},
        BadFile{"Score", R"({"model": {"type": "Unigram", "vocab": [["a", "b"]]}})",
                ": model.vocab.0: expected a token and its score, found a list"},
        BadFile{"Nmt", R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}]},
                           "model": WORDS})",
                ": normalizer.normalizers.0.type: expected one of BertNormalizer, NFC, NFD, NFKC, "
                "NFKD, Lowercase, StripAccents, Strip, Replace, Prepend, Precompiled, ByteLevel, "
                "Sequence, found 'Nmt'"},
        BadFile{"CharsMap", R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"},
                                "model": WORDS})",
                ": normalizer.precompiled_charsmap: expected base64, found another character"},
        BadFile{"CharsMapSize",
                R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "//8AAA=="},
                    "model": WORDS})",
                ": normalizer.precompiled_charsmap: expected a table of 65535 bytes, found 0"},
        BadFile{"Behavior", R"({"pre_tokenizer": {"type": "Split", "pattern": {"String": " "},
                                "behavior": "Dropped"}, "model": WORDS})",
                ": pre_tokenizer.behavior: expected one of Removed, Isolated, MergedWithPrevious, "
                "MergedWithNext, Contiguous, found 'Dropped'"},
        BadFile{"Regex", R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("},
                             "behavior": "Removed"}, "model": WORDS})",
                ": pre_tokenizer.pattern.Regex: expected a regular expression that ICU takes "
                "(U_REGEX_MISMATCHED_PAREN), found '('"},
        BadFile{"Mark", R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "__"},
                            "model": WORDS})",
                ": pre_tokenizer.replacement: expected one character, found '__'"},
        BadFile{"TemplateToken",
                R"({"post_processor": {"type": "TemplateProcessing", "single":
                    [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}], "special_tokens": {}},
                    "model": WORDS})",
                ": post_processor.single.0.SpecialToken.id: expected a key of special_tokens, "
                "found '[CLS]'"},
        BadFile{"TemplateText",
                R"({"post_processor": {"type": "TemplateProcessing", "single":
                    [{"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {}},
                    "model": WORDS})",
                ": post_processor.single.0.Sequence.id: expected A, found 'B'"},
        BadFile{"TwoTemplates",
                R"({"post_processor": {"type": "Sequence", "processors":
                    [{"type": "BertProcessing", "sep": ["a", 1], "cls": ["a", 1]},
                     {"type": "BertProcessing", "sep": ["a", 1], "cls": ["a", 1]}]},
                    "model": WORDS})",
                ": post_processor.processors.1.type: expected ByteLevel after another processor, "
                "found 'BertProcessing'"},
        BadFile{"Ctc", R"({"decoder": {"type": "CTC"}, "model": WORDS})",
                ": decoder.type: expected one of WordPiece, ByteLevel, Metaspace, BPEDecoder, "
                "Replace, ByteFallback, Fuse, Strip, StripBlanks, Sequence, found 'CTC'"},
        BadFile{"AddedToken", R"({"added_tokens": [{"content": 5}], "model": WORDS})",
                ": added_tokens.0.content: expected a string, found 5"},
        BadFile{"Truncation", R"({"truncation": {"max_length": "long"}, "model": WORDS})",
                ": truncation.max_length: expected a whole number from 0 to 9223372036854775807, "
                "found 'long'"},
        BadFile{"PaddingSize", R"({"padding": {"strategy": {"Fixed": 99999999999}, "pad_id": 0},
                                   "model": WORDS})",
                ": padding.strategy.Fixed: expected a whole number from 0 to 16777216, found "
                "99999999999"}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(Tokenizer, DeepNestingIsAnError) {
  std::string open, close;
  for (int i = 0; i < 100; ++i) {
    open += R"({"type": "Sequence", "normalizers": [)";
    close += "]}";
  }
  EXPECT_THAT(errorOf(fileWith(words, "\"normalizer\": " + open + close + ", ")),
              HasSubstr("levels of nesting"));
}

//===- Files in place of tokenizer.json ------------------------------------===//

TEST_F(OldFolder, BertVocabulary) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ntoken\n##izer\r\n我\nE\n");
  Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_THAT(idsOf(tokenizer, "Tokenizer 我x我 [MASK] E"), ElementsAre(2, 5, 6, 7, 1, 7, 4, 1, 3));
  auto pair = tokenizer.encode("token", "token");
  ASSERT_TRUE(pair);
  EXPECT_THAT(pair->ids, ElementsAre(2, 5, 3, 5, 3));
  EXPECT_THAT(pair->typeIds, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_EQ(*tokenizer.decode(pair->ids), "token token");
  write("tokenizer_config.json", R"({"do_lower_case": false, "cls_token": {"content": "[SEP]"}})");
  EXPECT_THAT(idsOf(*openTokenizer((folder / "vocab.txt").string()), "E Token"),
              ElementsAre(3, 8, 1, 3));
}

TEST_F(OldFolder, ByteLevelVocabularies) {
  write("vocab.json", R"({"<|endoftext|>": 0, "a": 1, "Ġ": 2, "b": 3, "Ġa": 4})");
  write("config.json", R"({"model_type": "gpt2"})");
  EXPECT_THAT(error(), HasSubstr("merges.txt: expected a file of GPT2Tokenizer, found none"));
  write("merges.txt", "#version: 0.2\nĠ a\n");
  Tokenizer gpt2 = *openTokenizer(folder.string());
  EXPECT_THAT(idsOf(gpt2, "a a b<|endoftext|>"), ElementsAre(1, 4, 2, 3, 0));
  EXPECT_EQ(*gpt2.decode(std::vector<int32_t>{1, 4, 2, 3, 0}), "a a b");
  write("config.json", R"({"model_type": "roberta"})");
  write("vocab.json", R"({"<s>": 0, "</s>": 1, "<mask>": 2, "a": 3, "Ġ": 4, "Ġa": 5})");
  EXPECT_THAT(idsOf(*openTokenizer(folder.string()), "a a <mask>"), ElementsAre(0, 3, 5, 4, 2, 1));
  write("vocab.json", R"({"<s>": 0, "</s>": 1, "a</w>": 2})");
  EXPECT_THAT(error(), HasSubstr("expected the byte-level vocabulary of RobertaTokenizer, found "
                                 "one with ends of words, as CLIP has it"));
}

TEST_F(OldFolder, WhatIsMissingIsNamed) {
  EXPECT_THAT(error(), HasSubstr("expected a folder with tokenizer.json, vocab.txt"));
  write("vocab.txt", "a\n");
  EXPECT_THAT(error(), HasSubstr("vocab.txt: expected the token '[CLS]', found none"));
  write("vocab.txt", "a\xff\n");
  EXPECT_THAT(error(), HasSubstr("vocab.txt: expected UTF-8, found byte 0xff at offset 1"));
  write("tokenizer.json", "{}");
  EXPECT_THAT(error(), HasSubstr("tokenizer.json: expected a key model, found none"));
}

TEST(Tokenizer, WordBoundsAreThoseOfOniguruma) {
  auto tokenizer = Tokenizer::fromJson(
      fileWith(R"({"type": "WordLevel", "unk_token": "?",
                   "vocab": {"?": 0, "a": 1, "-": 2, "\u0301a": 3}})",
               R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\b"},
                                    "behavior": "Removed"}, )"),
      "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(idsOf(*tokenizer, "a-\u0301a-a"), ElementsAre(1, 2, 3, 2, 1));
}

} // namespace
