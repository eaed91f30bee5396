//===- ChatCommand.cpp - The command chat -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns from a terminal or from lines of input. Ctrl-C ends an answer, and where
// nobody answers, the chat.
#include "DecodingChoice.h"
#include "TextBatches.h"

#include "heddle/Generation/Chat.h"
#include "heddle/Support/Try.h"

#include <csignal>
#include <istream>
#include <ostream>

using namespace heddle;

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Catches Ctrl-C as long as it lives. Without SA_RESTART it also ends the wait for a line.
class Interrupt {
public:
  Interrupt() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &before);
  }
  ~Interrupt() { sigaction(SIGINT, &before, nullptr); }
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

private:
  struct sigaction before = {};
};

std::string forgotten(size_t messages, int64_t room) {
  return "note: the context of " + std::to_string(room) + " tokens is full: the oldest " +
         std::to_string(messages) + (messages == 1 ? " message is" : " messages are") +
         " forgotten\n";
}

Error inPlace(Error error, const std::string &place) {
  return {error.kind, place + ": " + error.message};
}

} // namespace

Status heddle::checkChat(const ChatCommand &command) { return checkWriting(command.writing); }

Status heddle::chatCommand(Session &session, const ChatCommand &command, std::istream &in,
                           std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkChat(command));
  auto model = HEDDLE_TRY(textModelOf(session, TextCommand()));
  auto decoder = TextDecoder::create(session, model);
  if (!decoder)
    return ofModel(session, decoder.takeError());
  ChatOptions options{.system = command.system,
                      .decoding = HEDDLE_TRY(decodingOf(command.writing, *decoder, *model.target,
                                                        /*streams=*/true)),
                      .stops = command.writing.stops};
  options.decoding.onPrompt = [](size_t) {
    return interrupted ? Status(inputError("expected an answer, found an interrupt")) : Status();
  };
  auto chat = Chat::create(session, model, std::move(options));
  if (!chat)
    return ofModel(session, chat.takeError());
  std::vector<std::string> none;
  Texts turns(none, in);
  Rate rate;
  auto show = [&](const std::string &piece) -> Expected<bool> {
    out << piece << std::flush;
    HEDDLE_TRY(written(out));
    return interrupted == 0;
  };
  auto ask = [&] {
    if (command.terminal)
      out << "> " << std::flush;
  };
  const Interrupt interrupt;
  ask();
  for (std::string text; turns.next(text); ask()) {
    interrupted = 0;
    if (text.empty())
      continue;
    const Rate::Span span(rate);
    auto answer = chat->say(text, show);
    if (!answer && interrupted) { // while the question was read
      out << '\n' << std::flush;
      continue;
    }
    if (!answer && (!command.terminal || answer.error().kind != ErrorKind::Input))
      return inPlace(answer.takeError(), turns.place());
    if (!answer) {
      notes << "error: " << answer.takeError().message << '\n';
      continue;
    }
    rate.add(answer->tokens);
    out << (answer->text.ends_with('\n') ? "" : "\n") << std::flush;
    if (answer->dropped > 0)
      notes << forgotten(answer->dropped, model.target->limit);
  }
  if (command.terminal)
    out << '\n';
  if (command.writing.rate)
    rate.write(notes);
  return interrupted ? Status()
                     : turns.finish(); // reading ended by Ctrl-C is no fault of the input
}
