//===- CommandLine.h - What both drivers say of a command line -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts where CLI11's own say too much or too little: numbers that are too small or
// too large, and commands that do not exist. And the flags and commands that both
// have.
#pragma once

#include "bench/Bench.h"

#include "heddle/Generation/Commands.h"
#include "heddle/Runtime/Commands.h"
#include "heddle/Support/Try.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <unistd.h>

namespace heddle::driver {

/// What is wrong with the text of a whole number; empty: nothing. The parser alone would take a
/// number that 64 bits cannot hold for the one next to it that they can.
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

/// A flag for a whole number of at least `least`, at most the largest that `number` can hold.
template <typename Number>
void addNumber(CLI::App &app, const std::string &name, Number &number, uint64_t least,
               const std::string &about) {
  uint64_t most = largestOf(number);
  // CLI11 puts the flag's name before the message.
  app.add_option(name, number, about)
      ->check(CLI::Validator(
          [=](const std::string &text) { return numberProblem(text, least, most); }, ""))
      ->type_name("N");
}

/// Texts, and how they are taken.
inline void addTextFlags(CLI::App &app, TextCommand &command) {
  app.add_option("TEXT", command.texts, "texts, one line of output each");
  addNumber(app, "--batch", command.batch, 1, "texts that run together (default: 1)");
  app.add_flag("--truncate", command.truncate, "cut texts that are too long");
}

/// The same, and the flags of decoding.
inline void addDecodingFlags(CLI::App &app, TranslateCommand &command) {
  addTextFlags(app, command.text);
  addNumber(app, "--limit", command.limit, 1, "tokens of an answer (default: the model's)");
  addNumber(app, "--beam", command.beam, 1, "hypotheses kept for each text (default: 1, greedy)");
  app.add_option("--length-penalty", command.lengthPenalty,
                 "power of ((5 + tokens) / 6) that a hypothesis is divided by (default: 0.6)")
      ->type_name("X");
  app.add_flag("--sample", command.sample, "draw tokens by their probabilities");
  app.add_option("--temperature", command.temperature, "divides scores before drawing (default: 1)")
      ->type_name("X");
  addNumber(app, "--top-k", command.topK, 0, "draw among the N likeliest (default: 0, all)");
  app.add_option("--top-p", command.topP, "draw among the likeliest that sum to X (default: 1)")
      ->type_name("X");
  addNumber(app, "--seed", command.seed, 0, "another seed draws other tokens (default: 0)");
  app.add_flag("--stream", command.stream, "write each token as soon as it is chosen");
}

/// The same, and pictures of what was looked at.
inline void addTranslateFlags(CLI::App &app, TranslateCommand &command) {
  addDecodingFlags(app, command);
  app.add_option("--attention", command.attention,
                 "draw what each step looked at: FILE.html (a page) or FILE.svg")
      ->type_name("FILE");
}

/// The value of one `--dim NAME=NUMBER`.
inline Expected<std::pair<std::string, int64_t>> parseDimension(const std::string &text) {
  size_t equals = text.find('=');
  std::string digits = equals == std::string::npos ? "" : text.substr(equals + 1);
  bool number = !digits.empty() && digits.size() <= 18 &&
                digits.find_first_not_of("0123456789") == std::string::npos;
  if (equals == 0 || !number)
    return usageError("--dim: expected NAME=NUMBER, found " + quotedText(text));
  return std::pair{text.substr(0, equals), static_cast<int64_t>(std::stoll(digits))};
}

/// The values of `--dim NAME=NUMBER …`, each name once.
inline Expected<Dimensions> parseDimensions(const std::vector<std::string> &texts) {
  Dimensions dims;
  for (const std::string &text : texts) {
    auto dim = HEDDLE_TRY(parseDimension(text));
    if (!dims.emplace(dim.first, dim.second).second)
      return usageError("--dim: expected each name once, found " + quotedText(dim.first) +
                        " twice");
  }
  return dims;
}

/// The flags of `run`, but for the model and the device.
inline void addRunFlags(CLI::App &app, RunCommand &command) {
  app.add_option(
         "--function", command.function,
         "the function; may be left out if there is one; several, by commas, share a session")
      ->type_name("NAME");
  app.add_option("--input", command.inputs, "an input, once each")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false);
  app.add_option("--output-dir", command.outputDir,
                 "write results as DIR/NAME.npy instead of printing them")
      ->type_name("DIR");
}

/// What a driver has to do with the commands on texts.
struct TextDriver {
  TranslateCommand &command;
  std::function<void(CLI::App &)> addModel; ///< the flags of the model and its device
  std::function<Expected<Session>()> open;
  std::string tool; ///< its name
};

/// translate, generate, embed and classify; `outcome` is what became of the chosen one.
inline void addTextCommands(CLI::App &app, const TextDriver &driver, Status &outcome) {
  auto add = [&](const std::string &name, const std::string &about, auto addFlags, auto run) {
    CLI::App *command = app.add_subcommand(name, about);
    driver.addModel(*command);
    addFlags(*command);
    command->callback([&outcome, run] { outcome = run(); });
    return command;
  };
  auto addDecoding = [&](const std::string &name, const std::string &about, auto addFlags,
                         auto decode) {
    return add(
        name, about, [&](CLI::App &own) { addFlags(own, driver.command); },
        [driver, decode]() -> Status {
          HEDDLE_TRY(checkTranslate(driver.command));
          Session session = HEDDLE_TRY(driver.open());
          return decode(session, driver.command, std::cin, std::cout, std::cerr);
        });
  };
  const std::string start = "  " + driver.tool + " ";
  addDecoding("translate", "translate texts, or the lines of standard input", addTranslateFlags,
              translateCommand)
      ->footer("Examples:\n" + start + "translate translate.heddle \"我 是 谁\"\n" + start +
               "translate translate.heddle --device=vulkan --batch=8 < sentences.txt\n" + start +
               "translate translate.heddle --beam=4 \"我 是 谁\"\n" + start +
               "translate translate.heddle --sample --top-p=0.9 --seed=7 --stream \"我 是 谁\"\n" +
               start + "translate translate.heddle --attention=attention.html \"我 是 谁\"");
  addDecoding("generate", "go on from texts, or from the lines of standard input", addDecodingFlags,
              generateCommand)
      ->footer("Examples:\n" + start + "generate model.heddle \"once upon a\" --limit=20\n" +
               start + "generate model.heddle --sample --top-k=40 --seed=7 --stream \"once\"");
  for (bool classify : {false, true}) {
    std::string name = classify ? "classify" : "embed";
    add(
        name,
        classify ? "name the class of texts, or of lines of input"
                 : "give the vector of texts, or of lines of input",
        [&](CLI::App &own) { addTextFlags(own, driver.command.text); },
        [driver, classify]() -> Status {
          HEDDLE_TRY(checkTexts(driver.command.text));
          Session session = HEDDLE_TRY(driver.open());
          return encodeCommand(session, driver.command.text, classify, std::cin, std::cout,
                               std::cerr);
        })
        ->footer("Examples:\n" + start + name + " model.heddle \"a text\"\n" + start + name +
                 " model.heddle --device=vulkan --batch=8 < texts.txt");
  }
}

/// The flags of `bench`, but for the model and the device; `dims` are for parseDimensions.
inline void addBenchFlags(CLI::App &app, BenchCommand &command, std::vector<std::string> &dims) {
  app.add_option("--function", command.function,
                 "the function; several, by commas: the last is timed after the others");
  app.add_option("--dim", dims, "size of an input, NAME=N (default: B=1, others 128)")
      ->allow_extra_args(false);
  addNumber(app, "--rounds", command.rounds, 1, "rounds of the medians (default: 15)");
}

/// A file that is opened while one of the three streams is closed would be taken for it: their
/// numbers are given to one that can be neither read as input nor written as output.
inline void occupyStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // takes the lowest number
}

/// Whether standard input was read to its end, and whether all that was printed has arrived: asked
/// once, when a program ends.
inline Status finishStandardStreams() {
  if (std::ferror(stdin))
    return inputError("standard input: expected text, found one that cannot be read");
  errno = 0;
  bool arrived = static_cast<bool>(std::cout.flush());
  if (std::fflush(stdout) == 0 && arrived)
    return {};
  return inputError(std::string("standard output: expected a path that can be written, found: ") +
                    std::strerror(errno != 0 ? errno : EIO));
}

/// Insertions, removals and replacements that turn one word into the other.
inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// The parser's own message in our form: it says what was there or what was missing, but not what
/// was expected. Only its first line, cut where it repeats a long argument.
inline Error parseError(const CLI::ParseError &error) {
  constexpr size_t most = 200;
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  auto behind = [&](std::string_view words) { return quotedText(text.substr(words.size())); };
  std::string place = text.substr(0, text.find(' '));
  if (place.ends_with(':'))
    place.pop_back();
  for (std::string_view extra :
       {"The following argument was not expected: ", "The following arguments were not expected: "})
    if (text.starts_with(extra))
      return usageError("expected no further argument, found " + behind(extra));
  constexpr std::string_view convert = "Could not convert: ";
  if (size_t equals = text.find(" = "); text.starts_with(convert) && equals != text.npos)
    return usageError(text.substr(convert.size(), equals - convert.size()) +
                      ": expected a number in range, found " + quotedText(text.substr(equals + 3)));
  if (text.starts_with("A subcommand is required"))
    return usageError("expected a command, found none; --help names them");
  if (text == place + " is required" || text.ends_with(" missing"))
    return usageError(place + ": expected a value, found none");
  return usageError(text.size() > most ? text.substr(0, most) + "..." : text);
}

/// What the device takes no part of would be ignored.
inline Status checkThreads(std::string_view device, int threads) {
  if (threads > 0 && device.starts_with("vulkan"))
    return usageError("--threads: expected --device=cpu beside it, found " + quotedText(device));
  return {};
}

/// `--flag=` with nothing behind it: the parser would take the next argument for its value.
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

/// The first argument must be a command or a flag: CLI11 would only say that a command is missing.
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

/// Reads the command line, which carries the command out; help and version are done when they are
/// printed.
inline Status parse(CLI::App &app, int argc, const char *const *argv) {
  HEDDLE_TRY(checkCommand(app, argc, argv));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return parseError(error);
    app.exit(error);
  }
  return {};
}

/// "error: …" in one line, and below the error of a formula the formula with a caret.
inline void printError(const Error &error) {
  size_t end = error.message.find('\n');
  bool formula = end != std::string::npos && error.message.compare(end, 3, "\n  ") == 0;
  // An empty formula has nothing to point at.
  bool pointed =
      formula && error.message.find_first_not_of(" \n", end) != error.message.find('^', end);
  std::cerr << "error: " << printable(formula ? error.message.substr(0, end) : error.message)
            << (pointed ? error.message.substr(end) : "") << "\n";
}

/// The whole of a program: `run`, which gives a Status, between sound standard streams. Returns the
/// exit status.
template <typename Run>
int runProgram(const Run &run) {
  occupyStandardStreams();
  Status status = withinMemory(run);
  if (status)
    status = finishStandardStreams();
  if (status)
    return 0;
  printError(status.error());
  return static_cast<int>(status.error().kind);
}

} // namespace heddle::driver
