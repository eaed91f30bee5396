//===- TokenizerClassesTest.cpp - Folders read by their class ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests folders without tokenizer.json, and settings that override one. Ids are
// those of Transformers 5.24; comments note differences to 4.57.
#include "OldFolder.h"

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

constexpr const char *words =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nThe\nriver\nmill\n##s\ncaf\n"
    "##e\n##é\ncafe\n神\n奈\n神奈\n";

/// Folders with the vocabulary of a tokenizer class.
class ClassFolder : public OldFolder {
protected:
  Tokenizer open() {
    warnings.clear();
    auto tokenizer = openTokenizer(folder.string(), &warnings);
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    return *tokenizer;
  }
  std::vector<int32_t> ids(std::string_view text) { return idsOf(open(), text); }
  TokenEncoding pair(std::string_view first, std::string_view second) {
    return *open().encode(first, second);
  }
  /// Writes a byte-level vocabulary with "the" (104) and a space (99).
  void writeBytes() {
    std::string vocab = "{\"<s>\":0,\"<pad>\":1,\"</s>\":2,\"<unk>\":3,\"<mask>\":4";
    for (int c = 33; c < 127; ++c)
      vocab += std::string(",\"") + (c == '"' || c == '\\' ? "\\" : "") + static_cast<char>(c) +
               "\":" + std::to_string(c - 28);
    vocab +=
        ",\"Ġ\":99,\"Ċ\":100,\"Ã\":101,\"©\":102,\"th\":103,\"the\":104,\"Ġt\":105,\"Ġth\":106,"
        "\"Ġthe\":107}";
    write("vocab.json", vocab);
    write("merges.txt", "#version: 0.2\nt h\nth e\n");
  }
  std::vector<std::string> warnings;
};

TEST_F(ClassFolder, OptPutsItsStartInFront) {
  writeBytes();
  write("tokenizer_config.json",
        R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token": "</s>",
            "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"})");
  EXPECT_THAT(ids("the the"), ElementsAre(2, 104, 99, 104));
  EXPECT_THAT(ids("</s>the"), ElementsAre(2, 2, 104));
  EXPECT_THAT(pair("the", "the").ids, ElementsAre(2, 104, 2, 104)); // 4.57: no second start
}

TEST_F(ClassFolder, TheModelsTypeNamesTheClass) {
  writeBytes();
  write("config.json", R"({"model_type": "gpt2"})");
  EXPECT_THAT(ids("the the"), ElementsAre(104, 99, 104));
  write("config.json", R"({"model_type": "bart"})");
  EXPECT_THAT(ids("the the"), ElementsAre(0, 104, 99, 104, 2));
  EXPECT_THAT(pair("the", "the").ids, ElementsAre(0, 104, 2, 2, 104, 2));
  EXPECT_THAT(ids("a <mask>"), ElementsAre(0, 69, 99, 4, 2)); // 4.57: without the space
}

/// added_tokens_decoder also changes the flags of tokens that only the class names.
TEST_F(ClassFolder, FlagsOfTheClassesTokens) {
  writeBytes();
  write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer", "added_tokens_decoder":
    {"4": {"content": "<mask>", "lstrip": true, "special": true}}})");
  EXPECT_THAT(ids("a <mask>"), ElementsAre(0, 69, 4, 2));
}

/// Tests NFC, a separate pre-tokenizer, and the requested end token.
TEST_F(ClassFolder, Qwen) {
  writeBytes();
  write("tokenizer_config.json",
        R"({"tokenizer_class": "Qwen2TokenizerFast", "add_eos_token": true, "eos_token": "</s>"})");
  EXPECT_THAT(ids("the the"), ElementsAre(104, 99, 104, 2));
  EXPECT_THAT(ids("cafe\u0301"), ElementsAre(71, 69, 74, 101, 102, 2));
}

TEST_F(ClassFolder, AnUnknownClassIsNamed) {
  writeBytes();
  write("tokenizer_config.json", R"({"tokenizer_class": "HerbertTokenizer"})");
  EXPECT_THAT(error(), HasSubstr("tokenizer_config.json: tokenizer_class: expected a class of "
                                 "tokenizers that reads vocab.json, or tokenizer.json next to it, "
                                 "found 'HerbertTokenizer'"));
  write("tokenizer_config.json", "{}");
  EXPECT_THAT(error(), HasSubstr("config.json: model_type: expected a class"));
  write("tokenizer_config.json", R"({"tokenizer_class": 3})");
  EXPECT_THAT(error(), HasSubstr("tokenizer_class: expected a string, found"));
}

TEST_F(ClassFolder, BertFollowsItsKeys) {
  write("vocab.txt", words);
  EXPECT_THAT(ids("The Rivers café"), ElementsAre(2, 5, 7, 9, 13, 3));
  EXPECT_THAT(ids("神奈"), ElementsAre(2, 14, 15, 3));
  write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false,
                                     "strip_accents": false, "tokenize_chinese_chars": false})");
  EXPECT_THAT(ids("The rivers café"), ElementsAre(2, 6, 7, 9, 10, 12, 3));
  EXPECT_THAT(ids("神奈"), ElementsAre(2, 16, 3));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(ClassFolder, AddedTokensAreWhole) {
  write("vocab.txt", words);
  write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  write("added_tokens.json", R"({"[E1]": 17, "[/E1]": 18})");
  EXPECT_THAT(ids("the [E1] mill [/E1]"), ElementsAre(2, 5, 17, 8, 18, 3));
  EXPECT_THAT(ids("the [e1]"), ElementsAre(2, 5, 17, 3)); // lower case of a non-special token
  write("added_tokens.json", "{}");
  write("tokenizer_config.json",
        R"({"tokenizer_class": "BertTokenizer", "additional_special_tokens": ["[E1]"]})");
  EXPECT_THAT(ids("the [E1] mill"), ElementsAre(2, 5, 17, 8, 3));
  EXPECT_THAT(ids("the [e1]"), ElementsAre(2, 5, 1, 1, 1, 3));
}

/// Transformers 5 numbers an object of extra tokens before a list; Transformers 4 does not.
TEST_F(ClassFolder, ExtraTokensOfAnObjectAreFirst) {
  write("vocab.txt", words);
  write("tokenizer_config.json",
        R"({"tokenizer_class": "BertTokenizer", "additional_special_tokens": ["[E1]"],
            "extra_special_tokens": {"image_token": "[E2]"}})");
  EXPECT_THAT(ids("[E2] [E1]"), ElementsAre(2, 17, 18, 3));
}

TEST_F(ClassFolder, BlanksAtTheEndOfALineAreNoPartOfAToken) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe \nmill\t\n");
  write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_THAT(ids("the mill"), ElementsAre(2, 5, 6, 3));
}

TEST_F(ClassFolder, KinOfBert) {
  write("vocab.txt", words);
  write("tokenizer_config.json", R"({"tokenizer_class": "DistilBertTokenizer"})");
  EXPECT_THAT(pair("the", "mill").ids, ElementsAre(2, 5, 3, 8, 3));
  EXPECT_THAT(pair("the", "mill").typeIds, ElementsAre(0, 0, 0, 0, 0));
  write("tokenizer_config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  EXPECT_THAT(ids("The mill 神奈"), ElementsAre(2, 6, 8, 16, 3));
  write("tokenizer_config.json",
        R"({"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "mecab"})");
  EXPECT_THAT(error(),
              HasSubstr("tokenizer_class: expected a tokenizer that Heddle has, found "
                        "BertJapaneseTokenizer with word_tokenizer_type 'mecab', a program that "
                        "cuts Japanese into words, which is not supported"));
  write("vocab.txt", "<s>\n<pad>\n</s>\n[UNK]\n<mask>\nthe\nmill\n");
  write("tokenizer_config.json", R"({"tokenizer_class": "MPNetTokenizer"})");
  EXPECT_THAT(pair("the", "mill").ids, ElementsAre(0, 5, 2, 2, 6, 2));
  EXPECT_THAT(ids("the <mask>"), ElementsAre(0, 5, 4, 2));
}

/// A tokenizer.json of BERT that lowercases.
constexpr const char *lowering = R"({
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                 "strip_accents": null, "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]",
            "vocab": {"[UNK]": 0, "the": 1, "The": 2, "mill": 3, "##s": 4}}})";

TEST_F(ClassFolder, KeysGoOverTokenizerJson) {
  write("tokenizer.json", lowering);
  EXPECT_THAT(ids("The mills"), ElementsAre(1, 3, 4));
  write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})");
  EXPECT_THAT(ids("The mills"), ElementsAre(7, 2, 3, 4, 5)); // [CLS] and [SEP] are defaults
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("makes post_processor itself")));
  write("tokenizer_config.json", // no class reads this key
        R"({"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": false})");
  EXPECT_THAT(ids("The mills"), ElementsAre(1, 3, 4));
}

TEST_F(ClassFolder, TokensOfTheConfigurationAreAdded) {
  write("tokenizer.json", lowering);
  write("tokenizer_config.json",
        R"({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>",
            "added_tokens_decoder": {
              "5": {"content": "<|start|>", "special": true, "normalized": false},
              "6": {"content": "<|end|>", "special": true, "normalized": false}}})");
  EXPECT_THAT(ids("<|start|>The<|end|>"), ElementsAre(5, 1, 6));
  EXPECT_TRUE(open().isSpecial(6));
  EXPECT_THAT(warnings, IsEmpty());
  write("tokenizer_config.json",
        R"({"added_tokens_decoder": {"9": {"content": "<|far|>", "special": true}}})");
  EXPECT_THAT(ids("<|far|>"), ElementsAre(5)); // the next free id, as in the package
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("added_tokens_decoder: expected the number 5")));
}

TEST_F(ClassFolder, UnknownKeysAreNamed) {
  write("tokenizer.json", lowering);
  write("tokenizer_config.json",
        R"({"padding_side": "left", "reverse_words": true, "nothing": null})");
  open();
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("tokenizer_config.json: expected only keys that Heddle knows, "
                                    "found 'reverse_words', which is not followed")));
}

TEST_F(ClassFolder, SpecialTokensMayBeText) {
  write("tokenizer.json", lowering);
  write("tokenizer_config.json", R"({"split_special_tokens": true, "eos_token": "mill"})");
  EXPECT_THAT(ids("mills"), ElementsAre(3, 4));
  write("tokenizer_config.json", R"({"eos_token": "mill"})");
  EXPECT_THAT(ids("mills"), ElementsAre(3, 0)); // a token, and an unknown s
}

/// Whitespace before punctuation is removed if the folder requests it and the model is not BPE.
TEST_F(ClassFolder, DecodedTextIsCleanedUp) {
  constexpr const char *plain =
      R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "we": 1, "'ve": 2, ".": 3}}})";
  write("tokenizer.json", plain);
  EXPECT_EQ(*open().decode(std::vector<int32_t>{1, 2, 0, 3}), "we 've ? .");
  write("tokenizer_config.json", R"({"clean_up_tokenization_spaces": true})");
  EXPECT_EQ(*open().decode(std::vector<int32_t>{1, 2, 0, 3}), "we've?.");
}

/// BERT's class cleans up, its Japanese kin does not.
TEST_F(ClassFolder, DecodedJapaneseKeepsItsBlanks) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nrun\n,\n");
  write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_EQ(*open().decode(std::vector<int32_t>{5, 6, 5}), "run, run");
  write("tokenizer_config.json", R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  EXPECT_EQ(*open().decode(std::vector<int32_t>{5, 6, 5}), "run , run");
}

} // namespace
