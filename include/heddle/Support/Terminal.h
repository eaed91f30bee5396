//===- Terminal.h - Text of others on a terminal ---------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What files and models say may hold characters that a terminal obeys. A tool shows
// them there as escapes; into a file or a pipe the bytes go as they are.
#pragma once

#include <memory>
#include <ostream>
#include <streambuf>

namespace heddle {

/// Sends a stream through `printableLines` as long as this lives. A character whose bytes come in
/// several writes stays whole.
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
