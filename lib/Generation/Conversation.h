//===- Conversation.h - Messages as one text -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What chat templates read: lists of messages, each with a role and a content.
#pragma once

#include "heddle/Generation/TextModel.h"
#include "heddle/Templates/ChatTemplate.h"

#include <nlohmann/json.hpp>

namespace heddle {

/// Takes the template of a name, where one is given; usage error if `chat` has none of it.
Status chooseTemplate(std::optional<ChatTemplate> &chat, const std::optional<std::string> &name);

/// A message, in the form that templates know.
nlohmann::ordered_json messageOf(const char *role, const std::string &content);

/// The text up to an answer to what a user says, behind a message of the system if there is one.
Expected<RenderedText> questionText(const ChatTemplate &chat,
                                    const std::optional<std::string> &system,
                                    const std::string &question);

/// The text of a pair: messages of the roles query and document, behind one of the system if it is
/// not empty.
Expected<RenderedText> pairText(const ChatTemplate &chat, const std::string &system,
                                const std::string &query, const std::string &document);
/// Error for a template that leaves out one of the two.
Status checkPairs(const ChatTemplate &chat);

/// The text up to an answer to `json`: a list of messages, or an object with messages and other
/// variables of the template. Errors begin with `place`.
Expected<RenderedText> conversationText(const ChatTemplate &chat, nlohmann::ordered_json json,
                                        const std::string &place);

/// How the text of a conversation is cut into tokens: the template wrote those around it, and what
/// was given holds special tokens only where `special` says so. `chat` must outlive the options.
EncodeOptions conversationOptions(const ChatTemplate &chat, const RenderedText &text,
                                  SpecialTokens special);
/// What `--special` says; usage error for other words.
Expected<SpecialTokens> specialTokensOf(const std::string &word);

} // namespace heddle
