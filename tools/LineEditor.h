//===- LineEditor.h - Line input on a terminal ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edits lines of a terminal with libedit: arrow keys, Home, End and Emacs keys. Up and down recall
// lines of this run; the history is not saved.
#pragma once

#include "heddle/Support/Error.h"

#include <memory>
#include <string>

namespace heddle::driver {

/// Reads lines that a user edits.
class LineEditor {
public:
  /// Creates an editor on standard input, which must be a terminal. It draws on standard output, or
  /// on standard error if standard output is not a terminal. `tool` is the program name in
  /// ~/.editrc.
  static Expected<std::unique_ptr<LineEditor>> create(const std::string &tool);
  ~LineEditor();
  LineEditor(const LineEditor &) = delete;
  LineEditor &operator=(const LineEditor &) = delete;

  /// Prompts with `mark`, reads a line of UTF-8 without control characters except tabs, and adds it
  /// to the history. Returns false after Ctrl-D, or after Ctrl-C in an empty line. In another line,
  /// Ctrl-C discards the line.
  bool read(const std::string &mark, std::string &line);

  struct State;

private:
  explicit LineEditor(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace heddle::driver
