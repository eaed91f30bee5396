//===- Conversation.cpp - Messages as one text --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Conversation.h"

#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

using namespace heddle;
using Json = nlohmann::ordered_json;

Status heddle::chooseTemplate(std::shared_ptr<const ChatTemplate> &chat,
                              const std::optional<std::string> &name) {
  if (!chat || !name)
    return {};
  auto named = chat->named(*name);
  if (!named)
    return usageError("--chat-template: " + named.error().message);
  chat = std::make_shared<const ChatTemplate>(std::move(*named));
  return {};
}

Json heddle::messageOf(const char *role, const std::string &content) {
  return {{"role", role}, {"content", content}};
}

Expected<RenderedText> heddle::questionText(const ChatTemplate &chat,
                                            const std::optional<std::string> &system,
                                            const std::string &question) {
  Json messages = Json::array();
  if (system)
    messages.push_back(messageOf("system", *system));
  messages.push_back(messageOf("user", question));
  return chat.renderParts(messages, /*addGenerationPrompt=*/true, Json::object());
}

Expected<RenderedText> heddle::pairText(const ChatTemplate &chat, const std::string &system,
                                        const std::string &query, const std::string &document) {
  Json messages = Json::array();
  if (!system.empty())
    messages.push_back(messageOf("system", system));
  messages.push_back(messageOf("query", query));
  messages.push_back(messageOf("document", document));
  return chat.renderParts(messages, /*addGenerationPrompt=*/false, Json::object());
}

Status heddle::checkPairs(const ChatTemplate &chat) {
  const std::string both = HEDDLE_TRY(pairText(chat, "", "a", "b")).text;
  for (auto [query, document, role] : {std::tuple("c", "b", "query"), {"a", "c", "document"}})
    if (HEDDLE_TRY(pairText(chat, "", query, document)).text == both)
      return inputError(std::string("chat template: expected one that shows messages of the roles "
                                    "query and document, found one that leaves out ") +
                        role);
  return {};
}

Expected<RenderedText> heddle::conversationText(const ChatTemplate &chat, Json json,
                                                const std::string &place) {
  if (json.is_array())
    json = {{"messages", std::move(json)}};
  if (!json.is_object() || !json.contains("messages"))
    return inputError(place + ": expected a list of messages, or an object with messages, found " +
                      quotedText(json.dump()));
  const Json messages = json["messages"];
  json.erase("messages");
  auto text = chat.renderParts(messages, /*addGenerationPrompt=*/true, json);
  if (!text)
    return inputError(place + ": " + text.takeError().message);
  return text;
}

EncodeOptions heddle::conversationOptions(const ChatTemplate &chat, const RenderedText &text,
                                          SpecialTokens special) {
  EncodeOptions options{.specialTokens = false};
  if (special == SpecialTokens::All)
    return options;
  options.plain = text.given;
  options.marks = [&chat](std::string_view token) { return chat.marks(token); };
  return options;
}

Expected<SpecialTokens> heddle::specialTokensOf(const std::string &word) {
  if (word != "template" && word != "all")
    return usageError("--special: expected template or all, found " + quotedText(word));
  return word == "all" ? SpecialTokens::All : SpecialTokens::Template;
}
