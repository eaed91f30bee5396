//===- Chat.h - A conversation with a model --------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A conversation of a user and a model. The chat template of the model makes
// one text of the turns. The caches keep the conversation, so a turn costs only
// its own tokens.
#pragma once

#include "heddle/Generation/TextDecoder.h"

namespace heddle {

/// Options of a conversation.
struct ChatOptions {
  std::optional<std::string> system; ///< content of the first message; none: the template's
  DecodingOptions decoding;          ///< see TextDecoder::defaults
  SpecialTokens special = SpecialTokens::Template;
  std::vector<std::string> stops; ///< texts that end an answer and are not part of it
};

/// An answer of the model.
struct ChatAnswer {
  std::string text;
  int64_t tokens = 0;
  size_t dropped = 0; ///< number of oldest messages dropped because the context is full
  bool cut = false;   ///< the answer ends because the context is full
};

/// Answers turns of a conversation. One thread may use a chat and its session at a time.
class Chat {
public:
  /// Receives each piece of an answer, in whole characters; the piece is empty if a token completes
  /// none. Returns whether the answer continues.
  using OnText = std::function<Expected<bool>(const std::string &text)>;

  /// Returns an error if the model is not a decoder or has no chat template. The session and the
  /// model must outlive the chat.
  static Expected<Chat> create(Session &session, const TextModel &model, ChatOptions options);
  /// Uses the model's own settings.
  static Expected<Chat> create(Session &session, const TextModel &model);

  /// Answers `text` after all earlier messages. A template may change older messages; the tokens
  /// before the first change are not read again. After an error the conversation is unchanged.
  Expected<ChatAnswer> answer(const std::string &text, const OnText &onText = {});

  /// Replaces the last answer by a new one. Returns an error if there is none.
  Expected<ChatAnswer> regenerate(const OnText &onText = {});
  /// Removes all messages except the system message.
  void clear() { messages.clear(); }
  /// Sets the system message from now on; none: the template's.
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
  std::vector<Message> messages; ///< without the system message
  uint64_t turn = 0;             ///< number of answers given, removed ones included
};

} // namespace heddle
