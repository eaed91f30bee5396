//===- GoldenTest.cpp - Tokens of the package tokenizers ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares every tokenizer of test/data/tokenizers on 2,000 hard texts: ids, spans,
// words and decoded text, pairs, and truncated pairs. test/data/tokenizers/make.py
// writes the expected values.
#include "Unzipped.h"

#include "heddle/Support/Json.h"
#include "heddle/Support/Text.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using namespace heddle::test;
namespace fs = std::filesystem;

namespace {

const fs::path folder = fs::path(HEDDLE_SOURCE_DIR) / "test/data/tokenizers";

const std::vector<std::string> &hardTexts() {
  static const std::vector<std::string> texts = [] {
    auto json = parseJson(unzipped(folder / "texts.json.gz"), "texts.json");
    return json ? json->get<std::vector<std::string>>() : std::vector<std::string>();
  }();
  return texts;
}

/// FNV-1a over numbers separated by spaces.
class Hash {
public:
  template <typename Values>
  Hash &add(const Values &values) {
    for (auto value : values) {
      text += text.empty() ? "" : " ";
      text += std::to_string(static_cast<int64_t>(value));
    }
    return *this;
  }
  std::string digits() const {
    uint64_t value = 0xcbf29ce484222325;
    for (char c : text)
      value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return formatted("%016lx", static_cast<unsigned long>(value));
  }
  std::string shortDigits() const { return digits().substr(0, 8); }

private:
  std::string text;
};

std::string idsText(const std::vector<int32_t> &ids) {
  constexpr size_t longest = 48;
  if (ids.size() > longest)
    return std::to_string(ids.size()) + ":" + Hash().add(ids).digits();
  return ids.empty() ? "" : listText(ids, [](int32_t id) { return std::to_string(id); }, " ");
}

/// Start and end of each span in code points of its text.
std::vector<uint32_t> pointsOf(const TokenEncoding &tokens, const std::vector<std::string> &texts) {
  std::vector<std::vector<uint32_t>> points;
  for (const std::string &text : texts) {
    auto &own = points.emplace_back();
    uint32_t count = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
      const bool begins = i == text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
      count += begins && i > 0;
      own.push_back(count);
    }
  }
  std::vector<uint32_t> result;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TokenSpan span = tokens.spans[i];
    const auto &own = points[tokens.sequences[i] == 1 ? 1 : 0];
    for (uint32_t place : {span.begin, span.end})
      result.push_back(tokens.sequences[i] < 0 || place >= own.size() ? place : own[place]);
  }
  return result;
}

std::string decodedHash(const Tokenizer &tokenizer, const std::vector<int32_t> &ids, bool skip) {
  auto text = tokenizer.decode(ids, skip);
  if (!text)
    return text.error().message;
  std::vector<int> bytes(text->size());
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>((*text)[i]);
  return ids.empty() ? "" : Hash().add(bytes).shortDigits();
}

std::string singleLine(const Tokenizer &tokenizer, const std::string &text) {
  auto tokens = tokenizer.encode(text);
  if (!tokens)
    return tokens.error().message;
  return idsText(tokens->ids) + "\t" + Hash().add(pointsOf(*tokens, {text})).shortDigits() + "\t" +
         Hash().add(tokens->words).shortDigits() + "\t" +
         decodedHash(tokenizer, tokens->ids, true) + "\t" +
         decodedHash(tokenizer, tokens->ids, false);
}

std::string pairLine(const Tokenizer &tokenizer, const std::string &text, const std::string &pair,
                     const EncodeOptions &options) {
  auto tokens = tokenizer.encode(text, pair, options);
  if (!tokens)
    return options.truncation ? "error" : tokens.error().message;
  return Hash()
      .add(tokens->ids)
      .add(tokens->typeIds)
      .add(pointsOf(*tokens, {text, pair}))
      .add(tokens->special)
      .shortDigits();
}

class Golden : public testing::TestWithParam<std::string> {};

/// Compares the lines of a golden file with computed lines and reports the differences.
class Comparison {
public:
  explicit Comparison(const std::string &text) : rest(text) {}
  void next(const std::string &found, const std::string &what) {
    nextUnless("", found, what, false);
  }
  /// Like `next`, but a line `mark` of the golden file expects nothing.
  void nextUnless(const std::string &mark, const std::string &found, const std::string &what,
                  bool marked = true) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string expected = rest.substr(0, end);
    rest.erase(0, end + 1);
    if (marked && expected == mark)
      return;
    ++lines;
    if (found == expected)
      return;
    constexpr int shown = 5;
    if (++differences <= shown)
      ADD_FAILURE() << what << "\nexpected " << expected << "\nfound    " << found;
  }
  int compared() const { return lines; }
  ~Comparison() { EXPECT_EQ(differences, 0) << "of " << lines << " lines"; }
  bool ended() const { return rest.empty(); }

private:
  std::string rest;
  int differences = 0, lines = 0;
};

TEST_P(Golden, TokensAreEqual) {
  auto tokenizer = openTokenizer((folder / GetParam()).string());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto &texts = hardTexts();
  ASSERT_EQ(texts.size(), 2000u);
  Comparison golden(unzipped(folder / GetParam() / "golden.gz"));
  for (size_t i = 0; i < texts.size(); ++i)
    golden.next(singleLine(*tokenizer, texts[i]),
                "text " + std::to_string(i) + ": " + quotedText(texts[i]));
  constexpr size_t pairs = 300;
  const size_t last = texts.size() - 1;
  for (size_t i = 0; i < pairs; ++i)
    golden.next(
        pairLine(*tokenizer, texts[last - i], texts[last - 1 - i], {.specialTokens = i % 3 != 0}),
        "pair " + std::to_string(i) + ": " + quotedText(texts[last - i]));
  for (size_t i = 0; i < pairs; i += 10)
    for (int64_t length : {6, 9, 20})
      for (auto strategy : {TruncationStrategy::LongestFirst, TruncationStrategy::OnlyFirst,
                            TruncationStrategy::OnlySecond})
        for (bool left : {false, true})
          golden.next(pairLine(*tokenizer, texts[last - i], texts[last - 1 - i],
                               {.truncation = Truncation{length, strategy, left}}),
                      "pair " + std::to_string(i) + " cut to " + std::to_string(length));
  EXPECT_TRUE(golden.ended());
}

/// SentencePiece models without additions by Hugging Face.
TEST(Pieces, AreThoseOfSentencePiece) {
  const auto &texts = hardTexts();
  for (const char *kind : {"pieces-unigram", "pieces-bpe"}) {
    auto tokenizer = openTokenizer((folder / kind).string());
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    Comparison golden(unzipped(folder / kind / "pieces.gz"));
    for (const std::string &text : texts) {
      auto tokens = tokenizer->encode(text);
      ASSERT_TRUE(tokens) << tokens.error().message;
      golden.nextUnless("-", idsText(tokens->ids), std::string(kind) + ": " + quotedText(text));
    }
    EXPECT_TRUE(golden.ended());
    EXPECT_GT(golden.compared(), 1500);
  }
}

/// The first six digits of the hash of a text.
std::string hashOf(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325;
  for (char c : text)
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return formatted("%016lx", static_cast<unsigned long>(value)).substr(0, 6);
}
std::string hashOf(const std::vector<int32_t> &ids) {
  return hashOf(ids.empty() ? ""
                            : listText(ids, [](int32_t id) { return std::to_string(id); }, " "));
}

class FolderGolden : public testing::TestWithParam<std::string> {};

/// Folders with SentencePiece models and without tokenizer.json: ids of Transformers, and their
/// decoded text.
TEST_P(FolderGolden, TokensAreThoseOfTransformers) {
  const fs::path place = folder / "folders" / GetParam();
  auto tokenizer = openTokenizer(place.string());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto ownFile = readTargetTokenizerFile(place.string());
  ASSERT_TRUE(ownFile) << ownFile.error().message;
  EXPECT_EQ(ownFile->has_value(), GetParam() == "marian");
  const Tokenizer writes =
      *ownFile ? *Tokenizer::fromJson((*ownFile)->json, (*ownFile)->name) : *tokenizer;
  const auto &texts = hardTexts();
  Comparison golden(unzipped(place.string() + ".gz"));
  for (const std::string &text : texts) {
    auto tokens = tokenizer->encode(text);
    ASSERT_TRUE(tokens) << tokens.error().message;
    golden.next(hashOf(tokens->ids), quotedText(text) + ": " + idsText(tokens->ids));
  }
  constexpr size_t pairs = 100, decoded = 300;
  const size_t last = texts.size() - 1;
  for (size_t i = 0; i < pairs; ++i)
    golden.next(hashOf(tokenizer->encode(texts[last - i], texts[last - 1 - i])->ids),
                "pair " + std::to_string(i));
  std::vector<std::string> full;
  std::ranges::copy_if(texts, std::back_inserter(full), [](const std::string &text) {
    return text.find_first_not_of(" \t\n\r") != std::string::npos;
  });
  for (size_t i = full.size() - decoded; i < full.size(); ++i) {
    auto text = writes.decode(writes.encode(full[i])->ids);
    ASSERT_TRUE(text) << text.error().message;
    golden.next(hashOf(*text), "decoded " + quotedText(full[i]) + ": " + quotedText(*text));
  }
  EXPECT_TRUE(golden.ended());
}

std::vector<std::string> folders() {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder / "folders"))
    if (entry.is_directory())
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "golden.gz"))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string nameOf(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Kinds, Golden, testing::ValuesIn(kinds()), nameOf);
INSTANTIATE_TEST_SUITE_P(Families, FolderGolden, testing::ValuesIn(folders()), nameOf);

} // namespace
