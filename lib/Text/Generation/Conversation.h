//===- Conversation.h - Messages as one text -------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts conversations to text: lists of messages, each with a role and a
// content, which a chat template renders.
#pragma once

#include "heddle/Generation/TextModel.h"
#include "heddle/Templates/ChatTemplate.h"

#include <nlohmann/json.hpp>

namespace heddle {

/// Selects the template of a name, if one is given. Returns a usage error if `chat` does not have
/// it.
Status chooseTemplate(std::shared_ptr<const ChatTemplate> &chat,
                      const std::optional<std::string> &name);

/// A message as templates read it.
nlohmann::ordered_json messageOf(const char *role, const std::string &content);

/// Renders a user's question up to its answer, after a system message if there is one.
Expected<RenderedText> questionText(const ChatTemplate &chat,
                                    const std::optional<std::string> &system,
                                    const std::string &question);

/// Renders a pair as messages of the roles query and document, after a system message if `system`
/// is not empty.
Expected<RenderedText> pairText(const ChatTemplate &chat, const std::string &system,
                                const std::string &query, const std::string &document);
/// Returns an error for a template that leaves out the query or the document.
Status checkPairs(const ChatTemplate &chat);

/// Renders a conversation up to the next answer. `json` is a list of messages, or an object with
/// messages and other variables of the template. Errors begin with `place`.
Expected<RenderedText> conversationText(const ChatTemplate &chat, nlohmann::ordered_json json,
                                        const std::string &place);

/// Options to encode the text of a conversation. The template already wrote the tokens around it.
/// Text from messages contains special tokens only if `special` allows it. `chat` must outlive the
/// options.
EncodeOptions conversationOptions(const ChatTemplate &chat, const RenderedText &text,
                                  SpecialTokens special);
/// Parses the value of `--special`. Returns a usage error for other words.
Expected<SpecialTokens> specialTokensOf(const std::string &word);

} // namespace heddle
