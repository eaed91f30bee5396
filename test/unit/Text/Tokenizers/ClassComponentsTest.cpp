//===- ClassComponentsTest.cpp - Classes over tokenizer.json ---*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Components that a class of Transformers 5 makes itself. The ids are those of 5.24.
#include "OldFolder.h"

using namespace heddle;
using namespace heddle::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class ComponentFolder : public OldFolder {
protected:
  Tokenizer open() {
    warnings.clear();
    auto tokenizer = openTokenizer(folder.string(), &warnings);
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    return *tokenizer;
  }
  std::vector<int32_t> ids(std::string_view text) { return idsOf(open(), text); }
  void settings(std::string_view text) { write("tokenizer_config.json", text); }
  void modelType(const std::string &type) {
    write("config.json", R"({"model_type": ")" + type + "\"}");
  }
  std::vector<std::string> warnings;
};

/// Llama 2: a is 3, the blank 4, a blank and an a 5, <0x41> 6.
constexpr const char *llama = R"({
  "added_tokens": [{"id": 1, "content": "<s>", "special": true, "normalized": false},
                   {"id": 2, "content": "</s>", "special": true, "normalized": false}],
  "normalizer": {"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
  "pre_tokenizer": null,
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
  "decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
  "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
            "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3, "▁": 4, "▁a": 5, "<0x00>": 6},
            "merges": ["▁ a"]}})";

/// A class without `legacy` writes a blank before the first word only.
TEST_F(ComponentFolder, LlamaWritesItsBlank) {
  write("tokenizer.json", llama);
  modelType("llama");
  settings(R"({"tokenizer_class": "LlamaTokenizer", "legacy": false})");
  EXPECT_THAT(ids("a"), ElementsAre(1, 5));
  EXPECT_THAT(ids("<s>a</s>a a"), ElementsAre(1, 1, 3, 2, 3, 5)); // 4.57: 1, 1, 5, 2, 5, 5
  EXPECT_THAT(ids("</s> a"), ElementsAre(1, 2, 5));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("tokenizer_class: LlamaTokenizer of Transformers 5 "
                                              "makes normalizer and pre_tokenizer itself")));
  settings(R"({"tokenizer_class": "LlamaTokenizerFast"})");
  EXPECT_THAT(ids("</s>a"), ElementsAre(1, 2, 3));
  settings(R"({"tokenizer_class": "LlamaTokenizer", "legacy": true})");
  EXPECT_THAT(ids("</s>a"), ElementsAre(1, 2, 5));
  EXPECT_THAT(ids(" a"), ElementsAre(1, 5)); // 4.57: 1, 4, 5
  settings(R"({"tokenizer_class": "LlamaTokenizer", "add_prefix_space": false})");
  EXPECT_THAT(ids("a a"), ElementsAre(1, 3, 5));
  EXPECT_EQ(*open().decode(std::vector<int32_t>{5}), " a");
}

/// Types of models whose folders take every component from the file.
TEST_F(ComponentFolder, TheTypeOfTheModelChooses) {
  write("tokenizer.json", llama);
  for (const char *type : {"mistral", "phi3"}) {
    modelType(type);
    settings(
        R"({"tokenizer_class": "LlamaTokenizer", "legacy": false, "add_prefix_space": false})");
    EXPECT_THAT(ids("</s>a"), ElementsAre(1, 2, 5)) << type;
    EXPECT_THAT(warnings, IsEmpty());
  }
  modelType("llama");
  settings("{}");
  EXPECT_THAT(ids("</s>a"), ElementsAre(1, 2, 5));
  settings(R"({"tokenizer_class": "PreTrainedTokenizerFast", "legacy": false})");
  EXPECT_THAT(ids("</s>a"), ElementsAre(1, 2, 5));
  settings(R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_THAT(ids("</s>a"), ElementsAre(1, 2, 5));
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("tokenizer_class: expected a class with a model of the type "
                                    "'BPE', found BertTokenizer, whose model is WordPiece")));
}

/// A file that says what the class makes, in other words, gives no warning.
TEST_F(ComponentFolder, DefaultsAreNoDifference) {
  std::string file = llama;
  const size_t begin = file.find(R"("normalizer")"), end = file.find(R"("post_processor")");
  file.replace(begin, end - begin, R"("normalizer": null, "pre_tokenizer": {"type": "Sequence",
    "pretokenizers": [{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
                       "split": false, "str_rep": "▁"}]}, )");
  write("tokenizer.json", file);
  settings(R"({"tokenizer_class": "LlamaTokenizer"})");
  EXPECT_THAT(ids("a</s>a"), ElementsAre(1, 5, 2, 3));
  EXPECT_THAT(warnings, IsEmpty());
}

/// T5 and XLM-R put their own eos_token and bos_token around a text, whatever the file says.
constexpr const char *pieces = R"({
  "added_tokens": [{"id": 4, "content": "<e>", "special": true, "normalized": false}],
  "normalizer": null,
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": true}]},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}},
             {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "special_tokens": {"</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}},
  "decoder": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": true},
  "model": {"type": "Unigram", "unk_id": 3,
            "vocab": [["<s>", 0], ["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["<e>", 0],
                      ["▁", -2], ["a", -3], ["▁a", -2]]}})";

TEST_F(ComponentFolder, TokensAroundOfPieces) {
  write("tokenizer.json", pieces);
  settings(R"({"tokenizer_class": "T5Tokenizer", "eos_token": "</s>"})");
  EXPECT_THAT(ids("a"), ElementsAre(7, 2));
  settings(R"({"tokenizer_class": "T5Tokenizer", "eos_token": "<e>"})");
  EXPECT_THAT(ids("a"), ElementsAre(7, 4));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("makes post_processor and model.unk_id itself")));
  settings(R"({"tokenizer_class": "XLMRobertaTokenizer", "bos_token": "<e>"})");
  EXPECT_THAT(ids("a"), ElementsAre(4, 7, 2));
  settings(R"({"tokenizer_class": "XLMRobertaTokenizer", "add_prefix_space": null})");
  EXPECT_THAT(ids("a a"), ElementsAre(0, 6, 6, 2));
}

/// A table of characters that a class of Transformers 5 loses is kept, which a warning says.
TEST_F(ComponentFolder, TablesAreKept) {
  std::string file = pieces;
  const std::string none = R"("normalizer": null)";
  file.replace(file.find(none), none.size(),
               R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="})");
  write("tokenizer.json", file);
  settings(R"({"tokenizer_class": "MBartTokenizer"})");
  open();
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("MBartTokenizer of Transformers 5 loses the table")));
}

/// src_lang names the language next to a text, whatever the file says. Null is no name.
TEST_F(ComponentFolder, LanguageOfMbart) {
  std::string file = pieces;
  const std::string last = R"(["▁a", -2])";
  file.replace(file.find(last), last.size(), last + R"(, ["en_XX", 0], ["fr_XX", 0])");
  write("tokenizer.json", file);
  settings(R"({"tokenizer_class": "MBartTokenizer", "src_lang": "fr_XX"})");
  EXPECT_THAT(ids("a"), ElementsAre(7, 2, 9));
  EXPECT_THAT(open().encode("a", "a")->ids, ElementsAre(7, 7, 2, 9));
  EXPECT_THAT(warnings, IsEmpty());
  settings(R"({"tokenizer_class": "MBartTokenizer", "src_lang": null})");
  EXPECT_THAT(ids("a"), ElementsAre(7, 2, 8));
  settings(R"({"tokenizer_class": "MBart50Tokenizer"})");
  EXPECT_THAT(ids("a"), ElementsAre(8, 7, 2));
}

/// The class of DeBERTa lowers letters next to a table of characters too.
TEST_F(ComponentFolder, LettersNextToATable) {
  std::string file = pieces;
  const std::string none = R"("normalizer": null)";
  file.replace(file.find(none), none.size(), R"("normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="}]})");
  write("tokenizer.json", file);
  const std::string tokens = R"({"tokenizer_class": "DebertaV2Tokenizer", "unk_token": "<unk>",
      "cls_token": "<s>", "sep_token": "</s>", "do_lower_case": )";
  settings(tokens + "true}");
  EXPECT_THAT(ids("A"), ElementsAre(0, 7, 2));
  EXPECT_THAT(warnings, testing::Contains(HasSubstr("makes normalizer, ")));
  EXPECT_THAT(warnings,
              testing::Contains(HasSubstr("Tokenizer of Transformers 5 loses the table")));
  settings(tokens + "false}");
  EXPECT_THAT(ids("A"), ElementsAre(0, 5, 3, 2));
  EXPECT_THAT(warnings, testing::Not(testing::Contains(HasSubstr("makes normalizer"))));
}

TEST_F(ComponentFolder, TokensAroundOfClip) {
  write("tokenizer.json", R"({"added_tokens": [], "model": {"type": "BPE",
      "end_of_word_suffix": "</w>", "unk_token": "<e>",
      "vocab": {"<s>": 0, "<e>": 1, "a": 2, "a</w>": 3, "</s>": 4}, "merges": []},
    "post_processor": {"type": "RobertaProcessing", "sep": ["<e>", 1], "cls": ["<s>", 0],
                       "trim_offsets": false, "add_prefix_space": false}})");
  settings(R"({"tokenizer_class": "CLIPTokenizer", "bos_token": "<s>", "eos_token": "</s>",
               "unk_token": "<e>"})");
  EXPECT_THAT(ids("A"), ElementsAre(0, 3, 4));
}

/// The unknown token of BERT, and the length of its words.
TEST_F(ComponentFolder, UnknownTokenOfBert) {
  write("tokenizer.json", R"({"model": {"type": "WordPiece", "unk_token": "[UNK]",
    "max_input_chars_per_word": 2, "vocab": {"[UNK]": 0, "[E]": 1, "mill": 2}}})");
  settings(R"({"tokenizer_class": "BertTokenizer", "unk_token": "[E]"})");
  EXPECT_THAT(ids("mill wheel"), ElementsAre(5, 2, 1, 3)); // [CLS] and [SEP] are defaults
}

/// Qwen2's class takes the flags from its special tokens.
TEST_F(ComponentFolder, FlagsOfQwen) {
  write("tokenizer.json", R"({"added_tokens": [{"id": 2, "content": "<p>", "special": true,
      "lstrip": true, "rstrip": true, "normalized": false}],
    "model": {"type": "BPE", "vocab": {"a": 0, "Ġ": 1, "<p>": 2}, "merges": []}})");
  settings(R"({"tokenizer_class": "Qwen2Tokenizer", "pad_token": "<p>"})");
  EXPECT_THAT(ids("a <p> a"), ElementsAre(0, 1, 2, 1, 0));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("makes added_tokens, ")));
  settings(R"({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<p>"})");
  EXPECT_THAT(ids("a<p> a").size(), 3);
}

/// Qwen2's class makes the tokens of all lists special, even if added_tokens.json numbers them.
TEST_F(ComponentFolder, SpecialTokensOfQwen) {
  write("vocab.json", R"({"a": 0, "b": 1, "<|endoftext|>": 2})");
  write("merges.txt", "#version: 0.2\n");
  settings(R"({"tokenizer_class": "Qwen2Tokenizer"})");
  write("added_tokens.json", R"({"[E1]": 3, "[E2]": 4})");
  write("special_tokens_map.json", R"({"additional_special_tokens": ["[E1]"]})");
  EXPECT_EQ(*open().decode(std::vector<int32_t>{0, 3, 4, 1}, true), "a[E2]b");
}

/// The flags of added_tokens_decoder rule. A class drops the tokens that it lacks and numbers the
/// others anew, of which Transformers 4 did neither.
TEST_F(ComponentFolder, AddedTokensDecoderRules) {
  write("tokenizer.json", R"({"added_tokens": [
      {"id": 2, "content": "<p>", "special": true, "lstrip": false, "normalized": false},
      {"id": 3, "content": "<q>", "special": true, "normalized": false}],
    "model": {"type": "BPE", "vocab": {"a": 0, "Ġ": 1}, "merges": []}})");
  const std::string decoder = R"(", "added_tokens_decoder": {"3":
      {"content": "<q>", "special": true, "lstrip": true, "normalized": false}}})";
  settings(R"({"tokenizer_class": "PreTrainedTokenizerFast)" + decoder);
  EXPECT_THAT(ids("a<p> <q>"), testing::SizeIs(3)); // <q> takes the blank
  EXPECT_EQ(open().tokenToId("<q>"), 3);
  EXPECT_THAT(warnings, IsEmpty());
  settings(R"({"tokenizer_class": "GPT2Tokenizer)" + decoder);
  EXPECT_EQ(open().tokenToId("<q>"), 2);
  EXPECT_EQ(open().tokenToId("<p>"), std::nullopt);
  EXPECT_THAT(warnings, testing::Contains(HasSubstr("added_tokens_decoder: expected the added "
                                                    "tokens of tokenizer.json with their numbers, "
                                                    "found others for '<p>', '<q>'")));
}

/// The token of the section `padding` becomes Whisper's.
TEST_F(ComponentFolder, PaddingOfWhisper) {
  write("tokenizer.json", R"({"padding": {"strategy": "BatchLongest", "direction": "Right",
      "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
    "model": {"type": "BPE", "vocab": {"a": 0, "<|endoftext|>": 1}, "merges": []}})");
  settings(R"({"tokenizer_class": "WhisperTokenizer"})");
  EXPECT_THAT(ids("a[PAD]"), ElementsAre(0, 2));
}

/// GPT-NeoX's class never reads the post-processor; the flags of Transformers 4 are a warning.
TEST_F(ComponentFolder, StartOfGptNeoX) {
  write("tokenizer.json", R"({"post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "e", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"e": {"id": "e", "ids": [1], "tokens": ["e"]}}},
    "normalizer": {"type": "NFC"}, "decoder": {"type": "ByteLevel"},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "model": {"type": "BPE", "vocab": {"a": 0, "e": 1}, "merges": []}})");
  settings(R"({"tokenizer_class": "GPTNeoXTokenizer"})");
  EXPECT_THAT(ids("a"), ElementsAre(0));
  EXPECT_THAT(warnings, IsEmpty());
  settings(R"({"tokenizer_class": "GPTNeoXTokenizer", "add_bos_token": true})");
  EXPECT_THAT(ids("a"), ElementsAre(0));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("add_bos_token: Transformers 5")));
}

/// Pegasus needs its unknown token in the vocabulary.
TEST_F(ComponentFolder, UnknownTokenOfPegasus) {
  write("tokenizer.json", pieces);
  settings(R"({"tokenizer_class": "PegasusTokenizer", "unk_token": "[E9]"})");
  EXPECT_THAT(error(), HasSubstr("tokenizer_config.json: unk_token: expected a token of the "
                                 "vocabulary with the score 0, which PegasusTokenizer needs, found "
                                 "'[E9]'"));
}

/// additional_special_tokens is not read next to a list extra_special_tokens.
TEST_F(ComponentFolder, OneListOfTokens) {
  write("tokenizer.json", R"({"pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}})");
  settings(R"({"additional_special_tokens": ["<x>"], "extra_special_tokens": ["<y>"]})");
  EXPECT_THAT(ids("a<x>"), ElementsAre(0));
  EXPECT_THAT(ids("a<y>"), ElementsAre(1, 2));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("additional_special_tokens: expected no list")));
  settings(R"({"additional_special_tokens": ["<x>"], "extra_special_tokens": {}})");
  EXPECT_THAT(ids("a<x>"), ElementsAre(1, 2));
  EXPECT_THAT(warnings, IsEmpty());
}

/// A class adds its default special tokens, also those that the vocabulary lacks.
TEST_F(ComponentFolder, DefaultSpecialTokens) {
  write("tokenizer.json", llama);
  settings(R"({"tokenizer_class": "GemmaTokenizer"})");
  EXPECT_THAT(ids("<mask>a"), ElementsAre(1, 10, 3));
  EXPECT_THAT(ids("<pad><unk>a"), ElementsAre(1, 9, 0, 3));
  settings(R"({"tokenizer_class": "GemmaTokenizer", "mask_token": null})");
  EXPECT_THAT(ids("<mask>a"), ElementsAre(1, 0, 3, 0, 3));
  modelType("mistral"); // whose folders take every token from the file
  settings(R"({"tokenizer_class": "GemmaTokenizer"})");
  EXPECT_THAT(ids("<bos>a").size(), testing::Gt(3));
}

/// A class that runs in Python is an error; one with components of its own is a warning.
TEST_F(ComponentFolder, ClassesThatHeddleLacks) {
  write("tokenizer.json", llama);
  settings(R"({"tokenizer_class": "ByT5Tokenizer"})");
  EXPECT_THAT(error(), HasSubstr("tokenizer_config.json: tokenizer_class: expected a tokenizer "
                                 "that Heddle has, found 'ByT5Tokenizer', which Transformers runs "
                                 "in Python and does not read from tokenizer.json"));
  settings(R"({"tokenizer_class": "BarthezTokenizer"})");
  open();
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("BarthezTokenizer of Transformers 5 makes components "
                                              "that Heddle does not have")));
}

} // namespace
