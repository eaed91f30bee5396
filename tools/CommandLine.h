//===- CommandLine.h - Command lines of both drivers -----------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags and commands that `heddle` and `heddle-run` share, and errors of the command
// line in Heddle's form, where CLI11's own say too much or too little.
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
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <unistd.h>

namespace heddle::driver {

/// Error text for an integer outside [least, most] or for other text; empty if the number is good.
/// CLI11 alone would clamp a number beyond 64 bits.
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
  // CLI11 puts the flag's name before the message.
  app.add_option(name, number, about)
      ->check(CLI::Validator(
          [=](const std::string &text) { return numberProblem(text, least, most); }, ""))
      ->type_name("N");
}

/// Stands behind a text in brackets, which CLI11 would take apart as a list, while it is parsed. No
/// argument of a program can hold it.
inline constexpr char textMark = '\0';

/// Adds texts.
inline void addTexts(CLI::App &app, std::vector<std::string> &texts) {
  app.add_option("TEXT", texts, "texts, one line of output each")
      ->transform(CLI::Validator(
          [](std::string &text) {
            std::erase(text, textMark);
            return std::string();
          },
          "", ""));
}

/// Adds texts and the flags of all text commands.
inline void addTextFlags(CLI::App &app, TextCommand &command, const char *batchDefault = "1") {
  addTexts(app, command.texts);
  app.add_option("--input", command.input, "a file with a text a line, in place of standard input")
      ->type_name("FILE");
  addNumber(app, "--batch", command.batch, 1,
            std::string("texts of a batch (default: ") + batchDefault + ")");
  app.add_flag("--truncate", command.truncate, "cut texts that are too long");
}

/// Adds texts and the flags of all commands on encoders.
inline void addEncoderFlags(CLI::App &app, EncoderCommand &command) {
  addTextFlags(app, command.text, "as many as --batch-tokens allows");
  addNumber(app, "--batch-tokens", command.batchTokens, 1,
            "tokens that run together (default: " + std::to_string(command.batchTokens) + ")");
  command.progress = isatty(STDERR_FILENO) != 0;
}

/// Adds --prompt and --no-prompt; the latter is a name that no prompt has.
inline void addPromptFlags(CLI::App &app, std::optional<std::string> &prompt) {
  CLI::Option *named =
      app.add_option("--prompt", prompt, "put the model's prompt of this name before each text")
          ->type_name("NAME");
  app.add_flag_callback(
         "--no-prompt", [&prompt] { prompt = ""; },
         "put none there, whatever the model's default is")
      ->excludes(named);
}

inline void addEmbedFlags(CLI::App &app, EmbedCommand &command) {
  addEncoderFlags(app, command.run);
  app.add_option("--output", command.output, "write a table of f32, a row a text")
      ->type_name("FILE.npy");
  app.add_option("--format", command.format, "of lines: text (default), jsonl");
  addPromptFlags(app, command.prompt);
  addNumber(app, "--dimensions", command.dimensions, 1,
            "the first N numbers of each vector, brought to the length that the whole has");
  CLI::Option *divide = app.add_flag_callback(
      "--normalize", [&command] { command.normalize = true; },
      "divide vectors by their lengths (default: as the model does)");
  app.add_flag_callback(
         "--no-normalize", [&command] { command.normalize = false; },
         "leave them as --dimensions cuts them")
      ->excludes(divide);
}

inline void addSimilarityFlags(CLI::App &app, SimilarityCommand &command) {
  addEncoderFlags(app, command.run);
  addPromptFlags(app, command.prompt);
}

inline void addClassifyFlags(CLI::App &app, ClassifyCommand &command) {
  addEncoderFlags(app, command.run);
  app.add_flag("--all", command.all, "every label, the likeliest first");
  app.add_option("--pair", command.pair, "the second text of each, as models for pairs take it")
      ->type_name("TEXT");
}

inline void addRerankFlags(CLI::App &app, RerankCommand &command) {
  addEncoderFlags(app, command.run);
  app.add_option("--query", command.query, "what the texts are compared with")
      ->type_name("TEXT")
      ->required();
  addNumber(app, "--top", command.top, 1, "only the N best, the best first");
}

inline void addFillMaskFlags(CLI::App &app, FillMaskCommand &command) {
  addEncoderFlags(app, command.run);
  addNumber(app, "--top", command.top, 1, "tokens for each mask (default: 5)");
  app.add_flag("--ids", command.ids, "texts are lines of ids, as `tokenize` gives them");
}

inline void addAnswerFlags(CLI::App &app, AnswerCommand &command) {
  addEncoderFlags(app, command.run);
  app.add_option("--question", command.question, "what is asked about each text")
      ->type_name("TEXT")
      ->required();
}

/// Adds texts and the flags of decoding.
inline void addDecodingFlags(CLI::App &app, TranslateCommand &command) {
  addTextFlags(app, command.text);
  addNumber(app, "--limit", command.limit, 1, "tokens of an answer (default: the model's)");
  addNumber(app, "--beam", command.beam, 1, "hypotheses kept for each text (default: 1, greedy)");
  app.add_option("--length-penalty", command.lengthPenalty,
                 "a hypothesis is divided by ((5 + tokens) / 6)^X (default: 0.6)")
      ->type_name("X");
  app.add_flag("--sample", command.sample, "draw tokens by their probabilities");
  app.add_option("--temperature", command.temperature, "divides scores before drawing (default: 1)")
      ->type_name("X");
  addNumber(app, "--top-k", command.topK, 0, "draw among the N likeliest (default: 0, all)");
  app.add_option("--top-p", command.topP, "draw among the likeliest that sum to X (default: 1)")
      ->type_name("X");
  addNumber(app, "--seed", command.seed, 0, "seed of --sample (default: 0)");
  app.add_flag("--stream", command.stream, "write each token as soon as it is chosen");
}

/// Adds texts and the flags of decoding and of pictures of attention weights.
inline void addTranslateFlags(CLI::App &app, TranslateCommand &command) {
  addDecodingFlags(app, command);
  app.add_option("--attention", command.attention,
                 "draw the attention weights: FILE.html (a page) or FILE.svg")
      ->type_name("FILE");
}

/// Parses one value of `--dim`, NAME=NUMBER with at most 18 digits.
inline Expected<std::pair<std::string, int64_t>> parseDimension(const std::string &text) {
  size_t equals = text.find('=');
  std::string digits = equals == std::string::npos ? "" : text.substr(equals + 1);
  bool number = !digits.empty() && digits.size() <= 18 &&
                digits.find_first_not_of("0123456789") == std::string::npos;
  if (equals == 0 || !number)
    return usageError("--dim: expected NAME=NUMBER, found " + quotedText(text));
  return std::pair{text.substr(0, equals), static_cast<int64_t>(std::stoll(digits))};
}

/// Parses the values of `--dim`; usage error for a name that occurs twice.
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

/// Adds the flags of `run`, without model and device.
inline void addRunFlags(CLI::App &app, RunCommand &command) {
  app.add_option("--function", command.function,
                 "the function, optional if there is only one; several, by commas, share a session")
      ->type_name("NAME");
  app.add_option("--input", command.inputs, "an input; repeat for each")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false);
  app.add_option("--output-dir", command.outputDir,
                 "write results as DIR/NAME.npy instead of printing them")
      ->type_name("DIR");
}

/// A driver's part of the text commands.
struct TextDriver {
  TranslateCommand &command;
  std::function<void(CLI::App &)> addModel; ///< adds the flags of the model and its device
  std::function<Expected<Session>()> open;
  std::string tool; ///< name for the examples of --help
};

/// Adds one of them, which leaves the status of `run` in `outcome`.
template <typename AddFlags, typename Run>
CLI::App *addTextCommand(CLI::App &app, const TextDriver &driver, Status &outcome,
                         const std::string &name, const std::string &about, AddFlags addFlags,
                         Run run) {
  CLI::App *command = app.add_subcommand(name, about);
  driver.addModel(*command);
  addFlags(*command);
  command->callback([&outcome, run] { outcome = run(); });
  return command;
}

/// Adds the commands on models that write text.
inline void addWriters(CLI::App &app, const TextDriver &driver, Status &outcome) {
  auto addDecoding = [&](const std::string &name, const std::string &about, auto addFlags,
                         auto decode) {
    return addTextCommand(
        app, driver, outcome, name, about, [&](CLI::App &own) { addFlags(own, driver.command); },
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
  addDecoding("generate", "continue texts, or the lines of standard input", addDecodingFlags,
              generateCommand)
      ->footer("Examples:\n" + start + "generate model.heddle \"once upon a\" --limit=20\n" +
               start + "generate model.heddle --sample --top-k=40 --seed=7 --stream \"once\"");
}

/// Adds the commands on encoders.
inline void addReaders(CLI::App &app, const TextDriver &driver, Status &outcome) {
  const std::string start = "  " + driver.tool + " ";
  auto addEncoder = [&]<typename Command>(const std::string &name, const std::string &about,
                                          Command command, void (*addFlags)(CLI::App &, Command &),
                                          auto check, auto run, const std::string &examples) {
    auto own = std::make_shared<Command>(std::move(command));
    addTextCommand(
        app, driver, outcome, name, about, [&](CLI::App &command) { addFlags(command, *own); },
        [driver, own, check, run]() -> Status {
          HEDDLE_TRY(check(*own));
          Session session = HEDDLE_TRY(driver.open());
          return run(session, *own, std::cin, std::cout, std::cerr);
        })
        ->footer("Examples:\n" + examples);
  };
  auto checkRun = [](const auto &command) { return checkEncoder(command.run); };
  const std::string lines = ", or of the lines of standard input";
  addEncoder("embed", "compute embeddings of texts" + lines, EmbedCommand(), addEmbedFlags,
             checkEmbed, embedCommand,
             start + "embed model.heddle \"a text\"\n" + start +
                 "embed model.heddle --prompt=query --format=jsonl --input=questions.txt\n" +
                 start + "embed model.heddle --output=vectors.npy --dimensions=256 < texts.txt");
  addEncoder("similarity",
             "compare two texts, or those of each line: the cosine of their embeddings",
             SimilarityCommand(), addSimilarityFlags, checkSimilarity, similarityCommand,
             start + "similarity model.heddle \"a text\" \"another text\"\n" + start +
                 "similarity model.heddle --input=pairs.tsv");
  addEncoder("rerank", "score texts by how well they fit a query", RerankCommand(), addRerankFlags,
             checkRun, rerankCommand,
             start + "rerank model.heddle --query=\"a question\" --top=3 < texts.txt");
  addEncoder("classify", "find classes of texts, or of their words" + lines, ClassifyCommand(),
             addClassifyFlags, checkRun, classifyCommand,
             start + "classify model.heddle \"a text\"\n" + start +
                 "classify model.heddle --all --device=vulkan < texts.txt");
  addEncoder("fill-mask", "find words for the mask tokens of texts" + lines, FillMaskCommand(),
             addFillMaskFlags, checkRun, fillMaskCommand,
             start + "fill-mask model.heddle --top=3 \"a text with a [MASK] in it\"");
  addEncoder("answer", "find the answer to a question in texts" + lines, AnswerCommand(),
             addAnswerFlags, checkRun, answerCommand,
             start + "answer model.heddle --question=\"who?\" \"a text\"");
}

/// Adds the commands on texts; the chosen one leaves its status in `outcome`.
inline void addTextCommands(CLI::App &app, const TextDriver &driver, Status &outcome) {
  addWriters(app, driver, outcome);
  addReaders(app, driver, outcome);
}

/// Adds `tokenize`, which needs no session.
inline void addTokenize(CLI::App &app, const std::string &tool, Status &outcome) {
  auto command = std::make_shared<TokenizeCommand>();
  CLI::App *own = app.add_subcommand("tokenize", "give the ids of texts, or of lines of input");
  own->add_option("MODEL", command->model,
                  "a compiled model, a folder with tokenizer.json, vocab.txt, vocab.json and "
                  "merges.txt or a SentencePiece model, or such a file")
      ->required();
  addTexts(*own, command->texts.texts);
  own->add_option("--input", command->texts.input,
                  "a file with a text a line, in place of standard input")
      ->type_name("FILE");
  own->add_option("--pair", command->pair, "the second text of each, as models for pairs take it")
      ->type_name("TEXT");
  own->add_flag("--no-special", command->noSpecial, "leave out what stands around the texts");
  own->add_flag("--decode", command->decode, "lines of ids to text, without special tokens");
  own->add_flag("--chat", command->chat,
                "texts are what a user says: the ids of the model's chat template");
  own->add_option("--system", command->system, "with --chat: the message of the system before them")
      ->type_name("TEXT");
  own->add_flag(
      "--json", command->json,
      "with --chat: lines of input are JSON, a list of messages or an object with messages "
      "and other variables of the template");
  const std::string start = "  " + tool + " tokenize model";
  own->footer("Examples:\n" + start + " \"a text\"\n" + start +
              " --pair=\"another text\" < texts.txt\n" + start + " --decode \"101 2023 102\"\n" +
              start + " --chat \"Hello\"");
  own->callback([&outcome, command] { outcome = tokenizeCommand(*command, std::cin, std::cout); });
}

/// Adds the flags of `bench`, without model and device; `dims` are for parseDimensions.
inline void addBenchFlags(CLI::App &app, BenchCommand &command, std::vector<std::string> &dims) {
  app.add_option("--function", command.function,
                 "the function; of several, by commas, the last is timed after the others");
  app.add_option("--dim", dims, "size of an input, NAME=N (default: B=1, others 128)")
      ->allow_extra_args(false);
  addNumber(app, "--rounds", command.rounds, 1, "rounds of the medians (default: 15)");
}

/// Opens closed standard streams on /dev/null in the wrong direction. Otherwise the next file that
/// is opened would get the number of a closed stream and be read or written as that stream.
inline void occupyStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // takes the lowest number
}

/// Flushes standard output at the end of a program; error if input could not be read or output not
/// be written.
inline Status finishStandardStreams() {
  if (std::ferror(stdin))
    return inputError("standard input: expected text, found a read error");
  errno = 0;
  bool arrived = static_cast<bool>(std::cout.flush());
  if (std::fflush(stdout) == 0 && arrived)
    return {};
  return inputError(std::string("standard output: expected a path that can be written, found: ") +
                    std::strerror(errno != 0 ? errno : EIO));
}

/// Levenshtein distance of two words.
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

/// Converts CLI11's message to "expected …, found …": it names what was there or what is missing,
/// but not what was expected. Takes its first line only, cut if it repeats a long argument.
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
  if (text.starts_with("A subcommand is required"))
    return usageError("expected a command, found none; --help names them");
  if (text == place + " is required" || text.ends_with(" missing"))
    return usageError(place + ": expected a value, found none");
  return usageError(text.size() > most ? text.substr(0, most) + "..." : text);
}

/// Usage error for an option that the command has not, with the nearest name.
inline Error unknownOptionError(const CLI::App &command, const std::string &argument) {
  const std::string given = argument.substr(0, argument.find('='));
  std::string nearest;
  size_t distance = given.size() > 5 ? 3 : 2; // with its dashes
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      if (size_t edits = editDistance(given, "--" + name); edits < distance) {
        distance = edits;
        nearest = name;
      }
  return usageError("expected an option of " + command.get_name() + ", found " +
                    quotedText(argument) +
                    (nearest.empty() ? "" : "; did you mean --" + nearest + "?"));
}

/// Usage error for the first argument that no option or command takes. CLI11's message would list
/// all of them, last first. (A mark `--` is left over too, but is never at fault.)
inline Error extraArgumentError(const CLI::App &app, const CLI::ParseError &error) {
  const auto commands = app.get_subcommands();
  for (std::string argument : app.remaining(/*recurse=*/true)) {
    std::erase(argument, textMark);
    if (argument.starts_with("--") && argument != "--" && !commands.empty())
      return unknownOptionError(*commands.front(), argument);
    if (argument != "--")
      return usageError("expected no further argument, found " + quotedText(argument));
  }
  return parseError(error);
}

/// Usage error for --threads with a device that does not use it.
inline Status checkThreads(std::string_view device, int threads) {
  if (threads > 0 && device.starts_with("vulkan"))
    return usageError("--threads: expected --device=cpu beside it, found " + quotedText(device));
  return {};
}

/// Usage error for `--flag=` without a value, for which CLI11 would take the next argument.
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

/// Usage error for an unknown command, with the nearest name; CLI11 would only say that a command
/// is missing.
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

/// The arguments, texts in brackets marked: those that are not the value of an option.
inline std::vector<std::string> markedTexts(const CLI::App &app, int argc,
                                            const char *const *argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto commands = app.get_subcommands(
      [&](const CLI::App *each) { return argc > 1 && each->get_name() == argv[1]; });
  for (size_t i = 1; i < arguments.size(); ++i) {
    const CLI::Option *before =
        !commands.empty() && arguments[i - 1].starts_with("--") && arguments[i - 1] != "--"
            ? commands.front()->get_option_no_throw(arguments[i - 1])
            : nullptr;
    const bool isValue = before && before->get_items_expected_min() > 0;
    if (arguments[i].starts_with('[') && arguments[i].ends_with(']') && !isValue)
      arguments[i] += textMark;
  }
  return arguments;
}

/// Parses the command line and runs the command, or prints help or version.
inline Status parse(CLI::App &app, int argc, const char *const *argv) {
  HEDDLE_TRY(checkCommand(app, argc, argv));
  try {
    std::vector<std::string> arguments = markedTexts(app, argc, argv);
    std::ranges::reverse(arguments); // as CLI11 takes them
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError &error) {
    return extraArgumentError(app, error);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return parseError(error);
    app.exit(error);
  }
  return {};
}

/// Prints "error: …" on one line, and for an error in a formula, the formula with a caret below.
inline void printError(const Error &error) {
  size_t end = error.message.find('\n');
  bool formula = end != std::string::npos && error.message.compare(end, 3, "\n  ") == 0;
  // No caret for an empty formula.
  bool pointed =
      formula && error.message.find_first_not_of(" \n", end) != error.message.find('^', end);
  std::cerr << "error: " << printable(formula ? error.message.substr(0, end) : error.message)
            << (pointed ? error.message.substr(end) : "") << "\n";
}

/// Main function of a tool: calls `run`, which returns a Status, checks the standard streams,
/// prints an error and returns the exit status.
template <typename Run>
int runProgram(const Run &run) {
  occupyStandardStreams();
  std::ios::sync_with_stdio(false); // so that std::cin knows what is at hand
  Status status = withinMemory(run);
  if (status)
    status = finishStandardStreams();
  if (status)
    return 0;
  printError(status.error());
  return static_cast<int>(status.error().kind);
}

} // namespace heddle::driver
