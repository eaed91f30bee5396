//===- GoldenTest.cpp - Templates as jinja2 renders them ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares seven hundred small templates, and templates of each model family on
// several conversations, with jinja2. An error of jinja2 is a one-line error
// here. test/data/templates/make.py writes the expected values.
#include "heddle/Support/Json.h"
#include "heddle/Templates/Template.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace heddle;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

const fs::path folder = fs::path(HEDDLE_SOURCE_DIR) / "test/data/templates";

std::string textOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json jsonOf(const fs::path &path) {
  auto json = parseJson(textOf(path), path.string());
  EXPECT_TRUE(json) << (json ? "" : json.error().message);
  return json ? *json : Json();
}

/// Wednesday, 4 March 2026, 05:06:07.
RenderOptions atFixedTime() {
  std::tm time{};
  time.tm_year = 126;
  time.tm_mon = 2;
  time.tm_mday = 4;
  time.tm_hour = 5;
  time.tm_min = 6;
  time.tm_sec = 7;
  time.tm_wday = 3;
  time.tm_yday = 62;
  return {.now = time};
}

/// Expects the output of jinja2; null means an error.
void expectText(const std::string &source, const Json &variables, const Json &expected) {
  auto read = Template::parse(source, "t");
  auto text = read ? read->render(variables, atFixedTime()) : Expected<std::string>(read.error());
  if (text)
    EXPECT_EQ(Json(*text), expected);
  else
    EXPECT_TRUE(expected.is_null()) << text.error().message;
  if (!text) {
    EXPECT_TRUE(text.error().message.starts_with("t:")) << text.error().message;
    EXPECT_EQ(text.error().message.find('\n'), std::string::npos) << text.error().message;
    EXPECT_NE(text.error().message.find("expected"), std::string::npos) << text.error().message;
  }
}

TEST(TemplateGoldens, SmallTemplates) {
  const Json golden = jsonOf(folder / "golden.json");
  EXPECT_GT(golden["small"].size(), 600U);
  for (const Json &row : golden["small"]) {
    SCOPED_TRACE(row[0].get<std::string>());
    expectText(row[0], golden["variables"], row[1]);
  }
}

TEST(TemplateGoldens, Chats) {
  const Json golden = jsonOf(folder / "golden.json");
  const Json conversations = jsonOf(folder / "conversations.json");
  EXPECT_GT(golden["chats"].size(), 8U);
  for (const auto &[name, texts] : golden["chats"].items())
    for (const auto &[conversation, text] : texts.items()) {
      SCOPED_TRACE(name + ", " + conversation);
      expectText(textOf(folder / "chats" / (name + ".jinja")), conversations[conversation], text);
    }
}

/// The default limits are sufficient for long conversations.
TEST(TemplateGoldens, LongConversations) {
  Json messages = Json::array();
  for (int i = 0; i < 1000; ++i)
    messages.push_back(
        {{"role", i % 2 == 0 ? "user" : "assistant"},
         {"content", std::string("<think>\na\n</think>\n\n") + std::string(500, 'b')}});
  const Json variables = {
      {"messages", messages}, {"tools", nullptr}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
  for (const char *name : {"calls", "headers", "instructions", "turns", "types"}) {
    auto read = Template::parse(textOf(folder / "chats" / (std::string(name) + ".jinja")), name);
    ASSERT_TRUE(read) << read.error().message;
    auto text = read->render(variables);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_GT(text->size(), 500'000U);
  }
}

} // namespace
