//===- Chat.cpp - A conversation with a model ---------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heddle/Generation/Chat.h"

#include "Conversation.h"

#include "heddle/Generation/TextStream.h"
#include "heddle/Support/Try.h"

#include <algorithm>

using namespace heddle;
using Json = nlohmann::ordered_json;

Expected<Chat> Chat::create(Session &session, const TextModel &model, ChatOptions options) {
  TextDecoder decoder = HEDDLE_TRY(TextDecoder::create(session, model));
  if (model.source || !model.target->chat || !model.target->tokenizer)
    return inputError(std::string("expected a decoder with a chat template, found ") +
                      (model.source ? "an encoder-decoder" : "none"));
  if (options.decoding.beams > 1)
    return usageError("beam: expected 1, found " + std::to_string(options.decoding.beams));
  return Chat(std::move(decoder), model, std::move(options));
}

Expected<Chat> Chat::create(Session &session, const TextModel &model) {
  TextDecoder decoder = HEDDLE_TRY(TextDecoder::create(session, model));
  return create(session, model, {.decoding = decoder.defaults()});
}

/// Ids of the conversation, up to an answer to its messages.
Expected<TokenIds> Chat::idsOf(const std::vector<Message> &said) const {
  Json list = Json::array();
  if (options.system)
    list.push_back(messageOf("system", *options.system));
  for (const Message &message : said)
    list.push_back(messageOf(message.role, message.content));
  const ChatTemplate &chat = *model->target->chat;
  const RenderedText text =
      HEDDLE_TRY(chat.renderParts(list, /*addGenerationPrompt=*/true, Json::object()));
  return HEDDLE_TRY(
             model->target->tokenizer->encode(
                 text.text, conversationOptions(chat, text, options.special), "conversation"))
      .ids;
}

/// Maximum tokens of a conversation before an answer.
int64_t Chat::room() const {
  const int64_t caches = model->target->limit, inAll = options.decoding.limitInAll;
  return inAll > 0 ? std::min(caches, inAll - 1) : caches;
}

/// Drops the oldest messages until an answer has room after the rest: a quarter of the caches, or
/// the answer's limit if that is less.
Expected<TokenIds> Chat::fit(std::vector<Message> &said) const {
  constexpr int64_t share = 4;
  const int64_t room = this->room(),
                answer = std::min(options.decoding.limit, std::max<int64_t>(room / share, 1));
  TokenIds ids = HEDDLE_TRY(idsOf(said));
  while (std::ssize(ids) + answer > room + 1 && said.size() > 1) {
    // A question is dropped with its answer, since templates expect alternating roles.
    said.erase(said.begin(), said.begin() + std::min<ptrdiff_t>(2, std::ssize(said) - 1));
    ids = HEDDLE_TRY(idsOf(said));
  }
  if (std::ssize(ids) > room)
    return inputError("conversation: expected at most " + std::to_string(room) +
                      " tokens, which the caches hold, found " + std::to_string(ids.size()));
  return ids;
}

Expected<ChatAnswer> Chat::regenerate(const OnText &onText) {
  if (messages.size() < 2)
    return inputError("expected an answer to write again, found none");
  const std::vector<Message> before = messages;
  const std::string question = before[before.size() - 2].content;
  messages.resize(messages.size() - 2);
  auto replacement = answer(question, onText);
  if (!replacement)
    messages = before;
  return replacement;
}

Expected<ChatAnswer> Chat::answer(const std::string &text, const OnText &onText) {
  std::vector<Message> said = messages;
  said.push_back({"user", text});
  const size_t before = said.size();
  const TokenIds ids = HEDDLE_TRY(fit(said));
  ChatAnswer answer;
  answer.dropped = before - said.size();
  TextStream stream(*model->target, ids, options.stops);
  auto give = [&](const std::string &piece) -> Expected<bool> {
    answer.text += piece;
    return onText ? onText(piece) : true;
  };
  DecodingOptions decoding = options.decoding;
  decoding.numbers = {turn};                         // each turn draws its own numbers
  const int64_t most = room() + 1 - std::ssize(ids); // the last token is not read
  decoding.onToken = [&](size_t, int32_t token) -> Expected<bool> {
    ++answer.tokens;
    const bool isEnd = std::ranges::find(decoding.ends, token) != decoding.ends.end();
    answer.cut = answer.tokens == most && most < decoding.limit && !isEnd;
    const bool keepsCaches = HEDDLE_TRY(give(stream.add(token)));
    return keepsCaches && !stream.stopped();
  };
  HEDDLE_TRY(decoder.generate(ids, decoding));
  HEDDLE_TRY(give(stream.finish()));
  answer.cut = answer.cut && !stream.stopped();
  said.push_back({"assistant", answer.text});
  messages = std::move(said);
  ++turn;
  return answer;
}
