//===- Error.cpp - Errors and Expected values ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quotes users' text for messages, and aborts on misuse of an Expected.

#include "heddle/Support/Error.h"

#include <cstdio>
#include <cstdlib>

namespace heddle {

Error outOfMemory() {
  return {ErrorKind::System, "expected enough memory for this call, found too little"};
}

std::string printable(std::string_view text) {
  std::string result;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", byte);
    result += byte < 32 || byte == 127 ? std::string(hex) : std::string(1, c);
  }
  return result;
}

std::string quotedText(std::string_view text) {
  constexpr size_t most = 60;
  bool cut = text.size() > most;
  if (cut) {
    size_t end = most - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      --end; // not inside a UTF-8 sequence
    text = text.substr(0, end);
  }
  return "'" + printable(text) + (cut ? "...'" : "'");
}

void misused(std::string_view what, std::string_view found) {
  std::fprintf(stderr, "heddle: expected %.*s, found %.*s\n", static_cast<int>(what.size()),
               what.data(), static_cast<int>(found.size()), found.data());
  std::abort();
}

} // namespace heddle
