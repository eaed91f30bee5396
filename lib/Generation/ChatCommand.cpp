//===- ChatCommand.cpp - The command chat -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns from a terminal or from lines of input. Ctrl-C ends an answer, and where
// nobody answers, the chat.
#include "Conversation.h"
#include "DecodingChoice.h"
#include "TextBatches.h"
#include "Utf8.h"

#include "heddle/Generation/Chat.h"
#include "heddle/Support/Try.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <istream>
#include <ostream>
#include <unistd.h>

using namespace heddle;

namespace {

volatile std::sig_atomic_t interrupted = 0, waits = 0;
volatile int nothing = -1; ///< a file without lines

/// Catches Ctrl-C as long as it lives. Where the chat waits for a line, standard input ends: a stream
/// begins again to read where a signal interrupted it, and would wait on.
class Interrupt {
public:
  Interrupt() {
    nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct sigaction action = {};
    action.sa_handler = [](int) {
      const int error = errno;
      interrupted = 1;
      if (waits)
        dup2(nothing, STDIN_FILENO);
      errno = error;
    };
    sigaction(SIGINT, &action, &before);
  }
  ~Interrupt() {
    sigaction(SIGINT, &before, nullptr);
    close(nothing);
  }
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

private:
  struct sigaction before = {};
};

std::string fullContext(int64_t room, const std::string &what) {
  return "note: the context of " + std::to_string(room) + " tokens is full: " + what + "\n";
}

std::string forgotten(size_t messages) {
  return "the oldest " + std::to_string(messages) +
         (messages == 1 ? " message is" : " messages are") + " forgotten";
}

/// What an answer has met of a context of `room` tokens.
void noteLimits(const ChatAnswer &answer, int64_t room, std::ostream &notes) {
  if (answer.dropped > 0)
    notes << fullContext(room, forgotten(answer.dropped));
  if (answer.cut)
    notes << fullContext(room, "the answer is cut");
}

/// Waits for a line, until there is none or an interrupt ends the wait.
bool waitForLine(Texts &turns, std::string &text) {
  interrupted = 0;
  waits = 1;
  const bool found = turns.next(text) && !interrupted;
  waits = 0;
  return found;
}

Error inPlace(Error error, const std::string &place) {
  return {error.kind, place + ": " + error.message};
}

} // namespace

Status heddle::checkChat(const ChatCommand &command) {
  if (command.system)
    HEDDLE_TRY(tokenizers::checkUtf8(*command.system, "--system"));
  return checkWriting(command.writing);
}

Status heddle::chatCommand(Session &session, const ChatCommand &command, std::istream &in,
                           std::ostream &out, std::ostream &notes) {
  HEDDLE_TRY(checkChat(command));
  auto model = HEDDLE_TRY(textModelOf(session, TextCommand()));
  HEDDLE_TRY(chooseTemplate(model.input().chat, command.chatTemplate));
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
  auto next = [&](std::string &text) {
    if (command.terminal)
      out << "> " << std::flush;
    return waitForLine(turns, text);
  };
  const Interrupt interrupt;
  for (std::string text; next(text);) {
    if (text.empty())
      continue;
    const Rate::Span span(rate);
    auto answer = chat->say(text, show);
    if (!answer && interrupted) { // while the question was read
      out << '\n' << std::flush;
      continue;
    }
    if (!answer && (!command.terminal || exitStatusOf(answer.error().kind) != 1))
      return inPlace(answer.takeError(), turns.place());
    if (!answer) {
      notes << "error: " << printable(answer.takeError().message) << '\n';
      continue;
    }
    rate.add(answer->tokens);
    out << (answer->text.ends_with('\n') ? "" : "\n") << std::flush;
    noteLimits(*answer, model.target->limit, notes);
  }
  if (command.terminal)
    out << '\n';
  if (command.writing.rate)
    rate.write(notes);
  return interrupted ? Status()
                     : turns.finish(); // reading ended by Ctrl-C is no fault of the input
}
