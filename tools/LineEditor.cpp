//===- LineEditor.cpp - Line input on a terminal --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feeds characters to libedit, which would insert the letters of unknown key sequences into the
// line and would not return on an interrupt.
#include "LineEditor.h"

#include "Signals.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cwchar>
#include <deque>
#include <histedit.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

using namespace heddle;
using namespace heddle::driver;

struct LineEditor::State {
  EditLine *edit = nullptr;
  History *history = nullptr;
  locale_t locale = nullptr; ///< UTF-8, independent of the user's locale
  FILE *drawing = nullptr;
  std::string mark;
  std::deque<char> keys;    ///< read from a key sequence, not yet taken
  bool interrupted = false; ///< while reading the line
};

namespace {

volatile std::sig_atomic_t signaled = 0, stopping = 0, continued = 0;

/// Installs a handler that sets a flag. The signal is delivered only to it, and only while waiting
/// for keys.
class Flagged {
public:
  Flagged(int number, void (*handler)(int)) : number(number) {
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, number);
    sigprocmask(SIG_BLOCK, &block, &mask);
    struct sigaction action = {};
    action.sa_handler = handler;
    sigaction(number, &action, &before);
  }
  ~Flagged() {
    sigaction(number, &before, nullptr);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
  }
  Flagged(const Flagged &) = delete;
  Flagged &operator=(const Flagged &) = delete;

private:
  int number;
  sigset_t mask = {};
  struct sigaction before = {};
};

/// The signals of a terminal during line input: Ctrl-C, Ctrl-Z and continuation.
struct TerminalSignals {
  Flagged interrupt{SIGINT, [](int) { signaled = 1; }};
  Flagged stop{SIGTSTP, [](int) { stopping = 1; }};
  Flagged onContinue{SIGCONT, [](int) { continued = 1; }};
};

/// Stops the process with the terminal's previous modes.
void stopHere(EditLine *edit) {
  stopping = 0;
  el_set(edit, EL_PREP_TERM, 0);
  struct sigaction usual = {}, own = {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &usual, &own);
  sigset_t open, mask;
  sigemptyset(&open);
  sigaddset(&open, SIGTSTP);
  raise(SIGTSTP); // pending until it is unblocked
  sigprocmask(SIG_UNBLOCK, &open, &mask);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  sigaction(SIGTSTP, &own, nullptr);
  continued = 1;
}

/// Takes the terminal back from the shell and redraws the line. Both sets of modes are set, because
/// libedit skips a mode that it believes to be set already.
void continueHere(EditLine *edit) {
  continued = 0;
  el_set(edit, EL_PREP_TERM, 0);
  el_set(edit, EL_PREP_TERM, 1);
  el_set(edit, EL_REFRESH);
}

/// Reads a byte from the terminal. Returns none at its end, on an interrupt, or after `wait`.
std::optional<char> readByte(EditLine *edit, const timespec *wait) {
  sigset_t open;
  sigprocmask(SIG_BLOCK, nullptr, &open);
  for (int number : {SIGINT, SIGTSTP, SIGCONT})
    sigdelset(&open, number);
  for (;;) {
    if (stopping)
      stopHere(edit);
    if (continued)
      continueHere(edit);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ppoll(&input, 1, wait, &open);
    if (signaled || ready == 0 || (ready < 0 && errno != EINTR))
      return std::nullopt;
    if (ready < 0)
      continue;
    char byte = 0;
    const ssize_t count = read(STDIN_FILENO, &byte, 1);
    if (count == 1)
      return byte;
    if (count == 0 || errno != EINTR)
      return std::nullopt;
  }
}

/// Reads the rest of a key sequence after ESC. Returns it if libedit handles it: keys for movement,
/// deletion and history, and letters with Alt.
std::string sequence(EditLine *edit) {
  constexpr timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
  const std::optional<char> first = readByte(edit, &pause);
  if (!first)
    return ""; // the Escape key alone
  if (std::string_view("]PX^_").find(*first) !=
      std::string_view::npos) { // a string, which BEL or ESC \ ends
    for (std::optional<char> last = first, next; (next = readByte(edit, &pause)); last = next)
      if (*next == '\a' || (*last == '\033' && *next == '\\'))
        break;
    return "";
  }
  if (*first != '[' && *first != 'O')
    return std::isalpha(static_cast<unsigned char>(*first)) ? std::string(1, *first) : "";
  std::string rest(1, *first);
  for (;;) {
    const std::optional<char> next = readByte(edit, &pause);
    if (!next)
      return "";
    rest += *next;
    if (*next >= 0x40 && *next <= 0x7e)
      break;
  }
  for (const char *known : {"[A", "[B", "[C", "[D", "[H", "[F", "OA", "OB", "OC", "OD", "OH", "OF",
                            "[1~", "[3~", "[4~", "[7~", "[8~", "[1;5C", "[1;5D"})
    if (rest == known)
      return rest;
  return "";
}

LineEditor::State &stateOf(EditLine *edit) {
  void *state = nullptr;
  el_get(edit, EL_CLIENTDATA, &state);
  return *static_cast<LineEditor::State *>(state);
}

/// Reads one character for libedit. Returns 1, or 0 at the end.
int readCharacter(EditLine *edit, wchar_t *character) {
  LineEditor::State &state = stateOf(edit);
  std::mbstate_t shift = {};
  while (state.keys.empty()) {
    const std::optional<char> byte = readByte(edit, nullptr);
    if (!byte) {
      state.interrupted = signaled != 0;
      return 0;
    }
    if (*byte == '\033') {
      const std::string rest = sequence(edit);
      if (!rest.empty())
        state.keys.push_back(*byte);
      state.keys.insert(state.keys.end(), rest.begin(), rest.end());
      continue;
    }
    const size_t size = std::mbrtowc(character, &*byte, 1, &shift);
    if (size == 1 || size == 0)
      return 1;
    if (size != static_cast<size_t>(-2)) // invalid UTF-8: the byte is dropped
      shift = {};
  }
  *character = static_cast<unsigned char>(state.keys.front());
  state.keys.pop_front();
  return 1;
}

char *markOf(EditLine *edit) { return stateOf(edit).mark.data(); }

void bindKeys(EditLine *edit) {
  for (auto [keys, command] : {std::pair("\033[3~", "ed-delete-next-char"),
                               {"\033[1~", "ed-move-to-beg"},
                               {"\033[7~", "ed-move-to-beg"},
                               {"\033[4~", "ed-move-to-end"},
                               {"\033[8~", "ed-move-to-end"},
                               {"\033[1;5C", "em-next-word"},
                               {"\033[1;5D", "ed-prev-word"},
                               {"\033[H", "ed-move-to-beg"},
                               {"\033[F", "ed-move-to-end"},
                               {"\033OH", "ed-move-to-beg"},
                               {"\033OF", "ed-move-to-end"}})
    el_set(edit, EL_BIND, keys, command, nullptr);
}

/// Sets the locale of this thread during its lifetime.
class Locale {
public:
  explicit Locale(locale_t own) : before(uselocale(own)) {}
  ~Locale() { uselocale(before); }
  Locale(const Locale &) = delete;
  Locale &operator=(const Locale &) = delete;

private:
  locale_t before;
};

} // namespace

LineEditor::LineEditor(std::unique_ptr<State> state) : state(std::move(state)) {}

LineEditor::~LineEditor() {
  if (state->edit)
    el_end(state->edit);
  if (state->history)
    history_end(state->history);
  if (state->locale)
    freelocale(state->locale);
}

Expected<std::unique_ptr<LineEditor>> LineEditor::create(const std::string &tool) {
  std::unique_ptr<LineEditor> editor(new LineEditor(std::make_unique<State>()));
  State &state = *editor->state;
  state.locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (!state.locale)
    return inputError("standard input: expected the locale C.UTF-8, found none");
  const Locale locale(state.locale);
  state.drawing = isatty(STDOUT_FILENO) != 0 ? stdout : stderr;
  state.edit = el_init(tool.c_str(), stdin, state.drawing, stderr);
  state.history = history_init();
  if (!state.edit || !state.history)
    return inputError("standard input: expected a terminal that can be read, found none");
  HistEvent event;
  history(state.history, &event, H_SETSIZE, 1000);
  history(state.history, &event, H_SETUNIQUE, 1);
  el_set(state.edit, EL_CLIENTDATA, &state);
  el_set(state.edit, EL_EDITOR, "emacs");
  el_set(state.edit, EL_HIST, ::history, state.history);
  el_set(state.edit, EL_PROMPT, markOf);
  el_set(state.edit, EL_GETCFN, readCharacter);
  bindKeys(state.edit);
  return editor;
}

bool LineEditor::read(const std::string &mark, std::string &line) {
  const Locale locale(state->locale);
  const TerminalSignals signals;
  state->mark = mark;
  for (;;) {
    state->interrupted = false;
    signaled = 0;
    stopping = 0;
    continued = 0;
    el_resize(state->edit); // the window may have been resized
    int count = 0;
    terminalChanges = tcgetattr(STDIN_FILENO, &terminalBefore) == 0;
    const char *typed = el_gets(state->edit, &count);
    terminalChanges = 0;
    const LineInfo *info = el_line(state->edit);
    const bool hasText = info && info->lastchar != info->buffer;
    if (!typed || count <= 0 || state->interrupted) {
      std::fputc('\n', state->drawing);
      std::fflush(state->drawing);
      if (!state->interrupted || !hasText)
        return false;
      el_reset(state->edit);
      continue;
    }
    line.assign(typed, static_cast<size_t>(count));
    std::erase_if(line, [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
    HistEvent event;
    if (line.find_first_not_of(" \t") != std::string::npos)
      history(state->history, &event, H_ENTER, line.c_str());
    return true;
  }
}
