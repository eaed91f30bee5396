//===- Signals.h - How a tool ends by a signal -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signals and exhausted memory leave no unfinished file, and say in one line what an
// error would say. Handlers use only what POSIX allows in one.
#pragma once

#include "heddle/Support/OutputFile.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <initializer_list>
#include <new>
#include <span>
#include <string_view>
#include <termios.h>
#include <unistd.h>

namespace heddle::driver {

/// The terminal as it was before a line editor reads, for handlers to take back.
inline struct termios terminalBefore;
inline volatile std::sig_atomic_t terminalChanges = 0;

inline void restoreTerminal() {
  if (terminalChanges)
    tcsetattr(STDIN_FILENO, TCSANOW, &terminalBefore);
}

/// Writes a line to standard error and ends the process with status 1, without any destructor.
[[noreturn]] inline void endWith(std::initializer_list<std::string_view> line) {
  restoreTerminal();
  for (std::string_view part : line)
    (void)!write(STDERR_FILENO, part.data(), part.size());
  removeUnfinishedFiles();
  _exit(1);
}

/// A number in base 16 at the beginning of `text`, which loses it.
inline uintptr_t takeHex(std::string_view &text) {
  uintptr_t value = 0;
  for (; !text.empty() && text[0] != '-' && text[0] != ' '; text.remove_prefix(1))
    value = value * 16 + static_cast<uintptr_t>(text[0] - (text[0] <= '9' ? '0' : 'a' - 10));
  return value;
}

/// The path in a line "begin-end rwxp offset device inode path" of /proc/self/maps whose range holds
/// `address`; empty for other lines.
inline std::string_view pathOfMapping(std::string_view line, uintptr_t address) {
  const size_t path = line.find('/');
  std::string_view range = line;
  const uintptr_t begin = takeHex(range);
  if (range.empty() || path == line.npos)
    return {};
  range.remove_prefix(1);
  return begin <= address && address < takeHex(range) ? line.substr(path) : std::string_view();
}

/// Copies the path of the file that is mapped at `address`; empty if there is none.
inline std::string_view mappedFile(uintptr_t address, std::span<char> line) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  size_t size = 0;
  char byte = 0;
  while (maps >= 0 && read(maps, &byte, 1) == 1) {
    if (byte != '\n') {
      if (size < line.size())
        line[size++] = byte < ' ' || byte > '~' ? '?' : byte;
      continue;
    }
    if (std::string_view path = pathOfMapping({line.data(), size}, address); !path.empty()) {
      close(maps);
      return path;
    }
    size = 0;
  }
  close(maps);
  return {};
}

/// A mapped file became shorter, or its disk failed.
inline void endByBus(int, siginfo_t *facts, void *) {
  std::array<char, 4096> line;
  const auto address = reinterpret_cast<uintptr_t>(facts->si_addr);
  if (std::string_view path = mappedFile(address, line); !path.empty())
    endWith({"error: ", path,
             ": expected a file that stays as it is while it is read, found one that was cut or "
             "cannot be read\n"});
  std::signal(SIGBUS, SIG_DFL); // the access happens again
}

/// The process ends by the signal, as without a handler.
inline void endBySignal(int signal) {
  removeUnfinishedFiles();
  restoreTerminal();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

[[noreturn]] inline void endWithoutMemory() {
  endWith({"error: expected enough memory for this call, found too little\n"});
}

/// Where an exception meets noexcept, or the beginning of the program.
[[noreturn]] inline void endByException() {
  try {
    if (std::exception_ptr thrown = std::current_exception())
      std::rethrow_exception(thrown);
  } catch (const std::bad_alloc &) {
    endWithoutMemory();
  } catch (...) {
  }
  std::abort();
}

/// Handlers of the signals that end a tool, unless the caller ignores them. A file beyond the limit
/// of its size is an error of write().
inline void handleSignals() {
  struct sigaction action = {};
  action.sa_handler = endBySignal;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
  action.sa_sigaction = endByBus;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
}

/// Before the constructors of a tool's other objects.
[[gnu::constructor(101)]] inline void handleExceptions() { std::set_terminate(endByException); }

} // namespace heddle::driver
