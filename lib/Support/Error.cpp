//===- Error.cpp - Words of users, and misuse ------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a message may repeat of an input, and the end of a program that looked
// inside an Expected without testing it.

#include "heddle/Support/Error.h"

#include <cstdio>
#include <cstdlib>

namespace heddle {

Error outOfMemory() {
  return inputError("expected memory enough for what was asked, found too little");
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
      --end; // not inside a character of UTF-8
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
