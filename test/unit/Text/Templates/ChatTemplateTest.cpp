//===- ChatTemplateTest.cpp - Templates of folders ----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests where a folder stores its templates and special tokens.
#include "heddle/Templates/ChatTemplate.h"

#include "GgufFile.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace heddle;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

class ChatTemplateTest : public testing::Test {
protected:
  ChatTemplateTest() { fs::create_directories(folder); }
  ~ChatTemplateTest() override { fs::remove_all(folder); }

  void write(const std::string &name, const std::string &text) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  std::string render(const std::string &wanted = "", const Json &variables = Json::object()) const {
    auto chat = ChatTemplate::open(folder.string());
    if (chat && !wanted.empty())
      chat = chat->named(wanted);
    if (!chat)
      return chat.error().message;
    auto text = chat->render({{{"role", "user"}, {"content", "Hi"}}}, true, variables);
    return text ? *text : text.error().message;
  }

  fs::path folder = fs::temp_directory_path() / ("heddle-chat-" + std::to_string(getpid()));
};

TEST_F(ChatTemplateTest, ConfigHoldsTemplateAndTokens) {
  write(
      "tokenizer_config.json",
      R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "special": true}, "pad_token": null,
            "chat_template": "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}{{ eos_token }}{{ pad_token is defined }}{{ tools is none }}{{ add_generation_prompt }}"})");
  EXPECT_EQ(render(), "<s>Hi</s>FalseTrueTrue");
  EXPECT_TRUE(ChatTemplate::isIn(folder.string()));
}

TEST_F(ChatTemplateTest, TokensMayBeInTheirOwnFile) {
  write("chat_template.jinja", "{{ bos_token }}{{ eos_token }}{{ name }}");
  write("tokenizer_config.json", R"({"bos_token": "<1>"})");
  write("special_tokens_map.json", R"({"bos_token": "<2>", "eos_token": {"content": "<3>"}})");
  EXPECT_EQ(render("", {{"name", "x"}}), "<2><3>x");
  EXPECT_EQ(render("", {{"bos_token", "<own>"}}), "<own><3>");
}

TEST_F(ChatTemplateTest, AddedTokensMakeTheirOwnFileStale) {
  write("chat_template.jinja", "{{ bos_token }}{{ eos_token }}");
  write("tokenizer_config.json", R"({"bos_token": "<1>", "added_tokens_decoder": {}})");
  write("special_tokens_map.json", R"({"bos_token": "<2>", "eos_token": "<3>"})");
  EXPECT_EQ(render(), "<1>");
}

TEST_F(ChatTemplateTest, FilesGoBeforeTheConfig) {
  write("tokenizer_config.json", R"({"chat_template": "old"})");
  write("chat_template.jinja", "new");
  write("additional_chat_templates/tool_use.jinja", "tools");
  write("additional_chat_templates/note.txt", "no template");
  EXPECT_EQ(render(), "new");
  EXPECT_EQ(render("tool_use"), "tools");
  EXPECT_EQ(render("rag"), folder.string() +
                               ": expected a chat template named 'rag', found default, "
                               "tool_use");
}

TEST_F(ChatTemplateTest, ConfigMayHoldSeveral) {
  write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}]})");
  EXPECT_EQ(render(), "a");
  EXPECT_EQ(render("rag"), "b");
  // The last one with a name counts. Transformers 5 also reads an object.
  write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "default", "template": "a"}, {"name": "default", "template": "b"}]})");
  EXPECT_EQ(render(), "b");
  write("tokenizer_config.json", R"({"chat_template": {"default": "c", "rag": "d"}})");
  EXPECT_EQ(render(), "c");
  EXPECT_EQ(render("rag"), "d");
}

/// Selects templates like Transformers: tool_use if there are tools, even an empty list, otherwise
/// default.
TEST_F(ChatTemplateTest, ToolsChooseTheirTemplate) {
  write("chat_template.jinja", "{{ messages[0].tools }}plain");
  const Json tools = {{"tools", {{{"type", "function"}}}}}, documents = {{"documents", {"a"}}};
  EXPECT_EQ(render("", {{"tools", nullptr}}), "plain");
  EXPECT_EQ(render("", {{"tools", Json::array()}}), "plain");
  EXPECT_EQ(render("", tools), folder.string() + ": expected a chat template that reads tools, "
                                                 "found one that would leave them out");
  write("additional_chat_templates/tool_use.jinja", "{{ tools | length }}");
  write("additional_chat_templates/rag.jinja", "{% for d in documents %}{{ d }}{% endfor %}");
  write("additional_chat_templates/damaged.jinja", "{% x");
  EXPECT_EQ(render("", tools), "1");
  EXPECT_EQ(render("", {{"tools", Json::array()}}), "0");
  EXPECT_EQ(render("rag", documents), "a");
  EXPECT_EQ(render("", documents), folder.string() +
                                       ": expected a chat template that reads documents, found "
                                       "one that would leave them out");
  auto chat = ChatTemplate::open(folder.string());
  ASSERT_TRUE(chat);
  auto again = ChatTemplate::fromJson(chat->toJson(), "member");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again->render(Json::array(), true, tools), "1");
  EXPECT_EQ(*again->named("rag")->render(Json::array(), true, documents), "a");
  EXPECT_FALSE(again->named("damaged"));
}

TEST_F(ChatTemplateTest, WithoutADefaultOneIsNamed) {
  write("additional_chat_templates/rag.jinja", "rag");
  EXPECT_EQ(render(), folder.string() + ": expected a chat template named 'default', found rag");
  EXPECT_EQ(render("rag"), "rag");
}

TEST_F(ChatTemplateTest, ErrorsNameTheFile) {
  EXPECT_FALSE(ChatTemplate::isIn(folder.string()));
  EXPECT_EQ(render(), folder.string() +
                          ": expected a chat template in chat_template.jinja, "
                          "additional_chat_templates or tokenizer_config.json, found none");
  write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_EQ(render(), (folder / "tokenizer_config.json").string() +
                          ": chat_template: expected a list, found 5");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default"}]})");
  EXPECT_EQ(render(), (folder / "tokenizer_config.json").string() +
                          ": chat_template.0: expected a key template, found none");
  write("tokenizer_config.json", R"({"chat_template": "\n{% if %}"})");
  EXPECT_EQ(render(), (folder / "tokenizer_config.json").string() +
                          ": chat_template:2: expected an expression, found `%}`");
  write("chat_template.jinja", "{{ messages[0].content.text.x }}");
  EXPECT_EQ(render(),
            (folder / "chat_template.jinja").string() +
                ":1: expected a value to take 'x' of, found 'text', which a string has not");
  write("tokenizer_config.json", "[");
  EXPECT_EQ(render(), (folder / "tokenizer_config.json").string() +
                          ":1:2: expected valid JSON, found the end");
}

TEST_F(ChatTemplateTest, MessagesHaveRoles) {
  auto chat = ChatTemplate::fromJson(
      R"({"template": "{{ bos_token }}", "tokens": {"bos_token": "<s>"}})", "m");
  ASSERT_TRUE(chat) << chat.error().message;
  EXPECT_EQ(*chat->render(Json::array(), false, Json::object()), "<s>");
  for (const Json &messages :
       {Json{{"role", "user"}}, Json::array({1}), Json::array({Json::object()})})
    EXPECT_EQ(chat->render(messages, false, Json::object()).error().message,
              "m: expected messages as a list of objects with a role, found " +
                  quotedText(messages.dump()));
}

TEST_F(ChatTemplateTest, SurvivesTheCompiledFile) {
  write("chat_template.jinja", "é{{ bos_token }}");
  write("tokenizer_config.json", R"({"bos_token": "<s>"})");
  auto chat = ChatTemplate::open(folder.string());
  ASSERT_TRUE(chat) << chat.error().message;
  auto again = ChatTemplate::fromJson(chat->toJson(), "member");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again->render(Json::array(), false, Json::object()), "é<s>");
  EXPECT_EQ(ChatTemplate::fromJson(R"({"template": "", "tokens": {"a": 1}})", "m").error().message,
            "m: tokens.a: expected a string, found 1");
}

/// Tokens of a GGUF file are given by ids. Invalid ids such as -1 name no token.
TEST_F(ChatTemplateTest, GgufFilesNameTokensByTheirIds) {
  using test::GgufFile;
  GgufFile file;
  file.add("tokenizer.chat_template",
           "{{ bos_token }}{{ messages[0].content }}{{ pad_token is defined }}")
      .add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "<s>"})
      .add("tokenizer.ggml.bos_token_id", 1u);
  const std::string path = (folder / "m.gguf").string();
  auto rendered = [&](const GgufFile &given) {
    write("m.gguf", given.bytes());
    auto chat = ChatTemplate::open(path);
    if (!chat)
      return chat.error().message.substr(path.size());
    auto text =
        chat->render(Json::array({{{"role", "user"}, {"content", "Hi"}}}), false, Json::object());
    return text ? *text : text.error().message;
  };
  EXPECT_EQ(rendered(file), "<s>HiFalse");
  EXPECT_EQ(rendered(GgufFile(file).add("tokenizer.ggml.padding_token_id", 0u)), "<s>HiTrue");
  EXPECT_EQ(rendered(GgufFile(file).add("tokenizer.chat_template.tool_use", "{{ tools }}")),
            "<s>HiFalse");
  EXPECT_EQ(rendered(GgufFile(file).add("tokenizer.ggml.padding_token_id", UINT32_MAX)),
            "<s>HiFalse");
  EXPECT_EQ(rendered(GgufFile(file).add("tokenizer.ggml.padding_token_id", 2u)),
            ": tokenizer.ggml.padding_token_id: expected an id below 2, found 2");
}

/// A template `rerank` of a GGUF file is no Jinja: both texts replace words in braces.
TEST_F(ChatTemplateTest, GgufFilesHaveTemplatesOfPairs) {
  test::GgufFile file;
  file.add("tokenizer.chat_template", "{{ messages[0].content }}")
      .add("tokenizer.chat_template.rerank", "<|a|>\n\"{query}\" \\n {x}<D>{document}\n\n");
  write("m.gguf", file.bytes());
  auto chat = ChatTemplate::open((folder / "m.gguf").string());
  ASSERT_TRUE(chat) << chat.error().message;
  ASSERT_TRUE(chat->hasPairs());
  auto read = ChatTemplate::fromJson(chat->toJson(), "m");
  ASSERT_TRUE(read) << read.error().message;
  auto pairs = read->forPairs();
  ASSERT_TRUE(pairs) << pairs.error().message;
  const Json messages = Json::array({{{"role", "query"}, {"content", "who {document}"}},
                                     {{"role", "document"}, {"content", "é"}}});
  auto text = pairs->render(messages, false, Json::object());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "<|a|>\n\"who {document}\" \\n {x}<D>é\n\n");
  EXPECT_TRUE(pairs->marks("<D>"));
}

} // namespace
