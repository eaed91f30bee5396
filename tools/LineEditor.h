//===- LineEditor.h - Lines that a user types ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A terminal's lines, edited with libedit: arrow keys, Home, End and the keys of Emacs; up and
// down go through the lines of this run, which no file keeps.
#pragma once

#include "heddle/Support/Error.h"

#include <memory>
#include <string>

namespace heddle::driver {

class LineEditor {
public:
  /// Of standard input, which must be a terminal. It draws on standard output, or where that is
  /// none, on standard error. `tool` is the name by which ~/.editrc could know it.
  static Expected<std::unique_ptr<LineEditor>> create(const std::string &tool);
  ~LineEditor();
  LineEditor(const LineEditor &) = delete;
  LineEditor &operator=(const LineEditor &) = delete;

  /// Reads a line after `mark`, UTF-8 without control characters but tabs, and keeps it in the
  /// history; false after Ctrl-D, or Ctrl-C in an empty line. Ctrl-C in another line drops it.
  bool read(const std::string &mark, std::string &line);

  struct State;

private:
  explicit LineEditor(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace heddle::driver
