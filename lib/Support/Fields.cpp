//===- Fields.cpp - Reflection of structures and enumerations --*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts C++ names to snake case, for files and the text of ops.

#include "heddle/Support/Fields.h"

#include <cctype>

namespace heddle {

std::vector<std::string> snakeCaseWords(const char *names) {
  std::vector<std::string> words(1);
  for (char previous = ' '; *names; previous = *names++) {
    auto c = static_cast<unsigned char>(*names);
    if (c == ',')
      words.emplace_back();
    if (std::isupper(c) && std::islower(static_cast<unsigned char>(previous)))
      words.back() += '_';
    if (std::isalnum(c))
      words.back() += static_cast<char>(std::tolower(c));
  }
  return words;
}

} // namespace heddle
