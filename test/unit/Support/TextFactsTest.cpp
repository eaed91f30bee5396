//===- TextFactsTest.cpp - Text settings of a model as JSON ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every field of every structure survives a round trip. The values are made from the lists of
// fields, so a new field is tested too.
#include "heddle/Support/TextFacts.h"

#include <gtest/gtest.h>

using namespace heddle;

namespace {

/// Gives each field a value that differs from its default and from the other fields.
class Filler {
public:
  template <Structure T>
  void fill(T &value) {
    visitFields(value, [this](const std::string &, auto &field) { this->fill(field); });
  }
  void fill(bool &value) { value = !value; }
  void fill(std::string &value) { value = "t" + std::to_string(++number); }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void fill(T &value) {
    value = static_cast<T>(++number);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void fill(T &value) {
    value = static_cast<T>((static_cast<size_t>(value) + 1) % enumWords<T>().size());
  }
  template <typename T>
  void fill(std::optional<T> &value) {
    fill(value.emplace());
  }
  template <typename T>
  void fill(std::vector<T> &list) {
    list.assign(2, T());
    for (T &element : list)
      fill(element);
  }
  template <typename A, typename B>
  void fill(std::pair<A, B> &pair) {
    fill(pair.first);
    fill(pair.second);
  }
  template <typename T>
  void fill(std::map<std::string, T> &map) {
    for (const char *name : {"a", "<|b|>"})
      fill(map[name]);
  }

private:
  int number = 100;
};

TEST(TextFacts, SurviveARoundTrip) {
  ModelFacts facts;
  Filler().fill(facts);
  const ModelFacts standard;
  EXPECT_NE(facts.text.fields(), standard.text.fields());
  const auto read = modelFactsFromJson(toJson(facts));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(*read == facts);
  EXPECT_EQ(toJson(*read), toJson(facts));
}

TEST(TextFacts, LeaveOutDefaults) {
  EXPECT_EQ(toJson(ModelFacts()), "{}");
  ModelFacts facts;
  facts.text.kind = "decoder";
  facts.target.emplace().start.reset();
  facts.target->generation.topK = 5;
  EXPECT_EQ(toJson(facts), R"({"text":{"kind":"decoder"},)"
                           R"("target":{"start":null,"generation":{"top-k":5}}})");
  const auto read = modelFactsFromJson(toJson(facts));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(*read == facts);
}

TEST(TextFacts, ThatAreWrongAreErrors) {
  auto failure = [](const std::string &json) {
    auto read = modelFactsFromJson(json);
    return read ? "no failure" : read.error().message;
  };
  EXPECT_EQ(failure("[]"), "model facts: expected an object, found array");
  EXPECT_EQ(failure(R"({"texts": {}})"), "expected known fields, found 'texts'");
  EXPECT_EQ(failure(R"({"target": {"generation": {"top-k": -1}}})"),
            "target.generation.top-k: expected an id or a count, found -1");
  EXPECT_EQ(failure(R"({"target": {"generation": {"refused": [["top-k"]]}}})"),
            "target.generation.refused[0]: expected an array of 2, found [\"top-k\"]");
  EXPECT_EQ(failure(R"({"text": {"languages": {"tokens": {"de": "x"}}}})"),
            "text.languages.tokens.de: expected an id or a count, found 'x'");
  EXPECT_EQ(failure(R"({"text": {"problem": "many_classes"}})"),
            "text.problem: expected one of one-class, many-classes, numbers, found 'many_classes'");
}

} // namespace
