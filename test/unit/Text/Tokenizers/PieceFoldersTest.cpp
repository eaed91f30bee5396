//===- PieceFoldersTest.cpp - Folders of SentencePiece models -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests SentencePiece models built here, malformed models, and the settings of
// each family's folder.
#include "OldFolder.h"

#include <cstring>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

TEST_F(OldFolder, PieceModelsAreChecked) {
  write("spiece.model", "no model");
  EXPECT_THAT(error(),
              HasSubstr("spiece.model: expected a SentencePiece model, found other bytes"));
  // One piece "a". The type of the model is 4, characters.
  write("spiece.model", "\x0a\x03\x0a\x01\x61\x12\x02\x18\x04\x1a\x02\x18\x01");
  EXPECT_THAT(error(), HasSubstr("of type unigram or bpe, found 4"));
  write("spiece.model", "\x0a\x03\x0a\x01\xff\x12\x02\x18\x01\x1a\x02\x18\x01");
  EXPECT_THAT(error(), HasSubstr("spiece.model: expected UTF-8, found byte 0xff at offset 0"));
  // A piece whose length exceeds the file.
  write("spiece.model", "\x0a\x7f\x0a\x01\x61");
  EXPECT_THAT(error(), HasSubstr("found other bytes"));
  // A piece whose text exceeds the file, and a table of characters that does.
  write("spiece.model", "\x0a\x03\x0a\x7f\x61\x12\x02\x18\x01");
  EXPECT_THAT(error(), HasSubstr("found other bytes"));
  write("spiece.model", "\x0a\x03\x0a\x01\x61\x1a\x03\x12\x09\x61");
  EXPECT_THAT(error(), HasSubstr("found other bytes"));
  // A file truncated after a piece, or before the last field.
  write("spiece.model", "\x0a\x03\x0a\x01\x61");
  EXPECT_THAT(error(), HasSubstr("expected pieces and trainer_spec, found a file without it"));
  write("spiece.model", "\x0a\x03\x0a\x01\x61\x12\x02\x18\x01");
  EXPECT_THAT(error(), HasSubstr("expected pieces and normalizer_spec, found a file without it"));
  write("spiece.model", "\x0a\x03\x0a\x01\x61\x12\x02\x18\x01\x1a\x02\x18\x01");
  EXPECT_THAT(error(), "no error");
}

/// A protobuf field.
std::string fieldOf(int number, const std::string &bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

struct BuiltPiece {
  const char *text;
  float score;
  char kind;
};

/// A model that removes whitespace at both ends, or not. `type` 2 is BPE.
std::string modelOf(std::span<const BuiltPiece> pieces, char type, bool removes) {
  std::string model;
  for (const auto &[text, score, kind] : pieces) {
    std::string bytes(sizeof score, '\0');
    std::memcpy(bytes.data(), &score, sizeof score);
    model += fieldOf(1, fieldOf(1, text) + "\x15" + bytes + "\x18" + kind);
  }
  return model + fieldOf(2, std::string("\x18") + type) +
         fieldOf(3, std::string("\x18\x01\x20") + char(removes));
}

struct CutText {
  const char *text;
  std::vector<int32_t> removed, kept;
};

/// The package sentencepiece provides the expected values.
class BuiltModel : public OldFolder {
protected:
  void expectCuts(std::span<const BuiltPiece> pieces, char type, std::span<const CutText> texts) {
    for (bool removes : {true, false}) {
      write("spiece.model", modelOf(pieces, type, removes));
      const Tokenizer tokenizer = *openTokenizer(folder.string());
      for (const auto &[text, removed, kept] : texts)
        EXPECT_EQ(idsOf(tokenizer, text), removes ? removed : kept) << text;
    }
  }
};

/// Tests texts that contain the whitespace marker, kept whitespace, and user-defined pieces.
TEST_F(BuiltModel, CutsAsSentencePieceDoes) {
  constexpr BuiltPiece pieces[] = {{"<unk>", 0, 2},  {"▁", -2, 1},     {"a", -3, 1},
                                   {"▁a", -4, 1},    {"<mask>", 0, 4}, {"k", -5, 1},
                                   {"ab", -2.5F, 1}, {"cd", -2.5F, 1}, {"abcd", 0, 4}};
  const CutText texts[] = {{"a", {3}, {3}},
                           {"▁a", {1, 3}, {1, 3}},
                           {"▁", {}, {1, 1}},
                           {" a ", {3}, {1, 3, 1}},
                           {"a▁", {3}, {3, 1}},
                           {"a<mask>a", {3, 4, 2}, {3, 4, 2}},
                           {"abcd", {1, 8}, {1, 8}}, // two pieces of equal length score less
                           {"k b  a", {1, 5, 1, 0, 3}, {1, 5, 1, 0, 1, 3}}};
  expectCuts(pieces, 1, texts);
}

/// In BPE, user-defined pieces are matched before all merges, the longest first, even if they
/// contain whitespace.
TEST_F(BuiltModel, PiecesThatUsersDefinedAreNotMerged) {
  constexpr BuiltPiece pieces[] = {{"<unk>", 0, 2}, {"▁", -9, 1},  {"a", -10, 1},   {"b", -11, 1},
                                   {"c", -12, 1},   {"d", -13, 1}, {"k", -14, 1},   {"▁a", -1, 1},
                                   {"ab", -2, 1},   {"cd", -3, 1}, {"abcd", -4, 1}, {"<m>", 0, 4},
                                   {"<", -15, 1},   {"b▁c", 0, 4}, {"bc", 0, 4},    {"m", -16, 1},
                                   {">", -17, 1},   {"ak", -5, 1}, {"kk", -6, 1}};
  const CutText texts[] = {{"a<m>a", {7, 11, 2}, {7, 11, 2}},
                           {"abcd", {7, 14, 5}, {7, 14, 5}},
                           {"ab c", {7, 13}, {7, 13}},
                           {"k<m", {1, 6, 12, 15}, {1, 6, 12, 15}},
                           {"<m><m>k", {1, 11, 11, 6}, {1, 11, 11, 6}},
                           {"akk bcd", {7, 18, 1, 14, 5}, {7, 18, 1, 14, 5}},
                           {"  a  <m> k", {7, 1, 11, 1, 6}, {1, 1, 7, 1, 1, 11, 1, 6}},
                           {"zz<m>z", {1, 0, 11, 0}, {1, 0, 11, 0}},
                           {"bb c", {1, 3, 13}, {1, 3, 13}}};
  expectCuts(pieces, 2, texts);
}

TEST_F(BuiltModel, BlanksBehindWordsAreRefused) {
  constexpr BuiltPiece pieces[] = {{"<unk>", 0, 2}, {"a▁", -1, 1}};
  write("spiece.model", modelOf(pieces, 1, true) + fieldOf(2, "\xc0\x01\x01"));
  EXPECT_THAT(error(), HasSubstr("spiece.model: treat_whitespace_as_suffix: expected blanks in "
                                 "front of words, found them after, which is not supported"));
}

/// Folders of model families, copied from those of the golden tests.
class FamilyFolder : public OldFolder {
protected:
  void take(const std::string &family) {
    fs::copy(fs::path(HEDDLE_SOURCE_DIR) / "test/data/tokenizers/folders" / family, folder,
             fs::copy_options::overwrite_existing | fs::copy_options::recursive);
  }
};

TEST_F(FamilyFolder, HalfOfItsFilesIsAnError) {
  for (const char *missing : {"source.spm", "target.spm", "vocab.json"}) {
    take("marian");
    std::filesystem::remove(folder / missing);
    EXPECT_THAT(error(), HasSubstr(std::string(missing) + ": expected a file of a folder of "
                                                          "MarianTokenizer, found none"));
    EXPECT_TRUE(holdsTokenizer(folder.string()));
  }
  take("marian");
  write("target.spm", "no model");
  EXPECT_EQ(error(), "no error"); // the other model splits source texts
  auto target = readTargetTokenizerFile(folder.string());
  ASSERT_FALSE(target);
  EXPECT_THAT(target.error().message,
              HasSubstr("target.spm: expected a SentencePiece model, found other bytes"));
}

TEST_F(FamilyFolder, VocabulariesAreChecked) {
  take("m2m-100");
  write("vocab.json", R"({"<unk>": 0, "a": -1})");
  EXPECT_THAT(error(), HasSubstr("vocab.json: a: expected an id from 0 to 2147483647, found -1"));
  write("vocab.json", R"({"a": 0, "</s>": 1})");
  EXPECT_THAT(error(), HasSubstr("expected a vocabulary with the token '<unk>', found none"));
  write("vocab.json", R"({"<unk>": 0})");
  EXPECT_THAT(error(), HasSubstr("expected the token '</s>', which the class puts around a text"));
  write("vocab.json", R"([])");
  EXPECT_THAT(error(), HasSubstr("vocab.json: expected an object"));
}

TEST_F(FamilyFolder, SettingsAreChecked) {
  take("mbart");
  write("tokenizer_config.json", R"({"tokenizer_class": "MBartTokenizer", "src_lang": "xx"})");
  EXPECT_THAT(error(), HasSubstr("tokenizer_config.json: src_lang: expected a language of the "
                                 "tokenizer, found 'xx'"));
  // The folder's own tokens take precedence over those of the class.
  write("tokenizer_config.json", R"({"tokenizer_class": "MBartTokenizer", "added_tokens_decoder":
      {"600": {"content": "[keep]"}}})");
  EXPECT_EQ(openTokenizer(folder.string())->tokenToId("[keep]"), 600);
  write("tokenizer_config.json", R"({"tokenizer_class": "MBartTokenizer", "added_tokens_decoder":
      {"300000": {"content": "<mask>"}}})");
  EXPECT_EQ(openTokenizer(folder.string())->tokenToId("<mask>"), 300000);
  write("tokenizer_config.json", R"({"tokenizer_class": "NllbTokenizer"})");
  EXPECT_THAT(error(), HasSubstr("tokenizer.json: expected this file, or added_tokens_decoder"));
  take("t5");
  write("tokenizer_config.json", R"({"legacy": false})");
  EXPECT_THAT(error(),
              HasSubstr("tokenizer_config.json: legacy: expected true, or tokenizer.json"));
}

/// A special token without an id gets the next one. M2M-100 counts its languages only if the folder
/// names them.
TEST_F(FamilyFolder, SpecialTokensWithoutNumbers) {
  for (const auto &[family, name, id] : {std::tuple("t5", "T5Tokenizer", 600),
                                         {"marian", "MarianTokenizer", 548},
                                         {"m2m-100", "M2M100Tokenizer", 481}}) {
    take(family);
    write("tokenizer_config.json", std::string(R"({"tokenizer_class": ")") + name +
                                       R"(", "additional_special_tokens": ["<here>", "<there>"]})");
    const bool replaces = family == std::string("t5"); // a list replaces the sentinels of T5
    EXPECT_EQ(readTokenizerFile(folder.string())->warnings.size(), replaces) << family;
    const Tokenizer tokenizer = *openTokenizer(folder.string());
    EXPECT_EQ(tokenizer.tokenToId("<here>"), id) << family;
    EXPECT_EQ(tokenizer.tokenToId("<there>"), id + 1) << family;
    EXPECT_EQ(*tokenizer.decode(std::vector<int32_t>{id, id + 1}, true), "") << family;
  }
}

/// Only classes that run in Python read the list of special_tokens_map.json. 4.57: all read it.
TEST_F(FamilyFolder, SpecialTokensOfTheMap) {
  auto named = [&] {
    write("special_tokens_map.json", R"({"additional_special_tokens": ["<here>"]})");
    return readTokenizerFile(folder.string())->warnings;
  };
  take("t5");
  EXPECT_THAT(named(), testing::ElementsAre(
                           (folder / "special_tokens_map.json").string() +
                           ": expected special tokens with numbers, found '<here>' without one, "
                           "which stays text"));
  take("marian");
  EXPECT_THAT(named(), testing::IsEmpty());
  EXPECT_EQ(openTokenizer(folder.string())->tokenToId("<here>"), 548);
}

/// The special tokens of a class are pieces, which text may contain. An unknown character next to
/// the unknown piece belongs to it.
TEST_F(FamilyFolder, SpecialTokensArePieces) {
  take("xlm-roberta");
  write("tokenizer_config.json",
        R"({"tokenizer_class": "XLMRobertaTokenizer", "split_special_tokens": true})");
  const Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_EQ(idsOf(tokenizer, "<mask> x"), (std::vector<int32_t>{0, 4, 501, 145, 2}));
  EXPECT_EQ(idsOf(tokenizer, "<unk>NOTUSED"), (std::vector<int32_t>{0, 4, 3, 434, 344, 437, 2}));
}

/// A folder may name other tokens for those that surround a text.
TEST_F(FamilyFolder, NamedTokensSurroundTexts) {
  take("xlm-roberta");
  write("tokenizer_config.json",
        R"({"tokenizer_class": "XLMRobertaTokenizer", "bos_token": "[E9]"})");
  const Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_EQ(idsOf(tokenizer, "[E9]a"), (std::vector<int32_t>{0, 0, 136, 2}));
  EXPECT_EQ(idsOf(tokenizer, "<s>a</s>"), (std::vector<int32_t>{0, 502, 136, 2, 2}));
}

/// A list of special tokens replaces the class's, whose tokens become pieces.
TEST_F(FamilyFolder, ListsReplaceTheTokensOfTheClass) {
  take("t5");
  write("tokenizer_config.json",
        R"({"tokenizer_class": "T5Tokenizer", "extra_special_tokens": ["[E9]"]})");
  const Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_EQ(idsOf(tokenizer, "x <extra_id_3> y"), (std::vector<int32_t>{144, 3, 596, 3, 101, 1}));
  EXPECT_EQ(*tokenizer.decode(std::vector<int32_t>{596, 600}, true), "<extra_id_3>");
}

/// A class that runs in Python takes the tokens that are left out of decoded text from their names,
/// not from added_tokens_decoder.
TEST_F(FamilyFolder, DecodedTokensOfPython) {
  take("marian");
  write("tokenizer_config.json", R"({"tokenizer_class": "MarianTokenizer", "added_tokens_decoder":
      {"548": {"content": "[E1]", "special": true}, "0": {"content": "</s>", "special": false}}})");
  const Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_EQ(*tokenizer.decode(std::vector<int32_t>{548, 0}, true), "[E1]");
  const int32_t german = *tokenizer.tokenToId(">>deu<<");
  EXPECT_EQ(*tokenizer.decode(std::vector<int32_t>{german}, true), ">>deu<<");
}

/// Tokens of CamemBERT that its model does not use have numbers.
TEST_F(BuiltModel, CamembertNumbersUnusedTokens) {
  constexpr BuiltPiece pieces[] = {
      {"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"▁", -2, 1}, {"a", -3, 1}};
  write("sentencepiece.bpe.model", modelOf(pieces, 1, true));
  write("tokenizer_config.json",
        R"({"tokenizer_class": "CamembertTokenizer", "extra_special_tokens": ["[E9]"]})");
  const Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_EQ(idsOf(tokenizer, "a<mask>[E9]"), (std::vector<int32_t>{5, 7, 8, 9, 10, 6}));
  EXPECT_EQ(tokenizer.tokenToId("<unk>NOTUSED"), 4);
}

/// ALBERT follows add_bos_token and add_eos_token, and finds normalized tokens in normalized text.
TEST_F(BuiltModel, SettingsOfAlbert) {
  constexpr BuiltPiece pieces[] = {{"<pad>", 0, 3}, {"<unk>", 0, 2}, {"[CLS]", 0, 3},
                                   {"[SEP]", 0, 3}, {"▁", -2, 1},    {"a", -3, 1},
                                   {"[MASK]", 0, 3}};
  write("spiece.model", modelOf(pieces, 1, true));
  write("tokenizer_config.json", R"({"tokenizer_class": "AlbertTokenizer", "added_tokens_decoder":
      {"7": {"content": "Loom", "normalized": true}}})");
  EXPECT_EQ(idsOf(*openTokenizer(folder.string()), "a loom"),
            (std::vector<int32_t>{2, 4, 5, 7, 3}));
  write("tokenizer_config.json",
        R"({"tokenizer_class": "AlbertTokenizer", "add_bos_token": true})");
  std::vector<std::string> warnings;
  const Tokenizer tokenizer = *openTokenizer(folder.string(), &warnings);
  EXPECT_EQ(idsOf(tokenizer, "a"), (std::vector<int32_t>{2, 4, 5}));
  EXPECT_EQ(tokenizer.encode("a", "a")->ids, (std::vector<int32_t>{2, 4, 5, 2, 4, 5}));
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("add_bos_token: Transformers 5 puts")));
}

/// The classes of mBART and DeBERTa lose the table of characters of the file, which a warning says
/// once. A file without a table loses nothing.
TEST_F(FamilyFolder, TablesThatClassesLose) {
  take("mbart");
  auto warned = [&] { return readTokenizerFile(folder.string())->warnings; };
  EXPECT_THAT(warned(), testing::ElementsAre(
                            (folder / "tokenizer_config.json").string() +
                            ": tokenizer_class: MBartTokenizer of Transformers 5 loses the table "
                            "of characters of sentencepiece.bpe.model, which Heddle keeps, as "
                            "Transformers 4 does"));
  take("mbart50");
  EXPECT_THAT(warned(), testing::IsEmpty());
}

/// The unknown piece of DeBERTa is [UNK], which its folders do not name.
TEST_F(BuiltModel, UnknownPieceOfDeberta) {
  constexpr BuiltPiece pieces[] = {{"[PAD]", 0, 3}, {"[CLS]", 0, 3}, {"[SEP]", 0, 3},
                                   {"[UNK]", 0, 2}, {"▁", -2, 1},    {"a", -3, 1}};
  write("spm.model", modelOf(pieces, 1, true));
  write("config.json", R"({"model_type": "deberta-v2"})");
  std::vector<std::string> warnings;
  const Tokenizer tokenizer = *openTokenizer(folder.string(), &warnings);
  EXPECT_EQ(idsOf(tokenizer, "a k"), (std::vector<int32_t>{1, 4, 5, 4, 3, 2}));
  EXPECT_EQ(tokenizer.tokenToId("[MASK]"), 6);
  EXPECT_THAT(warnings, testing::IsEmpty()); // no table
  write("spm.model", modelOf(pieces, 1, true) + fieldOf(3, fieldOf(2, std::string(4, '\0'))));
  EXPECT_TRUE(openTokenizer(folder.string(), &warnings));
  EXPECT_THAT(warnings, testing::ElementsAre(
                            (folder / "config.json").string() +
                            ": model_type: DebertaV2Tokenizer of Transformers 5 loses the table of "
                            "characters of spm.model, which Heddle keeps, as Transformers 4 does"));
}

/// Classes that split at white space read U+0085 as a blank.
TEST_F(FamilyFolder, NextLineIsABlank) {
  for (const char *family : {"t5", "xlm-roberta"}) {
    take(family);
    const Tokenizer tokenizer = *openTokenizer(folder.string());
    EXPECT_EQ(idsOf(tokenizer, "the\u0085model"), idsOf(tokenizer, "the model")) << family;
  }
}

/// A language token of M2M-100 is special if the folder names it.
TEST_F(FamilyFolder, LanguagesOfM2m) {
  take("m2m-100");
  auto decoded = [&] {
    const Tokenizer tokenizer = *openTokenizer(folder.string());
    return *tokenizer.decode(std::vector<int32_t>{*tokenizer.tokenToId("__en__")}, true);
  };
  write("tokenizer_config.json", R"({"tokenizer_class": "M2M100Tokenizer"})");
  EXPECT_EQ(decoded(), "__en__");
  write("tokenizer_config.json", R"({"tokenizer_class": "M2M100Tokenizer",
      "additional_special_tokens": ["__en__"]})");
  EXPECT_EQ(decoded(), "");
}

/// User-defined pieces are also matched in a family's folder.
TEST_F(FamilyFolder, PiecesOfBpeThatUsersDefinedHaveNumbers) {
  take("m2m-100");
  constexpr BuiltPiece pieces[] = {{"<unk>", 0, 2}, {"▁", -9, 1}, {"a", -10, 1}, {"<m>", 0, 4}};
  write("sentencepiece.bpe.model", modelOf(pieces, 2, true));
  write("vocab.json", R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "▁": 4, "a": 5, "<m>": 6})");
  const Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_EQ(idsOf(tokenizer, "a<m>a", {.specialTokens = false}),
            (std::vector<int32_t>{4, 5, 6, 5}));
}

/// Tokens of added_tokens.json are special if tokenizer_config.json or the class says so. A list in
/// special_tokens_map.json does not count, as in Transformers 5; version 4 used it.
TEST_F(FamilyFolder, AddedTokensAreNotSpecialOfThemselves) {
  take("t5");
  write("added_tokens.json", R"({"{": 32100, "[sep]": 32101, "<extra_id_0>": 32102})");
  write("special_tokens_map.json", R"({"additional_special_tokens": ["[sep]"]})");
  const Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_EQ(*tokenizer.decode(std::vector<int32_t>{32100, 32101, 32102}, true), "{[sep]");
}

TEST_F(FamilyFolder, MasksOfPegasusMayBeNone) {
  take("pegasus");
  EXPECT_TRUE(openTokenizer(folder.string())->tokenToId("<mask_1>"));
  write("tokenizer_config.json",
        R"({"tokenizer_class": "PegasusTokenizer", "mask_token_sent": null})");
  const Tokenizer tokenizer = *openTokenizer(folder.string());
  EXPECT_FALSE(tokenizer.tokenToId("<mask_1>"));
  EXPECT_EQ(tokenizer.tokenToId("<unk_2>"), 4);
}

/// Transformers 5 gives the mask the first number. Heddle keeps the numbers of the model.
TEST_F(FamilyFolder, MasksOfPegasus) {
  take("pegasus");
  std::vector<std::string> warnings;
  EXPECT_TRUE(openTokenizer(folder.string(), &warnings));
  EXPECT_THAT(warnings, testing::IsEmpty());
  write("tokenizer_config.json",
        R"({"tokenizer_class": "PegasusTokenizer", "mask_token": "<mask_2>"})");
  const Tokenizer tokenizer = *openTokenizer(folder.string(), &warnings);
  EXPECT_EQ(idsOf(tokenizer, "<unk_7>"), (std::vector<int32_t>{9, 1}));
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("mask_token: Transformers 5 gives other "
                                                       "numbers to all pieces")));
}

/// Marian's language token is the first token of a text and occurs nowhere else.
TEST_F(FamilyFolder, LanguagesStandInFront) {
  take("marian");
  const Tokenizer marian = *openTokenizer(folder.string());
  const std::vector<int32_t> plain = idsOf(marian, "the model"),
                             german = idsOf(marian, ">>deu<< the model");
  ASSERT_EQ(german.size(), plain.size() + 1);
  EXPECT_EQ(german.front(), marian.tokenToId(">>deu<<"));
  EXPECT_TRUE(std::ranges::equal(plain, std::span(german).subspan(1)));
  EXPECT_EQ(std::ranges::count(idsOf(marian, "the >>deu<<"), german.front()), 0);
}

} // namespace
