//===- Program.h - Running a tool -------------------------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the command line, rewords some errors of CLI11, and runs the tool with checked standard
// streams.
#pragma once

#include "Signals.h"
#include "UnknownOption.h"

#include "heddle/Support/Terminal.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <unistd.h>

namespace heddle::driver {

/// Appended to a text in brackets during parsing, because CLI11 would split it as a list. No
/// program argument can contain this character.
inline constexpr char textMark = '\0';

/// Opens closed standard streams on /dev/null in the wrong direction. Otherwise the next opened
/// file would get the descriptor of a closed stream and be used as that stream.
inline void occupyStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // takes the lowest number
}

/// Error of standard output with the message of errno `code`; 0 means EIO.
inline Error outputError(int code) {
  return inputError(std::string("standard output: expected a path that can be written, found: ") +
                    std::strerror(code != 0 ? code : EIO));
}

/// Flushes standard output at the end of a program; returns an error if input could not be read or
/// output not written.
inline Status finishStandardStreams() {
  if (std::ferror(stdin))
    return inputError("standard input: expected text, found a read error");
  errno = 0;
  bool arrived = static_cast<bool>(std::cout.flush());
  if (std::fflush(stdout) == 0 && arrived)
    return {};
  return outputError(errno);
}

/// Converts CLI11's message, which does not state what was expected, to "expected …, found …".
/// Keeps only its first line, cut if it repeats a long argument.
inline Error parseError(const CLI::ParseError &error) {
  constexpr size_t most = 200;
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  std::string place = text.substr(0, text.find(' '));
  if (place.ends_with(':'))
    place.pop_back();
  constexpr std::string_view convert = "Could not convert: ";
  if (size_t equals = text.find(" = "); text.starts_with(convert) && equals != text.npos)
    return usageError(text.substr(convert.size(), equals - convert.size()) +
                      ": expected a number in range, found " + quotedText(text.substr(equals + 3)));
  if (text.find(": At Most 1 required") != text.npos)
    return usageError(place + ": expected once, found several");
  if (text.starts_with("A subcommand is required"))
    return usageError("expected a command, found none; --help names them");
  if (text == place + " is required" || text.ends_with(" missing"))
    return usageError(place + ": expected a value, found none");
  return usageError(text.size() > most ? text.substr(0, most) + "..." : text);
}

/// Usage error for the first argument that no option or command takes; CLI11's message lists all,
/// in reverse. `--` may be left over too, but is never at fault.
inline Error extraArgumentError(const CLI::App &app, const CLI::ParseError &error) {
  const auto commands = app.get_subcommands();
  for (std::string argument : app.remaining(/*recurse=*/true)) {
    std::erase(argument, textMark);
    if (argument.starts_with('-') && argument.size() > 1 && argument != "--" && !commands.empty())
      return unknownOptionError(*commands.front(), argument);
    if (argument != "--")
      return usageError("expected no further argument, found " + quotedText(argument));
  }
  return parseError(error);
}

/// Usage error for --threads with a device that ignores it.
inline Status checkThreads(std::string_view device, int threads) {
  if (threads > 0 && device.starts_with("vulkan"))
    return usageError("--threads: expected --device=cpu with it, found " + quotedText(device));
  return {};
}

/// Usage error for --cpu with a device that ignores it.
inline Status checkCpu(std::string_view device, std::string_view cpu) {
  if (!cpu.empty() && device.starts_with("vulkan"))
    return usageError("--cpu: expected --device=cpu with it, found " + quotedText(device));
  return {};
}

/// Usage error for --vulkan-level with a CPU device.
inline Status checkLevel(std::string_view device, std::optional<int> level) {
  if (level && !device.starts_with("vulkan"))
    return usageError("--vulkan-level: expected --device=vulkan with it, found " +
                      quotedText(device));
  return {};
}

/// Usage error for `--flag=` without a value; CLI11 would consume the next argument.
inline Status checkValues(int argc, const char *const *argv) {
  for (std::string_view argument : std::span(argv, static_cast<size_t>(argc)).subspan(1)) {
    if (argument == "--")
      return {};
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1)
      return usageError(std::string(argument.substr(0, argument.size() - 1)) +
                        ": expected a value, found none");
  }
  return {};
}

/// Usage error for an unknown command, with the nearest name; CLI11 would only report a missing
/// command.
inline Status checkCommand(const CLI::App &app, int argc, const char *const *argv) {
  HEDDLE_TRY(checkValues(argc, argv));
  if (argc < 2 || argv[1][0] == '-')
    return {};
  std::string given = argv[1], known, nearest;
  size_t distance = std::max<size_t>(3, given.size() / 2);
  for (const CLI::App *command : app.get_subcommands({})) {
    const std::string &name = command->get_name();
    if (name == given)
      return {};
    known += (known.empty() ? "" : ", ") + name;
    if (size_t edits = editDistance(given, name); edits < distance) {
      distance = edits;
      nearest = name;
    }
  }
  return usageError("expected a command of " + known + ", found " + quotedText(given) +
                    (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

/// The option of the command that `argv` names; null if there is none.
inline const CLI::Option *optionOf(const CLI::App &app, int argc, const char *const *argv,
                                   const std::string &name) {
  const auto commands = app.get_subcommands(
      [&](const CLI::App *each) { return argc > 1 && each->get_name() == argv[1]; });
  return commands.empty() ? nullptr : commands.front()->get_option_no_throw(name);
}

/// Returns the arguments with textMark appended to texts in brackets, unless they are the value of
/// an option.
inline std::vector<std::string> markedTexts(const CLI::App &app, int argc,
                                            const char *const *argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (size_t i = 1; i < arguments.size(); ++i) {
    const CLI::Option *before = arguments[i - 1].starts_with('-') && arguments[i - 1] != "--"
                                    ? optionOf(app, argc, argv, arguments[i - 1])
                                    : nullptr;
    const bool isValue = before && before->get_items_expected_min() > 0;
    if (arguments[i].starts_with('[') && arguments[i].ends_with(']') && !isValue)
      arguments[i] += textMark;
  }
  return arguments;
}

/// Rewrites `help [COMMAND]` to `[COMMAND] --help`, and `--option=` to an option and an empty text
/// if its type is TEXT.
inline std::vector<std::string> rewrittenArguments(const CLI::App &app, int argc,
                                                   const char *const *argv) {
  std::vector<std::string> arguments;
  bool mayBeOption = true;
  for (const std::string_view argument : std::span(argv, static_cast<size_t>(argc))) {
    mayBeOption &= argument != "--";
    const std::string name(argument.substr(0, argument.find('=')));
    const bool isEmpty =
        mayBeOption && argument.starts_with("--") && name.size() + 1 == argument.size();
    const CLI::Option *option = isEmpty ? optionOf(app, argc, argv, name) : nullptr;
    if (option && option->get_type_name() == "TEXT")
      arguments.insert(arguments.end(), {name, ""});
    else
      arguments.emplace_back(argument);
  }
  if (argc >= 2 && argc <= 3 && arguments[1] == "help") {
    arguments.erase(arguments.begin() + 1);
    arguments.emplace_back("--help");
  }
  return arguments;
}

/// Parses the command line and runs the command, or prints help or version.
inline Status parse(CLI::App &app, int count, const char *const *given) {
  const std::vector<std::string> texts = rewrittenArguments(app, count, given);
  std::vector<const char *> words;
  for (const std::string &text : texts)
    words.push_back(text.c_str());
  const int argc = static_cast<int>(words.size());
  const char *const *argv = words.data();
  HEDDLE_TRY(checkCommand(app, argc, argv));
  try {
    std::vector<std::string> arguments = markedTexts(app, argc, argv);
    std::ranges::reverse(arguments); // CLI11 expects reverse order
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError &error) {
    return extraArgumentError(app, error);
  } catch (const CLI::RequiredError &error) {
    return extraArgumentError(app, error); // an unknown option may be the reason
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return parseError(error);
    std::ostringstream text; // CLI11 flushes and would lose errno
    app.exit(error, text);
    errno = 0;
    if (!(std::cout << text.str() << std::flush))
      return outputError(errno);
  }
  return {};
}

/// Prints "error: …" on one line. For an error in a formula, also prints the formula with a caret
/// below.
inline void printError(const Error &error) {
  size_t end = error.message.find('\n');
  bool formula = end != std::string::npos && error.message.compare(end, 3, "\n  ") == 0;
  // An empty formula gets no caret.
  bool pointed =
      formula && error.message.find_first_not_of(" \n", end) != error.message.find('^', end);
  constexpr size_t most = 2000; // a message may quote several texts, each already shortened
  const std::string line = formula ? error.message.substr(0, end) : error.message;
  const std::string text = "error: " + printable(shortened(line, most)) +
                           (pointed ? printableLines(error.message.substr(end)) : "") + "\n";
  std::cerr.flush();
  // Not by std::cerr, which says nothing where its buffer cannot be allocated.
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = write(STDERR_FILENO, left.data(), left.size());
    if (written < 0 && errno != EINTR)
      return;
    left.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
}

/// Removes a value of OMP_NUM_THREADS with which the OpenMP runtime aborts: an empty text, or a number
/// of threads beyond its limits.
inline void checkOpenMpSettings() {
  constexpr const char *name = "OMP_NUM_THREADS";
  constexpr long most = 32767;
  const char *text = std::getenv(name);
  if (text && (*text == '\0' || std::strtol(text, nullptr, 10) > most))
    unsetenv(name);
}

/// Main function of a tool: calls `run`, which returns a Status, checks the standard streams,
/// prints an error and returns the exit status.
template <typename Run>
int runProgram(const Run &run) {
  limitHeaps();
  checkOpenMpSettings();
  handleSignals();
  occupyStandardStreams();
  std::ios::sync_with_stdio(false); // std::cin buffers and knows how much input is available
  std::optional<TerminalText> shown;
  if (isatty(STDOUT_FILENO) != 0)
    shown.emplace(std::cout);
  Status status = withinMemory(run);
  shown.reset();
  if (status)
    status = finishStandardStreams();
  if (status)
    return 0;
  printError(status.error());
  return exitStatusOf(status.error().kind);
}

} // namespace heddle::driver
