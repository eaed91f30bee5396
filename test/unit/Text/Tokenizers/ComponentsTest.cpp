//===- ComponentsTest.cpp - Components of a tokenizer ------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests normalizers, pre-tokenizers, decoders, post-processors and added tokens
// separately, with every option and its default.
#include "Components.h"
#include "AddedTokens.h"

#include <gmock/gmock.h>

using namespace heddle;
using namespace heddle::tokenizers;
using testing::ElementsAre;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

namespace {

/// Reads a component from JSON text. Errors name the file t.json.
template <typename Component>
Expected<std::unique_ptr<Component>>
read(const std::string &json, Expected<std::unique_ptr<Component>> (*reader)(const JsonField &)) {
  const Json value = Json::parse(json);
  return reader(JsonField(value, "t.json"));
}

std::string normalized(const std::string &json, std::string_view text) {
  auto normalizer = read(json, readNormalizer);
  if (!normalizer)
    return normalizer.error().message;
  AlignedText result(text);
  Work work(text.size());
  Status applied = (*normalizer)->apply(result, work);
  return applied ? result.text() : applied.error().message;
}

Texts piecesOf(const std::string &json, std::string_view text) {
  auto splitter = read(json, readPreTokenizer);
  if (!splitter)
    return {splitter.error().message};
  Pieces pieces(text);
  Work work(text.size());
  if (Status applied = (*splitter)->apply(pieces, work); !applied)
    return {applied.error().message};
  Texts result;
  for (const Piece &piece : pieces.pieces())
    result.emplace_back(pieces.textOf(piece));
  return result;
}

/// The texts that a decoder returns for tokens, joined as "a|b".
std::string decoded(const std::string &json, Texts tokens) {
  auto decoder = read(json, readDecoder);
  if (!decoder)
    return decoder.error().message;
  if (Status applied = (*decoder)->apply(tokens); !applied)
    return applied.error().message;
  std::string all;
  for (size_t i = 0; i < tokens.size(); ++i)
    all += (i ? "|" : "") + tokens[i];
  return all;
}

//===- Normalizers -------------------------------------------------------===//

TEST(Normalizers, BertCleansSpacesAndLowers) {
  const std::string all = R"({"type": "BertNormalizer"})";
  EXPECT_EQ(normalized(all, "A\tB\xc2\xa0\x43\r\n"), "a b c  ");
  EXPECT_EQ(normalized(all, std::string_view("a\0b\xef\xbf\xbd\x01"
                                             "c",
                                             8)),
            "abc");
  EXPECT_EQ(normalized(all, "x語y"), "x 語 y");
  EXPECT_EQ(normalized(all, "Élan"), "elan");
  EXPECT_EQ(normalized(all, "かな"), "かな"); // not ideographs
}

TEST(Normalizers, BertWithoutItsSteps) {
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "lowercase": false})", "Élan"), "Élan");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "lowercase": false, "strip_accents": true})",
                       "Élan"),
            "Elan");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "strip_accents": false})", "Élan"), "élan");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "handle_chinese_chars": false})", "x語y"),
            "x語y");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "clean_text": false})", "a\tb"), "a\tb");
  EXPECT_EQ(normalized(R"({"type": "BertNormalizer", "lowercase": "yes"})", ""),
            "t.json: lowercase: expected true or false, found 'yes'");
}

TEST(Normalizers, UnicodeForms) {
  const std::string composed = "\u00e9\ufb01", decomposed = "e\u0301\ufb01"; // é, ligature fi
  EXPECT_EQ(normalized(R"({"type": "NFD"})", composed), decomposed);
  EXPECT_EQ(normalized(R"({"type": "NFC"})", decomposed), composed);
  EXPECT_EQ(normalized(R"({"type": "NFKD"})", composed), "e\u0301fi");
  EXPECT_EQ(normalized(R"({"type": "NFKC"})", decomposed), "\u00e9fi");
  EXPECT_EQ(normalized(R"({"type": "NFC"})", "plain"), "plain");
  // Marks are sorted by class: the dot below comes before the dot above.
  EXPECT_EQ(normalized(R"({"type": "NFD"})", "s\u0307\u0323"), "s\u0323\u0307");
}

TEST(Normalizers, StripsAccentsAndBlanks) {
  EXPECT_EQ(normalized(R"({"type": "StripAccents"})", "e\u0301a"), "ea");
  EXPECT_EQ(normalized(R"({"type": "StripAccents"})", "\u00e9"), "\u00e9"); // one character
  EXPECT_EQ(normalized(R"({"type": "Strip"})", " \t a b\u3000 "), "a b");
  EXPECT_EQ(normalized(R"({"type": "Strip", "strip_left": false})", " a "), " a");
  EXPECT_EQ(normalized(R"({"type": "Strip", "strip_right": false})", " a "), "a ");
  EXPECT_EQ(normalized(R"({"type": "Strip"})", "   "), "");
}

TEST(Normalizers, LowercaseMayGrow) {
  EXPECT_EQ(normalized(R"({"type": "Lowercase"})", "ÀB\u0130"), "àbi\u0307");
  EXPECT_EQ(normalized(R"({"type": "Lowercase"})", "ABC xyz 1"), "abc xyz 1");
}

TEST(Normalizers, ReplacesTextsAndExpressions) {
  EXPECT_EQ(
      normalized(R"({"type": "Replace", "pattern": {"String": "aa"}, "content": "b"})", "aaaaa"),
      "bba");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"String": ""}, "content": "-"})", "é"),
            "-é-");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})",
                       "a   b c"),
            "a b c");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": "\\d"}, "content": ""})",
                       "a1b\u0662"), // a digit of another script
            "ab");
  EXPECT_EQ(
      normalized(R"({"type": "Replace", "pattern": {"Regex": "^x"}, "content": "y"})", "x\nx\n"),
      "y\ny\n");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": "a", "content": "b"})", ""),
            "t.json: pattern: expected an object with String or Regex, found 'a'");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"String": "a"}})", ""),
            "t.json: expected a key content, found none");
}

TEST(Normalizers, PrependsToTextsOnly) {
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "_"})", "a"), "_a");
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "_"})", ""), "");
  EXPECT_EQ(normalized(R"({"type": "Prepend"})", ""), "t.json: expected a key prepend, found none");
}

TEST(Normalizers, ByteLevelWritesBytesAsCharacters) {
  EXPECT_EQ(normalized(R"({"type": "ByteLevel"})", "a é\n"), "aĠÃ©Ċ");
}

TEST(Normalizers, SequencesGoFromFirstToLast) {
  EXPECT_EQ(normalized(R"({"type": "Sequence", "normalizers": [
                            {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]})",
                       "ÉA"),
            "ea");
  EXPECT_EQ(normalized(R"({"type": "Sequence", "normalizers": []})", "Aé"), "Aé");
  EXPECT_EQ(
      normalized(R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"kind": 1}]})", ""),
      "t.json: normalizers.1: expected a key type, found none");
  EXPECT_EQ(normalized(R"({"type": "Sequence", "normalizers": {}})", ""),
            "t.json: normalizers: expected a list, found an object");
}

TEST(Normalizers, PlacesStayThoseOfTheInput) {
  const Json json = Json::parse(R"({"type": "BertNormalizer"})");
  auto normalizer = readNormalizer(JsonField(json, "t.json"));
  AlignedText text("É語");
  Work work(text.size());
  ASSERT_TRUE((*normalizer)->apply(text, work));
  ASSERT_EQ(text.text(), "e 語 ");
  EXPECT_EQ(text.spans()[0], (TokenSpan{0, 2}));
  EXPECT_EQ(text.spans()[2], (TokenSpan{2, 5}));
}

//===- Pre-tokenizers ----------------------------------------------------===//

TEST(PreTokenizers, Bert) {
  EXPECT_THAT(piecesOf(R"({"type": "BertPreTokenizer"})", "Hey, you!  ok"),
              ElementsAre("Hey", ",", "you", "!", "ok"));
  EXPECT_THAT(piecesOf(R"({"type": "BertPreTokenizer"})", "a$b、c"),
              ElementsAre("a", "$", "b", "、", "c"));
  EXPECT_THAT(piecesOf(R"({"type": "BertPreTokenizer"})", "  "), ElementsAre());
}

TEST(PreTokenizers, WordsAndWhatIsBetween) {
  EXPECT_THAT(piecesOf(R"({"type": "Whitespace"})", "a_b c... d"),
              ElementsAre("a_b", "c", "...", "d"));
  EXPECT_THAT(piecesOf(R"({"type": "Whitespace"})", "e\u0301!?x"),
              ElementsAre("e\u0301", "!?", "x"));
  EXPECT_THAT(piecesOf(R"({"type": "WhitespaceSplit"})", " a_b c...\u2003d "),
              ElementsAre("a_b", "c...", "d"));
}

TEST(PreTokenizers, PunctuationAndDigits) {
  EXPECT_THAT(piecesOf(R"({"type": "Punctuation"})", "a,b!!"),
              ElementsAre("a", ",", "b", "!", "!"));
  EXPECT_THAT(piecesOf(R"({"type": "Punctuation", "behavior": "Removed"})", "a,b!!"),
              ElementsAre("a", "b"));
  EXPECT_THAT(piecesOf(R"({"type": "Punctuation", "behavior": "Contiguous"})", "a,b!!"),
              ElementsAre("a", ",", "b", "!!"));
  EXPECT_THAT(piecesOf(R"({"type": "Digits"})", "a12b3"), ElementsAre("a", "12", "b", "3"));
  EXPECT_THAT(piecesOf(R"({"type": "Digits", "individual_digits": true})", "a12\u00bd"),
              ElementsAre("a", "1", "2", "\u00bd"));
}

TEST(PreTokenizers, SplitBehaviors) {
  auto split = [](const std::string &behavior, const std::string &more = "") {
    return piecesOf(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior +
                        "\"" + more + "}",
                    "a--b-");
  };
  EXPECT_THAT(split("Removed"), ElementsAre("a", "b"));
  EXPECT_THAT(split("Isolated"), ElementsAre("a", "-", "-", "b", "-"));
  EXPECT_THAT(split("MergedWithPrevious"), ElementsAre("a-", "-", "b-"));
  EXPECT_THAT(split("MergedWithNext"), ElementsAre("a", "-", "-b", "-"));
  EXPECT_THAT(split("Contiguous"), ElementsAre("a", "--", "b", "-"));
  EXPECT_THAT(split("Removed", R"(, "invert": true)"), ElementsAre("-", "-", "-"));
  EXPECT_THAT(split("Removed", R"(, "invert": 1)"),
              ElementsAre("t.json: invert: expected true or false, found 1"));
}

TEST(PreTokenizers, ExpressionsThatAreScannedAndThatIcuSearches) {
  const std::string gpt2 =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+)";
  auto split = [](const std::string &regex, std::string_view text) {
    return piecesOf(R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": ")" + regex +
                        "\"}}",
                    text);
  };
  const std::string_view text = "We'll  pay 12 €, ok\n\n x";
  const Texts expected = {"We", "'ll", " ", " pay", " 12", " €,", " ok", "\n\n", " x"};
  EXPECT_EQ(split(gpt2, text), expected);
  // With brackets the expression differs, so no special scanner matches it.
  EXPECT_EQ(split("(?:" + gpt2 + ")", text), expected);
}

TEST(PreTokenizers, ByteLevel) {
  EXPECT_THAT(piecesOf(R"({"type": "ByteLevel"})", "a bc"), ElementsAre("Ġa", "Ġbc"));
  EXPECT_THAT(piecesOf(R"({"type": "ByteLevel"})", " a"), ElementsAre("Ġa"));
  EXPECT_THAT(piecesOf(R"({"type": "ByteLevel", "add_prefix_space": false})", "a é"),
              ElementsAre("a", "ĠÃ©"));
  EXPECT_THAT(
      piecesOf(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})", "a b"),
      ElementsAre("aĠb"));
}

TEST(PreTokenizers, Metaspace) {
  EXPECT_THAT(piecesOf(R"({"type": "Metaspace", "replacement": "▁"})", "a  b"),
              ElementsAre("▁a", "▁", "▁b"));
  EXPECT_THAT(piecesOf(R"({"type": "Metaspace", "replacement": "_", "split": false})", "a b"),
              ElementsAre("_a_b"));
  EXPECT_THAT(
      piecesOf(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"})", "a b"),
      ElementsAre("a", "_b"));
  EXPECT_THAT(
      piecesOf(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false})", "a b"),
      ElementsAre("a", "_b"));
  EXPECT_THAT(piecesOf(R"({"type": "Metaspace", "replacement": "_"})", " a"), ElementsAre("_a"));
  EXPECT_THAT(
      piecesOf(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})", "a"),
      ElementsAre("t.json: prepend_scheme: expected one of first, never, always, found 'last'"));
  EXPECT_THAT(piecesOf(R"({"type": "Metaspace", "replacement": ""})", "a"),
              ElementsAre("t.json: replacement: expected one character, found ''"));
}

TEST(PreTokenizers, TheFirstPieceAloneIsPrepended) {
  const std::string steps = R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
      {"type": "Metaspace", "replacement": "_", "prepend_scheme": ")";
  EXPECT_THAT(piecesOf(steps + "first\"}]}", "a b"), ElementsAre("_a", "b"));
  EXPECT_THAT(piecesOf(steps + "always\"}]}", "a b"), ElementsAre("_a", "_b"));
}

//===- Decoders ----------------------------------------------------------===//

TEST(Decoders, WordPiece) {
  EXPECT_EQ(decoded(R"({"type": "WordPiece"})", {"do", "##n", "'", "t", "!"}), "do|n| '| t|!");
  EXPECT_EQ(decoded(R"({"type": "WordPiece", "cleanup": false})", {"a", "!", "##"}), "a| !|");
  EXPECT_EQ(decoded(R"({"type": "WordPiece", "prefix": "@"})", {"@a", "@b", "##c"}), "@a|b| ##c");
}

TEST(Decoders, Bpe) {
  EXPECT_EQ(decoded(R"({"type": "BPEDecoder"})", {"lo", "w</w>", "er</w>"}), "lo|w |er");
  EXPECT_EQ(decoded(R"({"type": "BPEDecoder", "suffix": "."})", {"a.", "b."}), "a |b");
}

TEST(Decoders, Metaspace) {
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "▁"})", {"▁a", "b", "▁c"}), "a|b| c");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})",
                    {"▁a", "▁c"}),
            " a| c");
}

TEST(Decoders, BytesThatAreNoTextAreMarked) {
  const std::string bytes = R"({"type": "ByteLevel"})";
  EXPECT_EQ(decoded(bytes, {"aĠ", "Ã", "©"}), "a é");
  EXPECT_EQ(decoded(bytes, {"Ã", "a"}), "\ufffda"); // only the first byte of a character
  EXPECT_EQ(decoded(bytes, {"語"}), "語");          // not the character of a byte: kept as text
  const std::string fallback = R"({"type": "ByteFallback"})";
  EXPECT_EQ(decoded(fallback, {"x", "<0xC3>", "<0xA9>", "y"}), "x|é|y");
  EXPECT_EQ(decoded(fallback, {"<0xc3>", "<0x41>", "z"}), "\ufffd|\ufffd|z");
  EXPECT_EQ(decoded(fallback, {"<0xG1>", "<0x1>"}), "<0xG1>|<0x1>");
  EXPECT_EQ(decoded(fallback, {}), "");
}

TEST(Decoders, ReplaceFuseAndStrip) {
  EXPECT_EQ(decoded(R"({"type": "Replace", "pattern": {"String": "_"}, "content": " "})",
                    {"_a_", "b", ""}),
            " a |b|");
  EXPECT_EQ(decoded(R"({"type": "Fuse"})", {"a", "b"}), "ab");
  EXPECT_EQ(
      decoded(R"({"type": "Strip", "content": "_", "start": 1, "stop": 2})", {"__a__", "___", "_"}),
      "_a||");
  EXPECT_EQ(decoded(R"({"type": "Strip", "content": "ab", "start": 1, "stop": 0})", {}),
            "t.json: content: expected one character, found 'ab'");
  EXPECT_EQ(decoded(R"({"type": "Strip", "content": "a", "start": -1, "stop": 0})", {}),
            "t.json: start: expected a whole number from 0 to 2147483647, found -1");
  EXPECT_EQ(decoded(R"({"type": "Strip", "start": 1, "stop": 0})", {}),
            "t.json: expected a key content, found none");
  EXPECT_EQ(decoded(R"({"type": "StripBlanks"})", {" \u3000a b\t"}), "a b");
}

TEST(Decoders, Sequences) {
  EXPECT_EQ(decoded(R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
                    {"▁a", "<0x41>", "▁b"}),
            "aA b");
  EXPECT_EQ(decoded(R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": 1}]})", {}),
            "t.json: decoders.1.type: expected one of WordPiece, ByteLevel, Metaspace, BPEDecoder, "
            "Replace, ByteFallback, Fuse, Strip, StripBlanks, Sequence, found 1");
}

//===- Post-processors ---------------------------------------------------===//

/// A row of tokens that represents a text.
Row rowOf(std::vector<int32_t> ids, int8_t sequence) {
  Row row;
  const size_t count = ids.size();
  row.tokens.ids = std::move(ids);
  row.tokens.typeIds.assign(count, sequence);
  row.tokens.special.assign(count, 0);
  row.tokens.spans.assign(count, {0, 1});
  row.tokens.words.assign(count, 0);
  row.tokens.sequences.assign(count, sequence);
  row.tokens.attention.assign(count, 1);
  row.blanks.assign(count, {});
  return row;
}

/// Ids and types of all rows: "1 5 2 / 0 0 0".
std::string processed(const std::string &json, bool pair, bool special = true) {
  auto processor = read(json, readPostProcessor);
  if (!processor)
    return processor.error().message;
  std::vector<Row> rows;
  rows.push_back(rowOf({5}, 0));
  if (pair)
    rows.push_back(rowOf({6, 7}, 1));
  (*processor)->apply(rows, special);
  std::string ids, types;
  int64_t added = pair ? -3 : -1;
  for (const Row &row : rows)
    for (size_t i = 0; i < row.tokens.size(); ++i, ++added) {
      ids += std::to_string(row.tokens.ids[i]) + " ";
      types += " " + std::to_string(row.tokens.typeIds[i]);
    }
  if (special) {
    EXPECT_EQ((*processor)->added(pair), added);
  }
  return ids + "/" + types;
}

TEST(PostProcessors, Bert) {
  const std::string bert = R"({"type": "BertProcessing", "sep": ["s", 2], "cls": ["c", 1]})";
  EXPECT_EQ(processed(bert, false), "1 5 2 / 0 0 0");
  EXPECT_EQ(processed(bert, true), "1 5 2 6 7 2 / 0 0 0 1 1 1");
  EXPECT_EQ(processed(bert, true, /*special=*/false), "5 6 7 / 0 1 1");
  EXPECT_EQ(processed(R"({"type": "BertProcessing", "sep": [2], "cls": ["c", 1]})", false),
            "t.json: sep: expected a token and its id, found a list");
  EXPECT_EQ(processed(R"({"type": "BertProcessing", "sep": ["s", "2"], "cls": ["c", 1]})", false),
            "t.json: sep.1: expected a whole number from 0 to 2147483647, found '2'");
}

TEST(PostProcessors, RobertaHasOneTypeAndTwoTokensBetween) {
  const std::string roberta = R"({"type": "RobertaProcessing", "sep": ["s", 2], "cls": ["c", 1]})";
  EXPECT_EQ(processed(roberta, false), "1 5 2 / 0 0 0");
  EXPECT_EQ(processed(roberta, true), "1 5 2 2 6 7 2 / 0 0 0 0 0 0 0");
  EXPECT_EQ(processed(roberta, true, /*special=*/false), "5 6 7 / 0 0 0");
}

TEST(PostProcessors, Templates) {
  const std::string text = R"({"Sequence": {"id": "A", "type_id": 0}})",
                    other = R"({"Sequence": {"id": "B", "type_id": 3}})",
                    mark = R"({"SpecialToken": {"id": "x", "type_id": 4}})",
                    known = R"("special_tokens": {"x": {"id": "x", "ids": [8, 9]}})";
  auto of = [&](const std::string &single, const std::string &pair) {
    return R"({"type": "TemplateProcessing", "single": [)" + single + "]" +
           (pair.empty() ? "" : ", \"pair\": [" + pair + "]") + ", " + known + "}";
  };
  EXPECT_EQ(processed(of(text + "," + mark, other + "," + mark + "," + text), false),
            "5 8 9 / 0 4 4");
  EXPECT_EQ(processed(of(text + "," + mark, other + "," + mark + "," + text), true),
            "6 7 8 9 5 / 3 3 4 4 0");
  EXPECT_EQ(processed(of(mark + "," + text, ""), true), "5 6 7 / 0 1 1"); // no template for pairs
  EXPECT_EQ(processed(of(mark + "," + text, ""), false, /*special=*/false), "5 / 0");
  EXPECT_EQ(processed(of("{}", ""), false),
            "t.json: single.0: expected Sequence or SpecialToken, found neither");
  EXPECT_EQ(processed(of(text, R"({"Sequence": {"id": "C", "type_id": 0}})"), false),
            "t.json: pair.0.Sequence.id: expected A or B, found 'C'");
  std::string many = text;
  for (int i = 0; i < 100; ++i)
    many += "," + mark;
  EXPECT_EQ(processed(of(many, ""), false),
            "t.json: expected at most 100 pieces in single, found 101");
}

/// The spans of tokens on "ab  c". The second token begins and ends with a space.
std::vector<TokenSpan> trimmed(const std::string &json, bool prefix = false) {
  auto processor = read(json, readPostProcessor);
  EXPECT_TRUE(processor) << processor.error().message;
  std::vector<Row> rows;
  rows.push_back(rowOf({5, 6}, 0));
  rows[0].text = " b  c";
  rows[0].tokens.spans = {{0, prefix ? 1u : 2u}, {2, 5}};
  rows[0].blanks = {{1, 0}, {2, 0}};
  (*processor)->apply(rows, /*special=*/false);
  return rows[0].tokens.spans;
}

TEST(PostProcessors, ByteLevelTrimsSpans) {
  EXPECT_THAT(trimmed(R"({"type": "ByteLevel", "add_prefix_space": false})"),
              ElementsAre(TokenSpan{1, 2}, TokenSpan{4, 5}));
  // The space before the first token was inserted, so it has no position in the text.
  EXPECT_THAT(trimmed(R"({"type": "ByteLevel"})", true),
              ElementsAre(TokenSpan{0, 1}, TokenSpan{4, 5}));
  EXPECT_THAT(trimmed(R"({"type": "ByteLevel", "trim_offsets": false})"),
              ElementsAre(TokenSpan{0, 2}, TokenSpan{2, 5}));
}

TEST(PostProcessors, OneOfASequenceAddsTokens) {
  EXPECT_EQ(processed(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
      {"type": "BertProcessing", "sep": ["s", 2], "cls": ["c", 1]}]})",
                      false),
            "1 5 2 / 0 0 0");
  EXPECT_EQ(processed(R"({"type": "Sequence", "processors": []})", true), "5 6 7 / 0 1 1");
}

//===- Added tokens ------------------------------------------------------===//

/// "[x]" for an added token x; other pieces are unchanged.
std::string withTokens(const std::string &list, std::string_view text, bool normalized = false) {
  const Json model = Json::parse(R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0}})"),
             file = Json::parse(R"({"added_tokens": [)" + list + "]}");
  auto words = readModel(JsonField(model, "t.json"));
  auto added = AddedTokens::read(JsonField(file, "t.json"), **words, nullptr);
  if (!added)
    return added.error().message;
  Pieces pieces(text);
  EXPECT_TRUE(added->split(pieces, normalized, PlainParts(*added, EncodeOptions())));
  std::string result;
  for (const Piece &piece : pieces.pieces())
    result += piece.token < 0 ? std::string(pieces.textOf(piece))
                              : "[" + std::string(pieces.textOf(piece)) + "]";
  return result;
}

TEST(AddedTokens, TheLongestOfTheLeftmostCounts) {
  const std::string list =
      R"({"content": "<a>", "special": true}, {"content": "<a>b", "special": true},
                              {"content": "a>bcd", "special": true})";
  EXPECT_EQ(withTokens(list, "x<a>bcd<a>"), "x[<a>b]cd[<a>]");
  EXPECT_EQ(withTokens(list, "a>bc a>bcd"), "a>bc [a>bcd]");
  EXPECT_EQ(withTokens(list, ""), "");
}

TEST(AddedTokens, WordsAndBlanks) {
  const std::string word = R"({"content": "ab", "special": true, "single_word": true})";
  EXPECT_EQ(withTokens(word, "ab abc cab éab ab-"), "[ab] abc cab éab [ab]-");
  const std::string left = R"({"content": "|", "special": true, "lstrip": true})",
                    right = R"({"content": "|", "special": true, "rstrip": true})";
  EXPECT_EQ(withTokens(left, "a \t| b"), "a[ \t|] b");
  EXPECT_EQ(withTokens(right, "a |\u3000 b"), "a [|\u3000 ]b");
  EXPECT_EQ(
      withTokens(R"({"content": "|", "special": true, "lstrip": true, "rstrip": true})", "a | | b"),
      "a[ | ][| ]b"); // whitespace between two tokens belongs to the first
}

TEST(AddedTokens, SomeAreLookedForBehindTheNormalizer) {
  const std::string list =
      R"({"content": "Ab", "normalized": true}, {"content": "c", "special": true})";
  EXPECT_EQ(withTokens(list, "Abc"), "Ab[c]");
  EXPECT_EQ(withTokens(list, "Abc", /*normalized=*/true), "[Ab]c");
  EXPECT_EQ(withTokens(R"({"content": "", "special": true})", "ab"), "ab"); // matches nowhere
}

TEST(AddedTokens, IdsAreThoseOfTheModelOrBehindThem) {
  const Json model = Json::parse(
                 R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2}})"),
             file = Json::parse(R"({"added_tokens": [{"content": "b"}, {"content": "n"},
                                    {"content": "m"}, {"content": "n", "special": true}]})");
  auto words = readModel(JsonField(model, "t.json"));
  auto added = AddedTokens::read(JsonField(file, "t.json"), **words, nullptr);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(added->find("b"), 2);
  EXPECT_EQ(added->find("n"), 3);
  EXPECT_EQ(added->find("m"), 4);
  EXPECT_EQ(added->find("a"), std::nullopt);
  ASSERT_TRUE(added->token(3));
  EXPECT_TRUE(added->token(3)->special);
  EXPECT_EQ(added->token(5), nullptr);
}

TEST(AddedTokens, BadListsAreNamed) {
  EXPECT_EQ(withTokens(R"({"content": "a", "lstrip": "no"})", ""),
            "t.json: added_tokens.0.lstrip: expected true or false, found 'no'");
  EXPECT_EQ(withTokens(R"({"content": "a"}, {})", ""),
            "t.json: added_tokens.1: expected a key content, found none");
  EXPECT_EQ(withTokens("7", ""), "t.json: added_tokens.0: expected an object, found 7");
}

} // namespace
