//===- GgufTokenizerTest.cpp - Tokenizers in GGUF files -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the tokenizers of test/data/tokenizers, which GoldenTest.cpp compares
// with the package `tokenizers`, to metadata. Ids and decoded texts must be
// equal.

#include "GgufFile.h"
#include "TemporaryFolder.h"
#include "Unzipped.h"

#include "heddle/Support/Json.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using namespace heddle::test;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

namespace {

const std::filesystem::path folder =
    std::filesystem::path(HEDDLE_SOURCE_DIR) / "test/data/tokenizers";

enum Kind : int32_t { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

std::string fromBase64(const std::string &text) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0, count = 0;
  for (char letter : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<uint32_t>(letters.find(letter));
    if ((count += 6) >= 8)
      bytes += static_cast<char>(bits >> (count -= 8));
  }
  return bytes;
}

const Json *normalizerOf(const Json &given, const char *type) {
  if (given.is_object() && given["type"] == type)
    return &given;
  if (given.is_object() && given.contains("normalizers"))
    for (const Json &inner : given["normalizers"])
      if (const Json *found = normalizerOf(inner, type))
        return found;
  return nullptr;
}

/// A Unigram tokenizer.json in the form that converters write.
GgufFile convertedUnigram(const Json &json) {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  std::vector<float> scores;
  for (const Json &entry : json["model"]["vocab"]) {
    tokens.push_back(entry[0]);
    scores.push_back(entry[1]);
    kinds.push_back(static_cast<int64_t>(kinds.size()) == json["model"]["unk_id"] ? Unknown
                                                                                  : Normal);
  }
  for (const Json &added : json["added_tokens"]) {
    const size_t id = added["id"];
    for (; tokens.size() <= id; scores.push_back(-10000), kinds.push_back(Unused))
      tokens.push_back("[PAD" + std::to_string(tokens.size()) + "]");
    tokens[id] = added["content"];
    if (kinds[id] != Unknown)
      kinds[id] = added["special"] == true ? Control : UserDefined;
  }
  GgufFile file;
  const Json *table = normalizerOf(json["normalizer"], "Precompiled");
  const std::string map = table ? fromBase64((*table)["precompiled_charsmap"]) : "";
  return file.add("tokenizer.ggml.model", "t5")
      .add("tokenizer.ggml.tokens", tokens)
      .addNumbers("tokenizer.ggml.scores", GgufType::F32, scores)
      .addNumbers("tokenizer.ggml.token_type", GgufType::I32, kinds)
      .addNumbers("tokenizer.ggml.precompiled_charsmap", GgufType::I8,
                  std::vector<char>(map.begin(), map.end()))
      .add("tokenizer.ggml.add_space_prefix", true)
      .add("tokenizer.ggml.remove_extra_whitespaces", true);
}

/// A tokenizer.json in the form that converters write.
GgufFile converted(const Json &json, const std::string &model, const std::string &pre) {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  auto put = [&](size_t id, const std::string &text, Kind kind) {
    while (tokens.size() <= id) {
      tokens.push_back("[PAD" + std::to_string(tokens.size()) + "]");
      kinds.push_back(Unused);
    }
    tokens[id] = text;
    kinds[id] = kind;
  };
  for (const auto &[token, id] : json["model"]["vocab"].items()) {
    std::string text = token;
    if (model == "bert" && token.starts_with("##"))
      text = token.substr(2);
    else if (model == "bert" && !(token.starts_with('[') && token.ends_with(']')))
      text = "▁" + token;
    const bool isByte = model == "llama" && token.starts_with("<0x");
    put(id, text, isByte ? Byte : Normal);
  }
  GgufFile file;
  for (const Json &added : json["added_tokens"])
    put(added["id"], added["content"],
        added["content"] == "<unk>" ? Unknown
        : added["special"] == true  ? Control
                                    : UserDefined);
  file.add("tokenizer.ggml.model", std::string_view(model)).add("tokenizer.ggml.tokens", tokens);
  if (!pre.empty())
    file.add("tokenizer.ggml.pre", std::string_view(pre));
  std::vector<std::string> merges;
  std::vector<float> scores(tokens.size(), -1e6f); // earlier merges have higher scores
  for (const Json &merge : json["model"].value("merges", Json::array())) {
    std::string left, right; // older files have "a b"
    if (merge.is_string()) {
      const auto line = merge.get<std::string>();
      left = line.substr(0, line.find(' ')), right = line.substr(line.find(' ') + 1);
    } else {
      left = merge[0], right = merge[1];
    }
    const auto made = std::ranges::find(tokens, left + right);
    float &score = scores[static_cast<size_t>(made - tokens.begin())];
    score = std::max(score, -static_cast<float>(merges.size()));
    merges.push_back(left + " " + right);
  }
  if (model == "gpt2")
    file.add("tokenizer.ggml.merges", merges);
  if (model == "llama")
    file.addNumbers("tokenizer.ggml.scores", GgufType::F32, scores);
  return file.addNumbers("tokenizer.ggml.token_type", GgufType::I32, kinds);
}

Expected<Tokenizer> openFile(const GgufFile &file) {
  TemporaryFolder temporary;
  return openTokenizer(temporary.write("m.gguf", file.bytes()));
}

struct Case {
  const char *name, *model, *pre;
  const char *start = nullptr; ///< the token before a text
  const char *end = nullptr;   ///< the token after a text
  bool prefix = true;          ///< llama: a space before the first word
};

/// Removes settings of the test's tokenizers that no model of their kind has and that the metadata
/// cannot express.
void takeWhatMetadataSays(Json &json, std::string_view model) {
  Json added = Json::array();
  for (Json token : json["added_tokens"]) {
    token["normalized"] = false;
    if (model == "t5")
      token["rstrip"] = false;
    if (model != "llama" || token["special"] == true) // others are pieces with scores and merges
      added.push_back(std::move(token));
  }
  json["added_tokens"] = std::move(added);
  if (model == "bert")
    json["normalizer"]["handle_chinese_chars"] = true;
  if (model == "t5") { // as published for T5; newer files keep a space at an end
    json["normalizer"] = Json(*normalizerOf(json["normalizer"], "Precompiled"));
    json["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "WhitespaceSplit"}},
          {{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}}}}};
  }
  if (json["pre_tokenizer"].is_object() && json["pre_tokenizer"].contains("add_prefix_space"))
    json["pre_tokenizer"]["add_prefix_space"] = false;
}

class GgufTokenizers : public testing::TestWithParam<Case> {};

TEST_P(GgufTokenizers, GiveTheIdsOfTokenizerJson) {
  const Case &kind = GetParam();
  const std::string text = unzipped(folder / kind.name / "tokenizer.json");
  Json json = Json::parse(text);
  takeWhatMetadataSays(json, kind.model);
  auto expected = Tokenizer::fromJson(json.dump(), kind.name);
  ASSERT_TRUE(expected) << expected.error().message;
  GgufFile file = kind.model == std::string("t5") ? convertedUnigram(json)
                                                  : converted(json, kind.model, kind.pre);
  auto surround = [&](const std::string &word, const char *token) {
    if (!token)
      return;
    file.add("tokenizer.ggml.add_" + word + "_token", true);
    file.add("tokenizer.ggml." + word + "_token_id",
             static_cast<uint32_t>(*expected->tokenToId(token)));
  };
  surround("bos", kind.start);
  surround("eos", kind.end);
  if (!kind.prefix)
    file.add("tokenizer.ggml.add_space_prefix", false);
  auto found = openFile(file);
  ASSERT_TRUE(found) << found.error().message;
  const auto texts =
      Json::parse(unzipped(folder / "texts.json.gz")).get<std::vector<std::string>>();
  ASSERT_GT(texts.size(), 1000u);
  int differences = 0;
  for (size_t i = 0; i < texts.size() && differences < 3; i += 3) {
    auto wanted = expected->encode(texts[i]), own = found->encode(texts[i]);
    ASSERT_TRUE(wanted && own) << i;
    EXPECT_EQ(own->ids, wanted->ids) << i << ": " << texts[i];
    EXPECT_EQ(own->typeIds, wanted->typeIds);
    EXPECT_EQ(*found->decode(own->ids), *expected->decode(wanted->ids)) << i;
    auto pair = found->encode(texts[i], texts[0]),
         wantedPair = expected->encode(texts[i], texts[0]);
    ASSERT_TRUE(pair && wantedPair);
    EXPECT_EQ(pair->ids, wantedPair->ids) << i;
    EXPECT_EQ(pair->typeIds, wantedPair->typeIds) << i;
    differences += own->ids != wanted->ids;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GgufTokenizers,
    testing::Values(
        Case{"bert", "bert", ""}, Case{"bert-cased", "bert", ""}, Case{"gpt2", "gpt2", "gpt-2"},
        Case{"starcoder", "gpt2", "starcoder"}, Case{"qwen", "gpt2", "qwen2"},
        Case{"llama3", "gpt2", "llama-bpe", "<|endoftext|>"}, Case{"llama", "llama", "", "<s>"},
        Case{"gemma", "llama", "", "<bos>", nullptr, false},
        Case{"roberta", "gpt2", "roberta-bpe", "<s>", "</s>"},
        Case{"modernbert", "gpt2", "modern-bert", "[CLS]", "[SEP]"},
        Case{"t5", "t5", "", nullptr, "</s>"}, Case{"xlm-roberta", "t5", "", "<s>", "</s>"}),
    [](const auto &info) {
      std::string name = info.param.name;
      std::erase(name, '-');
      return name;
    });

/// The parts into which a tokenizer splits a text before its merges.
std::vector<std::string> wordsOf(const Tokenizer &tokenizer, const std::string &text) {
  std::vector<TokenSpan> words; // tokens of bytes have their character's span
  auto tokens = tokenizer.encode(text);
  for (size_t i = 0; tokens && i < tokens->size(); ++i)
    if (i == 0 || tokens->words[i] != tokens->words[i - 1])
      words.push_back(tokens->spans[i]);
    else
      words.back().end = tokens->spans[i].end;
  std::vector<std::string> texts;
  for (const TokenSpan &word : words)
    texts.push_back(text.substr(word.begin, word.end - word.begin));
  return texts;
}

TEST(GgufTokenizer, NamesStandForCuts) {
  Json json = Json::parse(unzipped(folder / "gpt2" / "tokenizer.json"));
  takeWhatMetadataSays(json, "gpt2");
  using Words = std::vector<std::string>;
  const std::tuple<const char *, const char *, Words> cases[] = {
      {"gpt-2", "it's 1234", {"it", "'s", " 1234"}},
      {"phi-2", "it's 1234", {"it", "'s", " 1234"}},
      {"olmo", "it's 1234", {"it", "'s", " 1234"}},
      {"mpt", "it's 1234", {"it", "'s", " 1234"}},
      {"smollm", "a 12b", {"a", " ", "1", "2", "b"}},
      {"refact", "a 12b", {"a", " ", "1", "2", "b"}},
      {"command-r", "a 12b", {"a", " ", "1", "2", "b"}},
      {"qwen2", "It'S 12!\n", {"It", "'S", " ", "1", "2", "!\n"}},
      {"llama-bpe", "It'S 1234", {"It", "'S", " ", "123", "4"}},
      {"smaug-bpe", "It'S 1234", {"It", "'S", " ", "123", "4"}},
      {"glm4", "It'S 1234", {"It", "'S", " ", "123", "4"}},
      {"chatglm-bpe", "It'S 1234", {"It", "'S", " ", "123", "4"}},
      {"stablelm2", "It'S 12", {"It", "'S", " ", "1", "2"}},
      {"exaone4", "It's 12", {"It", "'s", " 12"}},
      {"dbrx", "It'S 1234", {"It", "'S", " ", "123", "4"}},
      {"gpt-4o", "It'S fooBar/\n", {"It'S", " foo", "Bar", "/\n"}},
      {"llama4", "It'S fooBar/\n", {"It'S", " foo", "Bar", "/\n"}},
      {"tekken", "fooBar 12", {"foo", "Bar", " ", "1", "2"}},
      {"bloom", "a, (b) c", {"a", ", (", "b", ")", " c"}},
      {"falcon",
       "x 12345 1234567, a99!",
       {"x", " ", "123", "45", " ", "123", "456", "7", ",", " a", "99", "!"}},
      {"falcon", "a$b+c ||", {"a", "$", "b", "+", "c", " ", "||"}},
      // The published expressions overlap: ":-~" includes letters, "ࠀ-一" marks, U+2126 and U+1F7D.
      {"deepseek-llm", "ab 12\n，。 ça", {"ab", " ", "1", "2", "\n", "，", "。", " ç", "a"}},
      {"deepseek-llm", "Ω\u2126\u1f7d中a", {"Ω", "\u2126\u1f7d", "中", "a"}},
      {"deepseek-llm", "çéΣ\u0301", {"çéΣ", "\u0301"}},
      {"deepseek-coder", "ab_c 12", {"ab", "_", "c", " ", "1", "2"}},
      {"deepseek-v3", "ab1234 cd!x ab\u3042中", {"ab", "123", "4", " cd", "!x", " ab", "あ中"}}};
  for (const auto &[pre, text, words] : cases) {
    auto tokenizer =
        openFile(converted(json, "gpt2", pre).add("tokenizer.ggml.add_bos_token", false));
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(wordsOf(*tokenizer, text), words) << pre;
  }
}

/// Tokens a, b, ab, three special tokens with the ids 3, 4 and 5, and a space.
GgufFile smallFile(const char *model, const char *pre = nullptr) {
  const std::vector<std::string> tokens{"a", "b", "ab", "<start>", "<end>", "<x>", "▁"};
  GgufFile file;
  file.add("tokenizer.ggml.model", model).add("tokenizer.ggml.tokens", tokens);
  file.addNumbers<int32_t>("tokenizer.ggml.token_type", GgufType::I32, {1, 1, 1, 3, 3, 4, 1});
  if (pre)
    file.add("tokenizer.ggml.pre", pre);
  if (std::string_view(model) == "gpt2")
    file.add("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  else
    file.addNumbers<float>("tokenizer.ggml.scores", GgufType::F32, {-2, -2, -1, 0, 0, 0, -3});
  if (std::string_view(model) != "gpt2")
    file.add("tokenizer.ggml.add_space_prefix", false)
        .add("tokenizer.ggml.remove_extra_whitespaces", false);
  return file.add("tokenizer.ggml.bos_token_id", 3u).add("tokenizer.ggml.eos_token_id", 4u);
}

std::vector<int32_t> idsOf(const GgufFile &file, std::string_view text) {
  auto tokenizer = openFile(file);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  auto tokens = tokenizer ? tokenizer->encode(text) : Expected<TokenEncoding>(TokenEncoding());
  return tokens ? tokens->ids : std::vector<int32_t>();
}

/// Tokens added around a text without explicit keys.
TEST(GgufTokenizer, EveryKindAddsItsOwn) {
  using Ids = std::vector<int32_t>;
  const std::tuple<const char *, const char *, Ids> cases[] = {
      {"llama", nullptr, {3, 2}},    {"t5", nullptr, {2, 4}},    {"gpt2", "gpt-2", {2}},
      {"gpt2", "llama-bpe", {3, 2}}, {"gpt2", "tekken", {3, 2}}, {"gpt2", "qwen2", {2}},
      {"gpt2", "falcon3", {3, 2}},   {"gpt2", "smaug-bpe", {2}}};
  for (const auto &[model, pre, ids] : cases) {
    EXPECT_EQ(idsOf(smallFile(model, pre), "ab"), ids) << model << " " << (pre ? pre : "");
    const GgufFile without = smallFile(model, pre)
                                 .add("tokenizer.ggml.add_bos_token", false)
                                 .add("tokenizer.ggml.add_eos_token", false);
    EXPECT_EQ(idsOf(without, "ab"), Ids{2}) << model;
  }
  const std::vector<std::string> tokens{"<unk>", "<s>", "</s>", "a"};
  GgufFile plain; // default ids of a SentencePiece model
  plain.add("tokenizer.ggml.model", "llama").add("tokenizer.ggml.tokens", tokens);
  plain.addNumbers<float>("tokenizer.ggml.scores", GgufType::F32, {0, 0, 0, -1});
  plain.add("tokenizer.ggml.add_space_prefix", false).add("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(idsOf(plain, "a"), (Ids{1, 3, 2}));
}

/// llama.cpp removes blanks for the kind t5 alone.
TEST(GgufTokenizer, SentencePieceKeepsBlanks) {
  const std::vector<std::string> tokens{"<unk>", "<s>", "</s>", "a", "▁"};
  GgufFile file;
  file.add("tokenizer.ggml.model", "llama").add("tokenizer.ggml.tokens", tokens);
  file.addNumbers<float>("tokenizer.ggml.scores", GgufType::F32, {0, 0, 0, -1, -1});
  file.add("tokenizer.ggml.add_space_prefix", false);
  file.add("tokenizer.ggml.remove_extra_whitespaces", true);
  EXPECT_EQ(idsOf(file, " a  a"), (std::vector<int32_t>{1, 4, 3, 4, 4, 3}));
}

/// Whitespace after the tokens of Phi-3, which only the model's name determines.
TEST(GgufTokenizer, NamesGiveTokensTheirBlanks) {
  using Ids = std::vector<int32_t>;
  const GgufFile file = smallFile("llama").add("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(idsOf(file, "a<x> b"), (Ids{0, 5, 6, 1}));
  EXPECT_EQ(idsOf(GgufFile(file).add("general.name", "My Phi-3 mini"), "a<x> \nb"), (Ids{0, 5, 1}));
}

TEST(GgufTokenizer, NormalizerKeysRule) {
  const std::vector<std::string> tokens{"[UNK]", "[CLS]", "[SEP]", "▁a", "▁A", "▁é", "▁e"};
  GgufFile file;
  file.add("tokenizer.ggml.model", "bert").add("tokenizer.ggml.tokens", tokens);
  auto with = [&](bool lower, bool accents) {
    return GgufFile(file)
        .add("tokenizer.ggml.normalizer.lowercase", lower)
        .add("tokenizer.ggml.normalizer.strip_accents", accents);
  };
  EXPECT_THAT(idsOf(file, "A é"), testing::ElementsAre(1, 4, 5, 2)); // the vocabulary has capitals
  EXPECT_THAT(idsOf(with(true, false), "A é"), testing::ElementsAre(1, 3, 5, 2));
  EXPECT_THAT(idsOf(with(true, true), "A é"), testing::ElementsAre(1, 3, 6, 2));
  EXPECT_THAT(idsOf(with(false, true), "A é"), testing::ElementsAre(1, 4, 6, 2));
}

/// Each unsupported key is reported once; keys without effect are not.
TEST(GgufTokenizer, UnreadKeysAreWarnings) {
  TemporaryFolder folder;
  auto warnings = [&](const GgufFile &file) {
    auto read = readTokenizerFile(folder.write("m.gguf", file.bytes()));
    EXPECT_TRUE(read) << read.error().message;
    std::string all;
    for (const std::string &line : read ? read->warnings : std::vector<std::string>())
      all += line.substr(line.find(".gguf: ") + 7) + "\n";
    return all;
  };
  EXPECT_EQ(warnings(smallFile("gpt2", "gpt-2").add("tokenizer.ggml.fim_pre_token_id", 5u)), "");
  const GgufFile other = smallFile("gpt2", "gpt-2")
                             .add("tokenizer.ggml.treat_whitespace_as_suffix", true)
                             .add("tokenizer.ggml.normalizer.lowercase", false)
                             .add("tokenizer.chat_template", "x")
                             .add("tokenizer.ggml.whatever", 1u);
  EXPECT_EQ(
      warnings(other),
      "tokenizer.ggml.treat_whitespace_as_suffix: expected only keys that a tokenizer of kind "
      "gpt2 follows, found true, which is not followed\n"
      "tokenizer.ggml.whatever: expected only keys that a tokenizer of kind gpt2 follows, "
      "found 1, which is not followed\n");
  EXPECT_EQ(warnings(smallFile("llama").add("tokenizer.ggml.escape_whitespaces", true)), "");
  for (const char *pre : {"default", static_cast<const char *>(nullptr)})
    EXPECT_THAT(warnings(smallFile("gpt2", pre)),
                HasSubstr("tokenizer.ggml.pre: expected the name of the model's own cuts, found "));
}

TEST(GgufTokenizer, WrongMetadataIsNamed) {
  auto problem = [](const GgufFile &file) {
    auto tokenizer = openFile(file);
    if (tokenizer)
      return std::string("no error");
    const std::string &message = tokenizer.error().message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(message.find(".gguf: ") + 7);
  };
  const std::vector<std::string> tokens{"a", "b", "ab"}, merges{"a b"};
  auto base = [&](const char *model) {
    return GgufFile().add("tokenizer.ggml.model", model).add("tokenizer.ggml.tokens", tokens);
  };
  auto gpt2 = [&](const char *pre) {
    return base("gpt2").add("tokenizer.ggml.pre", pre).add("tokenizer.ggml.merges", merges);
  };
  EXPECT_EQ(problem(gpt2("gpt-2")), "no error");
  EXPECT_EQ(problem(GgufFile()), "tokenizer.ggml.model: expected a text, found none");
  EXPECT_EQ(problem(base("t5")), "tokenizer.ggml.scores: expected a list of numbers, found none");
  EXPECT_EQ(problem(base("rwkv")),
            "tokenizer.ggml.model: expected gpt2, llama, t5 or bert, found 'rwkv'");
  const std::vector<float> scores(3);
  auto unigram = [&] {
    return base("t5").addNumbers("tokenizer.ggml.scores", GgufType::F32, scores);
  };
  EXPECT_EQ(problem(unigram()),
            "tokenizer.ggml.add_space_prefix: expected true or false, found none");
  auto whole = [&] {
    return unigram()
        .add("tokenizer.ggml.add_space_prefix", true)
        .add("tokenizer.ggml.remove_extra_whitespaces", true);
  };
  EXPECT_EQ(problem(whole()), "no error");
  EXPECT_EQ(problem(whole().add("tokenizer.ggml.precompiled_charsmap", "abc")),
            "tokenizer.ggml.precompiled_charsmap: expected a list of bytes, found 'abc'");
  EXPECT_THAT(problem(whole().addNumbers<char>("tokenizer.ggml.precompiled_charsmap", GgufType::I8,
                                               {1, 2, 3})),
              HasSubstr("precompiled_charsmap"));
  EXPECT_THAT(problem(gpt2("kimi-k2")),
              HasSubstr("tokenizer.ggml.pre: expected one of default, gpt-2, "));
  EXPECT_THAT(problem(gpt2("kimi-k2")), HasSubstr(", found 'kimi-k2'"));
  EXPECT_EQ(problem(gpt2("llama-bpe")),
            "tokenizer.ggml.bos_token_id: expected the id of the token that such a tokenizer adds, "
            "found none");
  EXPECT_EQ(problem(base("gpt2").add("tokenizer.ggml.pre", "gpt-2")),
            "tokenizer.ggml.merges: expected a list of texts, found none");
  EXPECT_EQ(problem(base("llama")),
            "tokenizer.ggml.scores: expected a list of numbers, found none");
  EXPECT_EQ(problem(base("llama").addNumbers<float>("tokenizer.ggml.scores", GgufType::F32, {0})),
            "tokenizer.ggml.scores: expected a list of 3 numbers, found a list of 1 numbers");
  EXPECT_EQ(problem(base("llama").addNumbers<float>("tokenizer.ggml.scores", GgufType::F32,
                                                    {0, INFINITY, 0})),
            "tokenizer.ggml.scores: expected finite scores, found inf of token 1");
  EXPECT_EQ(problem(base("bert")), "tokenizer.ggml.tokens: expected the token [CLS], found none");
  EXPECT_EQ(problem(gpt2("gpt-2").add("tokenizer.ggml.bos_token_id", uint32_t(3))),
            "tokenizer.ggml.bos_token_id: expected an id below 3, found 3");
  EXPECT_EQ(problem(gpt2("gpt-2").add("tokenizer.ggml.add_bos_token", true)),
            "tokenizer.ggml.add_bos_token: expected the id of that token, found none");
  EXPECT_EQ(problem(gpt2("gpt-2").addNumbers<int32_t>("tokenizer.ggml.token_type", GgufType::I32,
                                                      {1, 7, 1})),
            "tokenizer.ggml.token_type: expected kinds up to 6, found 7 of token 1");
  auto other = [&](const std::vector<std::string> &list) {
    return GgufFile()
        .add("tokenizer.ggml.model", "gpt2")
        .add("tokenizer.ggml.pre", "gpt-2")
        .add("tokenizer.ggml.merges", merges)
        .add("tokenizer.ggml.tokens", list);
  };
  EXPECT_EQ(problem(other({"a", "b", "a"})),
            "tokenizer.ggml.tokens: expected each token once, found 'a' twice");
  EXPECT_THAT(problem(other({"\xff"})), HasSubstr("tokenizer.ggml.tokens: expected"));
  EXPECT_THAT(problem(other({})), HasSubstr("tokenizer.ggml.tokens: expected tokens, found"));
}

} // namespace
