//===- Terminal.cpp - Escaping of terminal output -------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream buffer in front of the terminal's, which escapes control characters.

#include "heddle/Support/Terminal.h"

#include "heddle/Support/Error.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace heddle {

/// Number of bytes at the end that begin an incomplete UTF-8 character.
static size_t unfinishedBytes(std::string_view text) {
  for (size_t count = 1; count <= std::min<size_t>(3, text.size()); ++count) {
    const auto byte = static_cast<unsigned char>(text[text.size() - count]);
    if (byte < 0x80)
      return 0;
    if (byte >= 0xc0) // the first byte of two, three or four
      return count < (byte >= 0xf0 ? 4u : byte >= 0xe0 ? 3u : 2u) ? count : 0;
  }
  return 0;
}

class TerminalText::Buffer : public std::streambuf {
public:
  explicit Buffer(std::streambuf &terminal) : terminal(terminal) {}

  /// Writes the pending bytes, even if they are not a whole character.
  void finish() {
    write(waiting);
    waiting.clear();
  }

protected:
  std::streamsize xsputn(const char *text, std::streamsize size) override {
    waiting.append(text, static_cast<size_t>(size));
    const size_t rest = unfinishedBytes(waiting), whole = waiting.size() - rest;
    const bool written = write(std::string_view(waiting).substr(0, whole));
    waiting.erase(0, whole);
    return written ? size : 0;
  }
  int_type overflow(int_type byte) override {
    const char text = traits_type::to_char_type(byte);
    if (traits_type::eq_int_type(byte, traits_type::eof()) || xsputn(&text, 1) == 1)
      return traits_type::not_eof(byte);
    return traits_type::eof();
  }
  int sync() override { return terminal.pubsync(); }

private:
  bool write(std::string_view text) {
    const std::string shown = printableLines(text);
    const auto size = static_cast<std::streamsize>(shown.size());
    return terminal.sputn(shown.data(), size) == size;
  }

  std::streambuf &terminal;
  std::string waiting;
};

TerminalText::TerminalText(std::ostream &stream)
    : stream(stream), terminal(stream.rdbuf()), buffer(std::make_unique<Buffer>(*terminal)) {
  stream.rdbuf(buffer.get());
}

TerminalText::~TerminalText() {
  buffer->finish();
  stream.rdbuf(terminal);
  stream.flush();
}

} // namespace heddle
