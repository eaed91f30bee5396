//===- GgufLlamaTest.cpp - GGUF tokenizers and llama.cpp ------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares files of every kind and every name of tokenizer.ggml.pre with the
// ids and end tokens that llama.cpp returns (scripts/compare-gguf-tokenizers).
// A case lists the texts that differ because Heddle follows the tokenizer.json
// of the models.

#include "GgufFile.h"
#include "TemporaryFolder.h"
#include "Unzipped.h"

#include "heddle/Support/GgufVocabulary.h"
#include "heddle/Support/Json.h"
#include "heddle/Tokenizers/Tokenizer.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace heddle;
using namespace heddle::test;
using Json = nlohmann::ordered_json;

namespace {

const std::filesystem::path tests = std::filesystem::path(HEDDLE_SOURCE_DIR) / "test/data";

Json readGolden() { return Json::parse(unzipped(tests / "gguf/llama.json.gz")); }

/// The bytes of the test's table of characters, which the golden file does not contain.
std::vector<uint8_t> charsMap() {
  const Json json = Json::parse(unzipped(tests / "tokenizers/t5/tokenizer.json"));
  const auto text = json["normalizer"]["normalizers"][0]["precompiled_charsmap"].get<std::string>();
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0, count = 0;
  for (char letter : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<uint32_t>(letters.find(letter));
    if ((count += 6) >= 8)
      bytes.push_back(static_cast<uint8_t>(bits >> (count -= 8)));
  }
  return bytes;
}

void add(GgufFile &file, const std::string &key, const Json &value) {
  if (value.is_boolean())
    file.add(key, value.get<bool>());
  else if (value.is_number())
    file.add(key, value.get<uint32_t>());
  else if (value.is_string())
    file.add(key, std::string_view(value.get_ref<const std::string &>()));
  else if (value[0].is_string())
    file.add(key, value.get<std::vector<std::string>>());
  else if (value[0].is_number_float())
    file.addNumbers(key, GgufType::F32, value.get<std::vector<float>>());
  else
    file.addNumbers(key, GgufType::I32, value.get<std::vector<int32_t>>());
}

/// A tokenizer whose token names determine the ends.
Json namedGroup(const Json &names) {
  Json tokens = {"a", "b", "ab", "<first>", "<last>"};
  tokens.insert(tokens.end(), names.begin(), names.end());
  return {{"tokenizer.ggml.model", "gpt2"},
          {"tokenizer.ggml.pre", "gpt-2"},
          {"tokenizer.ggml.tokens", tokens},
          {"tokenizer.ggml.token_type", std::vector<int32_t>(tokens.size(), 1)},
          {"tokenizer.ggml.merges", {"a b"}},
          {"tokenizer.ggml.bos_token_id", 3},
          {"tokenizer.ggml.eos_token_id", 4}};
}

GgufFile fileOf(const Json &golden, const Json &one) {
  const Json &group = one["group"];
  Json values = group.is_string() ? golden["groups"][group.get<std::string>()] : namedGroup(group);
  values.update(one["set"]);
  GgufFile file;
  for (const auto &[key, value] : values.items())
    add(file, key, value);
  if (group == "ugm")
    file.addNumbers("tokenizer.ggml.precompiled_charsmap", GgufType::U8, charsMap());
  return file;
}

/// Indices of texts with other ids.
std::vector<size_t> differing(const Tokenizer &tokenizer, const Json &texts, const Json &ids,
                              bool special) {
  std::vector<size_t> places;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto found = tokenizer.encode(texts[i].get<std::string>(), {.specialTokens = special});
    if (!found || found->ids != ids[i].get<std::vector<int32_t>>())
      places.push_back(i);
  }
  return places;
}

TEST(GgufLlama, IdsAreThoseOfLlamaCpp) {
  const Json golden = readGolden();
  ASSERT_GT(golden["cases"].size(), 100u);
  TemporaryFolder folder;
  for (const Json &one : golden["cases"]) {
    const auto name = one["name"].get<std::string>();
    auto tokenizer = openTokenizer(folder.write("m.gguf", fileOf(golden, one).bytes()));
    ASSERT_TRUE(tokenizer) << name << ": " << tokenizer.error().message;
    const Json texts = one["group"].is_string() ? golden["texts"] : Json{"ab"};
    const auto known = one["differs"].get<std::vector<size_t>>();
    EXPECT_EQ(differing(*tokenizer, texts, golden["ids"][one["ids"].get<size_t>()], true), known)
        << name;
    EXPECT_EQ(differing(*tokenizer, texts, golden["ids"][one["plain"].get<size_t>()], false), known)
        << name << " without special tokens";
  }
}

TEST(GgufLlama, EndsAreThoseOfLlamaCpp) {
  const Json golden = readGolden();
  TemporaryFolder folder;
  for (const Json &one : golden["cases"]) {
    const auto name = one["name"].get<std::string>();
    auto file = Gguf::open(folder.write("m.gguf", fileOf(golden, one).bytes()));
    ASSERT_TRUE(file) << name << ": " << file.error().message;
    auto vocabulary = GgufVocabulary::read(*file);
    ASSERT_TRUE(vocabulary) << name << ": " << vocabulary.error().message;
    std::vector<int64_t> ends = vocabulary->ends;
    std::ranges::sort(ends);
    EXPECT_EQ(ends, one["ends"].get<std::vector<int64_t>>()) << name;
  }
}

} // namespace
