//===- Progress.h - Progress on a terminal ----------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows progress on one line of standard error, which is erased at the end.
#pragma once

#include "heddle/Support/Error.h"

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>

namespace heddle::driver {

/// The current phase of a long operation; shown only if standard error is a terminal.
class Progress {
public:
  Progress() : terminal(isatty(STDERR_FILENO) != 0) {}
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() { clear(); }
  /// Shows `phase`; an empty phase ends the operation.
  void show(const std::string &phase) {
    if (phase.empty())
      return clear();
    if (!terminal)
      return;
    std::cerr << "\r\033[K" << printable(phase) << " …" << std::flush;
    shown = true;
  }
  void clear() {
    if (shown)
      std::cerr << "\r\033[K" << std::flush;
    shown = false;
  }

private:
  bool terminal;
  bool shown = false;
};

/// Returns a callback that shows phases; the line is erased with its last copy.
inline std::function<void(const std::string &phase)> showPhases() {
  auto progress = std::make_shared<Progress>();
  return [progress](const std::string &phase) { progress->show(phase); };
}

} // namespace heddle::driver
