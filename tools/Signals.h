//===- Signals.h - Signals and exhausted memory -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends a tool on a signal or on exhausted memory without leaving unfinished files, and with a
// one-line error. Handlers call only async-signal-safe functions.
#pragma once

#include "heddle/Support/OutputFile.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <initializer_list>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <new>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

namespace heddle::driver {

/// Terminal modes before a line editor reads, which handlers restore.
inline struct termios terminalBefore;
inline volatile std::sig_atomic_t terminalChanges = 0;

inline void restoreTerminal() {
  if (terminalChanges)
    tcsetattr(STDIN_FILENO, TCSANOW, &terminalBefore);
}

/// Writes a line to standard error and exits with status 1, without running destructors.
[[noreturn]] inline void endWith(std::initializer_list<std::string_view> line) {
  restoreTerminal();
  for (std::string_view part : line)
    (void)!write(STDERR_FILENO, part.data(), part.size());
  removeUnfinishedFiles();
  _exit(1);
}

/// Removes a hexadecimal number from the beginning of `text` and returns it.
inline uintptr_t takeHex(std::string_view &text) {
  uintptr_t value = 0;
  for (; !text.empty() && text[0] != '-' && text[0] != ' '; text.remove_prefix(1))
    value = value * 16 + static_cast<uintptr_t>(text[0] - (text[0] <= '9' ? '0' : 'a' - 10));
  return value;
}

/// Parses a line "begin-end rwxp offset device inode path" of /proc/self/maps. Returns the path if
/// the range contains `address`, and otherwise an empty text.
inline std::string_view pathOfMapping(std::string_view line, uintptr_t address) {
  const size_t path = line.find('/');
  std::string_view range = line;
  const uintptr_t begin = takeHex(range);
  if (range.empty() || path == line.npos)
    return {};
  range.remove_prefix(1);
  return begin <= address && address < takeHex(range) ? line.substr(path) : std::string_view();
}

/// Reads the path of the file that is mapped at `address` into `line`; empty if there is none.
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

/// Handles SIGBUS: a mapped file was truncated, or its disk failed. Several threads may read the
/// file; the first one ends the process.
inline void endByBus(int, siginfo_t *facts, void *) {
  static std::atomic_flag isEnding; // lock-free
  while (isEnding.test_and_set())
    pause();
  std::array<char, 4096> line;
  const auto address = reinterpret_cast<uintptr_t>(facts->si_addr);
  if (std::string_view path = mappedFile(address, line); !path.empty())
    endWith({"error: ", path,
             ": expected a file that stays as it is while it is read, found one that was cut or "
             "cannot be read\n"});
  std::signal(SIGBUS, SIG_DFL); // the access is retried
  isEnding.clear();
}

/// Cleans up, then lets the signal end the process as without a handler.
inline void endBySignal(int signal) {
  removeUnfinishedFiles();
  restoreTerminal();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

[[noreturn]] inline void endWithoutMemory() {
  endWith({"error: expected enough memory for this call, found too little\n"});
}

/// Whether an allocation as large as a library may need at once exceeds the process's limit. Tries one.
inline bool isMemoryShort() {
  constexpr size_t needed = size_t(64) << 20;
  void *memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return true;
  munmap(memory, needed);
  return false;
}

/// Keeps one heap for all threads under a limit of address space. glibc reserves 64 MiB for the heap
/// of a thread; where that fails, it tries again at each allocation, which takes minutes.
inline void limitHeaps() {
#ifdef __GLIBC__
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    mallopt(M_ARENA_MAX, 1);
#endif
}

/// Handler of SIGSEGV and SIGABRT: some libraries use memory that they could not allocate, or abort. Any
/// other fault ends the process as without a handler.
inline void endByFault(int signal) {
  if (isMemoryShort())
    endWithoutMemory();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

/// Terminate handler, for an exception at noexcept or at the start of the program.
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

/// Installs handlers for the signals that end a tool, unless the caller ignores them. SIGXFSZ is
/// ignored, so write() reports the file-size limit.
inline void handleSignals() {
  struct sigaction action = {};
  action.sa_handler = endBySignal;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
  action.sa_handler = endByFault;
  for (int signal : {SIGSEGV, SIGABRT}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) // no sanitizer's
      sigaction(signal, &action, nullptr);
  }
  action.sa_sigaction = endByBus;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
}

/// Runs before the constructors of the tool's other objects.
[[gnu::constructor(101)]] inline void handleExceptions() { std::set_terminate(endByException); }

} // namespace heddle::driver
