//===- Options.h - Options that several commands share ----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers, TEXT and its input, --json, --on-error and the output file.
#pragma once

#include "Help.h"
#include "Program.h"

#include "heddle/Generation/Commands.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <limits>
#include <optional>

namespace heddle::driver {

/// Error message for an integer outside [least, most] or for other text; empty if the number is
/// valid. CLI11 would clamp a number beyond 64 bits.
inline std::string numberProblem(const std::string &text, uint64_t least, uint64_t most) {
  int64_t signedValue = 0;
  uint64_t value = 0;
  bool negative = CLI::detail::lexical_cast(text, signedValue) && signedValue < 0;
  errno = 0;
  bool number = CLI::detail::lexical_cast(text, value);
  bool large = !negative && number && (errno == ERANGE || value > most);
  if (number && !negative && !large && value >= least)
    return "";
  return "expected a number of at " +
         (large ? "most " + std::to_string(most) : "least " + std::to_string(least)) + ", found " +
         (text.empty() ? "nothing"
          : number     ? text
                       : quotedText(text));
}

template <typename Number>
constexpr uint64_t largestOf(const Number &) {
  return static_cast<uint64_t>(std::numeric_limits<Number>::max());
}
template <typename Number>
constexpr uint64_t largestOf(const std::optional<Number> &) {
  return largestOf(Number());
}

/// Adds a flag for an integer from `least` to the largest value of `number`'s type.
template <typename Number>
void addNumber(CLI::App &app, const std::string &name, Number &number, uint64_t least,
               const std::string &about) {
  uint64_t most = largestOf(number);
  // CLI11 prefixes the message with the flag.
  app.add_option(name, number, about)
      ->check(CLI::Validator(
          [=](const std::string &text) { return numberProblem(text, least, most); }, ""))
      ->type_name("N");
}

inline void addOutput(CLI::App &app, std::string &output, const std::string &type,
                      const std::string &about) {
  app.add_option("-o,--output", output, about)->type_name(type);
}

/// Adds --json for a command that prints one report.
inline void addJson(CLI::App &app, bool &json) {
  app.add_flag("--json", json, "write one JSON object");
}

inline void addTexts(CLI::App &app, std::vector<std::string> &texts) {
  app.add_option("TEXT", texts, "texts; each has a line of output")
      ->transform(CLI::Validator(
          [](std::string &text) {
            std::erase(text, textMark);
            return std::string();
          },
          "", ""));
}

/// Adds TEXT and the flags of commands that write one result per text.
inline void addInputFlags(CLI::App &app, TextCommand &command) {
  addTexts(app, command.texts);
  app.add_option(
         "--input", command.input,
         "file with one text per line; a line of FILE.jsonl is a JSON string or an object with the "
         "key text; - is standard input (default)")
      ->type_name("FILE");
  app.add_flag("--json", command.json, "write one JSON object per text, each in a line");
  app.add_option("--on-error", command.onError,
                 "stop (default) at a text that cannot be read, or skip it")
      ->type_name("stop|skip");
}

} // namespace heddle::driver
