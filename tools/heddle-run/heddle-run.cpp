//===- heddle-run.cpp - Runs artifacts without LLVM -------------*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of heddle-run: reads it, calls the library, prints errors.
#include "heddle/Generation/Commands.h"
#include "heddle/Runtime/Commands.h"
#include "heddle/Support/Try.h"

#include "../CommandLine.h"
#include <iostream>

using namespace heddle;

namespace {

struct RunFlags {
  std::string file;
  SessionOptions session;
  RunCommand command;
  TranslateCommand translate;
  BenchCommand bench;
  std::vector<std::string> dims;
  bool verify = false;
};

void addSessionFlags(CLI::App &command, RunFlags &flags) {
  command.add_option("FILE", flags.file, "compiled model (.heddle)")->required();
  command.add_option("--device", flags.session.device, "cpu, vulkan or vulkan:N")
      ->type_name("DEVICE");
  driver::addNumber(command, "--threads", flags.session.threads, 0,
                    "threads on the CPU, 0 for all processors");
}

void addRun(CLI::App &app, RunFlags &flags) {
  CLI::App *run = app.add_subcommand("run", "run a function on .npy files");
  addSessionFlags(*run, flags);
  run->add_option("--function", flags.command.function,
                  "function to run, if there are several; NAME,NAME in one session")
      ->type_name("NAME");
  run->add_option("--input", flags.command.inputs, "an input, once each")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false);
  run->add_option("--output-dir", flags.command.outputDir, "write results here as NAME.npy")
      ->type_name("DIR");
  run->add_flag("--verify", flags.verify, "compare with the reference (heddle only)");
  run->footer(
      "Examples:\n  heddle-run run encoder.heddle --input source=ids.npy --output-dir out\n"
      "  heddle-run run encoder.heddle --device=vulkan --function=encode --input source=ids.npy");
}

Expected<Session> openSession(const RunFlags &flags) {
  HEDDLE_TRY(driver::checkThreads(flags.session.device, flags.session.threads));
  return Session::open(flags.file, flags.session);
}

CLI::App *addTranslate(CLI::App &app, RunFlags &flags) {
  CLI::App *translate =
      app.add_subcommand("translate", "translate texts, or the lines of standard input");
  addSessionFlags(*translate, flags);
  driver::addTranslateFlags(*translate, flags.translate);
  translate->footer(
      "Examples:\n  heddle-run translate translate.heddle \"我 是 谁\"\n"
      "  heddle-run translate translate.heddle --device=vulkan --batch=8 < sentences.txt");
  return translate;
}

CLI::App *addGenerate(CLI::App &app, RunFlags &flags) {
  CLI::App *generate =
      app.add_subcommand("generate", "go on from texts, or from the lines of standard input");
  addSessionFlags(*generate, flags);
  driver::addDecodingFlags(*generate, flags.translate);
  generate->footer("Examples:\n  heddle-run generate model.heddle \"once upon a\" --limit=20");
  return generate;
}

/// `translate`, or `generate`.
Status decode(RunFlags &flags, bool generates) {
  HEDDLE_TRY(checkTranslate(flags.translate));
  auto session = HEDDLE_TRY(openSession(flags));
  return (generates ? generateCommand : translateCommand)(session, flags.translate, std::cin,
                                                          std::cout, std::cerr);
}

Status encode(RunFlags &flags, bool classify) {
  HEDDLE_TRY(checkTexts(flags.translate.text));
  auto session = HEDDLE_TRY(openSession(flags));
  return encodeCommand(session, flags.translate.text, classify, std::cin, std::cout, std::cerr);
}

Status run(RunFlags &flags) {
  if (flags.verify)
    return usageError("--verify: heddle-run has no reference, use heddle run --verify");
  auto session = HEDDLE_TRY(openSession(flags));
  return runCommand(session, flags.command, std::cout);
}

void addBench(CLI::App &app, RunFlags &flags) {
  CLI::App *bench = app.add_subcommand("bench", "time a function, kernel by kernel");
  addSessionFlags(*bench, flags);
  driver::addBenchFlags(*bench, flags.bench, flags.dims);
  bench->footer("Inputs are made up; shares are of the multiply-add rate measured in the same "
                "rounds.\n"
                "Examples:\n  heddle-run bench model.heddle --dim B=8 --dim S=128 --threads=1");
}

Status bench(RunFlags &flags) {
  flags.bench.dims = HEDDLE_TRY(driver::parseDimensions(flags.dims));
  auto session = HEDDLE_TRY(openSession(flags));
  flags.bench.threads = flags.session.threads;
  return benchCommand(session, flags.bench, flags.session.device == "cpu", std::cout);
}

/// Reads the command line and carries the command out; help is done when it is printed.
Status runTool(int argc, char **argv) {
  CLI::App app("Runs compiled models.", "heddle-run");
  app.set_version_flag("--version", "heddle-run " HEDDLE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  heddle-run run encoder.heddle --input source=ids.npy\n  heddle-run devices");
  RunFlags flags;
  addRun(app, flags);
  CLI::App *translation = addTranslate(app, flags), *generation = addGenerate(app, flags);
  CLI::App *embedding = app.add_subcommand("embed", "give the vector of texts"),
           *classification = app.add_subcommand("classify", "name the class of texts");
  for (CLI::App *command : {embedding, classification}) {
    addSessionFlags(*command, flags);
    driver::addTextFlags(*command, flags.translate.text);
    command->footer("Examples:\n  heddle-run " + command->get_name() + " model.heddle \"a text\"");
  }
  addBench(app, flags);
  CLI::App *devices = app.add_subcommand("devices", "list the devices that models can run on");
  devices->footer("Examples:\n  heddle-run devices");
  HEDDLE_TRY(driver::checkCommand(app, argc, argv));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return driver::parseError(error);
    app.exit(error);
    return {};
  }
  if (devices->parsed())
    return devicesCommand(std::cout);
  if (app.got_subcommand("bench"))
    return bench(flags);
  if (embedding->parsed() || classification->parsed())
    return encode(flags, classification->parsed());
  return translation->parsed() || generation->parsed() ? decode(flags, generation->parsed())
                                                       : run(flags);
}

} // namespace

int main(int argc, char **argv) {
  driver::occupyStandardStreams();
  Status status = withinMemory([&] { return runTool(argc, argv); });
  if (status)
    status = driver::finishStandardStreams();
  if (status)
    return 0;
  std::cerr << "error: " << printable(status.error().message) << '\n';
  return static_cast<int>(status.error().kind);
}
