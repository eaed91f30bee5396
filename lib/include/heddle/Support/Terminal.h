//===- Terminal.h - Escaping of terminal output -----------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Escaping of terminal output. Text of files and models may contain control characters. On a
// terminal, a tool escapes them; to a file or a pipe, bytes are written unchanged.
#pragma once

#include <memory>
#include <ostream>
#include <streambuf>

namespace heddle {

/// Filters a stream through `printableLines` for its lifetime. A character whose bytes are written
/// in several calls stays whole.
class TerminalText {
public:
  explicit TerminalText(std::ostream &stream);
  TerminalText(const TerminalText &) = delete;
  TerminalText &operator=(const TerminalText &) = delete;
  ~TerminalText();

private:
  class Buffer;
  std::ostream &stream;
  std::streambuf *const terminal;
  std::unique_ptr<Buffer> buffer;
};

} // namespace heddle
