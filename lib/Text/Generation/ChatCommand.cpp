//===- ChatCommand.cpp - The command chat -------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns of a user at a terminal, with commands, or lines of input. Ctrl-C ends
// an answer and, between answers, the chat.
#include "Conversation.h"
#include "DecodingChoice.h"
#include "TextBatches.h"
#include "heddle/Tokenizers/Utf8.h"

#include "heddle/Generation/Chat.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <istream>
#include <ostream>
#include <sstream>
#include <unistd.h>
#include <utility>

using namespace heddle;

namespace {

volatile std::sig_atomic_t interrupted = 0, waits = 0;
volatile int nothing = -1; ///< an empty file

/// Catches Ctrl-C during its lifetime. If the chat is waiting for a line, standard input becomes an
/// empty file. Otherwise the stream would restart the interrupted read and keep waiting.
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

/// Notes the messages and tokens that did not fit into a context of `room` tokens.
void noteLimits(const ChatAnswer &answer, int64_t room, std::ostream &notes) {
  if (answer.dropped > 0)
    notes << fullContext(room, forgotten(answer.dropped));
  if (answer.cut)
    notes << fullContext(room, "the answer is cut");
}

/// Waits for a line; false if there is none or an interrupt ends the wait.
bool waitForLine(Texts &turns, std::string &text) {
  waits = 1;
  const bool found = turns.next(text) && !interrupted;
  waits = 0;
  return found;
}

Error inPlace(Error error, const std::string &place) {
  return {error.kind, place + ": " + error.message};
}

std::string decodingText(const DecodingOptions &decoding) {
  if (!decoding.sample)
    return "greedy";
  std::ostringstream text;
  text << "drawn with temperature " << decoding.temperature;
  if (decoding.topK > 0)
    text << ", top-k " << decoding.topK;
  if (decoding.topP < 1)
    text << ", top-p " << decoding.topP;
  if (decoding.minP > 0)
    text << ", min-p " << decoding.minP;
  text << ", seed " << decoding.seed;
  return text.str();
}

constexpr const char *helpText =
    "/clear         forget the conversation\n"
    "/system TEXT   what the message of the system says from now on; without TEXT there is none\n"
    "/regenerate    answer the last question again\n"
    "/exit          end, as Ctrl-D does; Ctrl-C stops an answer, and a line that is typed\n"
    "/help          this list\n"
    "A line with a blank in front of its / goes to the model.\n";

/// A conversation of a user with a chat.
class Talk {
public:
  Talk(const Session &session, Chat &chat, const ChatCommand &command, int64_t room,
       std::ostream &out, std::ostream &notes)
      : session(session), chat(chat), command(command), room(room), out(out), notes(notes) {}

  Status run(std::istream &in);

private:
  enum class Next : uint8_t { Ask, Answer, AnswerAgain, End };

  void showSettings();
  Next obey(const std::string &line);
  Status answer(const std::string &text, bool again, const std::string &place);

  const Session &session;
  Chat &chat;
  const ChatCommand &command;
  int64_t room;
  bool systemChanged = false; ///< since the last answer
  std::ostream &out, &notes;
  Rate rate;
};

void Talk::showSettings() {
  notes << command.model << ": a context of " << room << " tokens, "
        << decodingText(chat.decoding()) << "; /help lists commands, Ctrl-D ends\n";
}

/// Runs the command of a line, or tells that the line needs an answer.
Talk::Next Talk::obey(const std::string &line) {
  if (line.empty())
    return Next::Ask;
  if (!command.ask || line[0] != '/')
    return Next::Answer;
  const size_t end = std::min(line.find(' '), line.size());
  const std::string word = line.substr(0, end);
  const size_t first = std::min(line.find_first_not_of(' ', end), line.size());
  const std::string rest = line.substr(first, line.find_last_not_of(' ') + 1 - first);
  if (word == "/system") {
    chat.setSystem(rest.empty() ? std::nullopt : std::optional(rest));
    systemChanged = true;
    notes << (rest.empty() ? "note: there is no message of the system\n"
                           : "note: the message of the system is set\n");
  } else if (!rest.empty() ||
             (word != "/exit" && word != "/clear" && word != "/regenerate" && word != "/help")) {
    notes << "error: expected /clear, /system TEXT, /regenerate, /exit or /help, found "
          << quotedText(line) << "; a blank in front of it sends it to the model\n";
  } else if (word == "/regenerate") {
    return Next::AnswerAgain;
  } else if (word == "/exit") {
    return Next::End;
  } else if (word == "/clear") {
    chat.clear();
    notes << "note: the conversation is forgotten\n";
  } else {
    notes << helpText;
  }
  return Next::Ask;
}

Status Talk::answer(const std::string &text, bool again, const std::string &place) {
  auto show = [&](const std::string &piece) -> Expected<bool> {
    out << piece << std::flush;
    HEDDLE_TRY(written(out));
    return interrupted == 0;
  };
  const bool isChanged = std::exchange(systemChanged, false);
  if (again && isChanged)
    notes << "note: the last question is answered again with the changed message of the system\n";
  const Rate::Span span(rate, session);
  auto answer = again ? chat.regenerate(show) : chat.answer(text, show);
  if (!answer && interrupted) { // interrupted while the question was read
    out << '\n' << std::flush;
    return {};
  }
  if (!answer && (!command.ask || exitStatusOf(answer.error().kind) != 1))
    return inPlace(answer.takeError(), place);
  if (!answer) {
    notes << "error: " << printable(answer.takeError().message) << '\n';
    return {};
  }
  rate.add(answer->tokens);
  out << (answer->text.ends_with('\n') ? "" : "\n") << std::flush;
  noteLimits(*answer, room, notes);
  if (again && !isChanged && !chat.decoding().sample)
    notes << "note: greedy decoding answers an unchanged conversation the same way; --sample draws "
             "another\n";
  return {};
}

Status Talk::run(std::istream &in) {
  const std::vector<std::string> none;
  Texts turns(none, in);
  const Interrupt interrupt;
  if (command.ask)
    showSettings();
  uint64_t typed = 0;
  auto next = [&](std::string &text) {
    ++typed;
    interrupted = 0;
    return command.ask ? command.ask("> ", text) : waitForLine(turns, text);
  };
  for (std::string text; next(text);) {
    const Next wanted = obey(text);
    if (wanted == Next::End)
      break;
    if (wanted != Next::Ask)
      HEDDLE_TRY(answer(text, wanted == Next::AnswerAgain,
                        command.ask ? "line " + std::to_string(typed) : turns.place()));
  }
  if (command.writing.rate)
    rate.write(notes);
  // A read that Ctrl-C ended is not an error of the input.
  return interrupted ? Status() : turns.finish();
}

} // namespace

Status heddle::checkChat(const ChatCommand &command) {
  if (command.system)
    HEDDLE_TRY(tokenizers::checkUtf8(*command.system, "--system"));
  if (command.special)
    HEDDLE_TRY(specialTokensOf(*command.special));
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
                      .special = HEDDLE_TRY(specialTokensOf(command.special.value_or("template"))),
                      .stops = command.writing.stops};
  options.decoding.onPrompt = [](size_t) {
    return interrupted ? Status(inputError("expected an answer, found an interrupt")) : Status();
  };
  auto chat = Chat::create(session, model, std::move(options));
  if (!chat)
    return ofModel(session, chat.takeError());
  return Talk(session, *chat, command, model.target->limit, out, notes).run(in);
}
