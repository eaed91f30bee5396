//===- Chat.h - A conversation with a model --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns of a user and a model, which its chat template makes one text. The caches keep
// what a conversation holds, so that a turn costs its own tokens.
#pragma once

#include "heddle/Generation/TextDecoder.h"

namespace heddle {

struct ChatOptions {
  std::optional<std::string> system; ///< what the first message says; none: as the template does
  DecodingOptions decoding;          ///< see TextDecoder::defaults
  SpecialTokens special = SpecialTokens::Template;
  std::vector<std::string> stops; ///< texts that end an answer and are no part of it
};

/// What a model answers.
struct ChatAnswer {
  std::string text;
  int64_t tokens = 0;
  size_t dropped = 0; ///< oldest messages that the context has no more room for, and forgets
  bool cut = false;   ///< it ends because the context is full
};

class Chat {
public:
  /// Gets each piece of an answer, whole characters, which is empty where a token completes none:
  /// whether it goes on.
  using OnText = std::function<Expected<bool>(const std::string &text)>;

  /// Error if the model is no decoder, or has no chat template. Both must outlive the chat.
  static Expected<Chat> create(Session &session, const TextModel &model, ChatOptions options);
  /// With the settings of the model itself.
  static Expected<Chat> create(Session &session, const TextModel &model);

  /// Answers what the user says, behind all that was said before. A template may change older
  /// messages; what it leaves alone is not read again. After an error the conversation is as it was.
  Expected<ChatAnswer> say(const std::string &text, const OnText &onText = {});

  /// Answers the last question again: its answer is forgotten. Error where nothing was asked.
  Expected<ChatAnswer> regenerate(const OnText &onText = {});
  /// Forgets all messages but that of the system.
  void clear() { messages.clear(); }
  /// The message of the system from now on; none: as the template does.
  void setSystem(std::optional<std::string> text) { options.system = std::move(text); }
  const DecodingOptions &decoding() const { return options.decoding; }

private:
  struct Message {
    const char *role;
    std::string content;
  };
  Chat(TextDecoder decoder, const TextModel &model, ChatOptions options)
      : decoder(std::move(decoder)), model(&model), options(std::move(options)) {}
  Expected<TokenIds> idsOf(const std::vector<Message> &messages) const;
  int64_t room() const;
  Expected<TokenIds> fit(std::vector<Message> &messages) const;

  TextDecoder decoder;
  const TextModel *model;
  ChatOptions options;
  std::vector<Message> messages; ///< without that of the system
  uint64_t turn = 0;             ///< answers given, those that are forgotten too
};

} // namespace heddle
